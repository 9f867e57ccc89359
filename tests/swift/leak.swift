// Two tasks wait for continuations that nobody resumes.
nonisolated(unsafe) var kept: [UnsafeContinuation<Void, Never>] = []

@inline(never)
func waitForever() async {
    await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in kept.append(continuation) }
}

@main struct Program {
    static func main() async {
        Task { await waitForever() }
        try? await Task.sleep(nanoseconds: 60_000_000)
        Task { await waitForever() }
        try? await Task.sleep(nanoseconds: 60_000_000)
        print("two wait")
    }
}
