// A task that leaves the main thread for the pool and comes back: it runs on two threads in turn.
@MainActor
@inline(never)
func onMain(_ number: Int) -> Int { number + 1 }

@inline(never)
func inPool(_ number: Int) async -> Int { number * 2 }

@main struct Program {
    @MainActor
    static func main() async {
        var number = 1
        for _ in 0..<3 {
            number = onMain(number)
            number = await inPool(number)
        }
        print("number", number)
    }
}
