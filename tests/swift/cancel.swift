// One task is cancelled before it sleeps, another while it does; a third ends before it is cancelled.
actor Gate {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func pass() async {
        if isOpen { return }
        await withCheckedContinuation { waiting.append($0) }
    }

    func open() {
        isOpen = true
        waiting.forEach { $0.resume() }
        waiting = []
    }
}

@inline(never)
func sleepLong() async -> String {
    do {
        try await Task.sleep(nanoseconds: 20_000_000_000)
        return "slept"
    } catch {
        return "cancelled"
    }
}

@main struct Program {
    static func main() async {
        let (started, cancelled) = (Gate(), Gate())
        let before = Task {
            await cancelled.pass()
            return await sleepLong()
        }
        before.cancel()
        await cancelled.open()
        print("before:", await before.value)

        let during = Task {
            await started.open()
            return await sleepLong()
        }
        await started.pass()
        try? await Task.sleep(nanoseconds: 200_000_000)
        during.cancel()
        print("during:", await during.value)

        let after = Task { "done" }
        print("after:", await after.value)
        after.cancel()
    }
}
