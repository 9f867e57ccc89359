// Children of `async let` and of a group are cancelled through their parents, and one by the end of its scope.
@inline(never)
func child() async -> Bool {
    try? await Task.sleep(nanoseconds: 20_000_000_000)
    return Task.isCancelled
}

@inline(never)
func parent() async -> Bool {
    async let one = child()
    return await one
}

@inline(never)
func leaveScope() async {
    async let one = child()
    _ = 1
}

@main struct Program {
    static func main() async {
        let lets = Task { await parent() }
        try? await Task.sleep(nanoseconds: 100_000_000)
        lets.cancel()
        print("async let:", await lets.value)
        await leaveScope()
        let group = Task {
            await withTaskGroup(of: Bool.self) { group in
                group.addTask { await child() }
                return await group.next()!
            }
        }
        try? await Task.sleep(nanoseconds: 100_000_000)
        group.cancel()
        print("group:", await group.value)
    }
}
