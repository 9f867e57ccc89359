// Blocks by every door of Dispatch, from Swift.
import Dispatch
import Glibc

final class Counts: @unchecked Sendable {
    private let lock = DispatchSemaphore(value: 1)
    private var counts: [String: Int] = [:]
    func add(_ name: String) {
        lock.wait()
        counts[name, default: 0] += 1
        lock.signal()
    }
    func print() {
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
            Swift.print(name, count)
        }
    }
}

@main struct Program {
    static func main() {
        let counts = Counts()
        let serial = DispatchQueue(label: "org.example.serial")
        let crowd = DispatchQueue(label: "org.example.crowd", attributes: .concurrent)
        let onTop = DispatchQueue(label: "org.example.top", target: serial)

        for _ in 0..<5 { serial.async { counts.add("async") } }
        serial.sync { counts.add("sync") }
        onTop.sync { counts.add("top") }
        for _ in 0..<3 { crowd.async { counts.add("crowd") } }
        crowd.async(flags: .barrier) { counts.add("barrier") }
        crowd.sync(flags: .barrier) { counts.add("barrier sync") }

        let group = DispatchGroup()
        let told = DispatchSemaphore(value: 0)
        for _ in 0..<4 { crowd.async(group: group) { counts.add("group") } }
        group.notify(queue: serial) {
            counts.add("notify")
            told.signal()
        }
        told.wait()

        serial.asyncAfter(deadline: .now() + .milliseconds(20)) {
            counts.add("after")
            told.signal()
        }
        told.wait()

        DispatchQueue.concurrentPerform(iterations: 8) { _ in counts.add("iteration") }

        serial.async {
            counts.add("outer")
            crowd.async {
                counts.add("inner")
                told.signal()
            }
        }
        told.wait()
        crowd.sync(flags: .barrier) {}

        let never = DispatchGroup()
        never.enter()
        never.notify(queue: serial) { counts.add("never") }
        serial.sync {}
        counts.print()
    }
}
