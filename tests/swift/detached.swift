// A detached task that goes on when the task that made it has ended.
import Dispatch

final class Holder: @unchecked Sendable {
    var task: Task<Int, Never>?
}

@inline(never)
func outlive() async -> Int {
    try? await Task.sleep(nanoseconds: 30_000_000)
    return 5
}

@main struct Program {
    static func main() async {
        let holder = Holder()
        let creator = Task { holder.task = Task.detached { await outlive() } }
        await creator.value
        print("creator ended")
        print("value", await holder.task!.value)
    }
}
