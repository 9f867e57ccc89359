// Ten thousand tasks, of which every second one throws; somebody asks for each result.
enum Failure: Error { case odd, even }

@inline(never) func throwing(_ number: Int) -> Task<Int, Error> {
    Task {
        if number & 7 == 0 { await Task.yield() }
        throw Failure.even
    }
}

@inline(never) func returning(_ number: Int) -> Task<Int, Error> {
    Task {
        if number & 7 == 1 { await Task.yield() }
        if CommandLine.argc > 40 { throw Failure.odd }
        return number & 1
    }
}

@main struct Program {
    static func main() async {
        var returned = 0
        for number in 0..<10_000 {
            let task = number & 1 == 0 ? throwing(number) : returning(number)
            if case .success = await task.result { returned += 1 }
        }
        print(returned)
    }
}
