// A hundred thousand tasks, in groups and on their own, and as many blocks.
import Dispatch

actor Sum {
    private(set) var total = 0
    func add(_ number: Int) { total += number }
}

@inline(never)
func tiny(_ number: Int) async -> Int {
    if number % 16 == 0 { await Task.yield() }
    return number & 1
}

final class Total: @unchecked Sendable {
    var value = 0
}

@main struct Program {
    static func main() async {
        let sum = Sum()
        var inGroups = 0
        for round in 0..<50 {
            inGroups += await withTaskGroup(of: Int.self) { group in
                for number in 0..<1_000 {
                    group.addTask { await tiny(round + number) }
                }
                return await group.reduce(0, +)
            }
        }
        for _ in 0..<50 {
            var tasks: [Task<Void, Never>] = []
            for number in 0..<1_000 {
                tasks.append(Task { await sum.add(number & 3) })
            }
            for task in tasks { await task.value }
        }
        print("tasks", inGroups, await sum.total)

        let serial = DispatchQueue(label: "org.example.stress")
        let total = Total()
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            for number in 0..<99_998 {
                serial.async { total.value += number & 7 }
            }
            serial.async { done.resume() }
        }
        // Else the process may end before the block that resumed this task has returned.
        serial.sync {}
        print("blocks", total.value)
    }
}
