// Twenty thousand tasks, all of which end; some of them let others go first.
@inline(never)
func tiny(_ number: Int) async -> Int {
    if number & 7 == 0 { await Task.yield() }
    return number & 1
}

@main struct Program {
    static func main() async {
        var sum = 0
        for batch in 0..<20 {
            sum += await withTaskGroup(of: Int.self) { group in
                for number in 0..<1000 { group.addTask { await tiny(batch * 1000 + number) } }
                var part = 0
                for await one in group { part += one }
                return part
            }
        }
        print(sum)
    }
}
