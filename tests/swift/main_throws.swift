// A `main` that throws, which ends the process.
enum Failure: Error { case early, late }

@main struct Program {
    static func main() async throws {
        await Task.yield()
        throw Failure.late
    }
}
