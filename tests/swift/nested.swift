// A task that makes a task that makes a task; each waits for the one that it made.
@inline(never)
func leaf() async -> Int {
    try? await Task.sleep(nanoseconds: 50_000_000)
    return 7
}

@main struct Program {
    static func main() async {
        let outer = Task {
            let middle = Task {
                let inner = Task { await leaf() }
                return await inner.value + 1
            }
            return await middle.value + 1
        }
        print("value", await outer.value)
    }
}
