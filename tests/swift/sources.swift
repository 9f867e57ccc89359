// A timer that fires three times, blocks that are cancelled before and after their submission, queues of a quality.
import Dispatch

final class Count: @unchecked Sendable {
    var fired = 0
}

@main struct Program {
    static func main() {
        let done = DispatchSemaphore(value: 0)
        let timers = DispatchQueue(label: "org.example.timers", qos: .utility)
        let timer = DispatchSource.makeTimerSource(queue: timers)
        let count = Count()
        timer.setEventHandler {
            count.fired += 1
            if count.fired == 3 {
                timer.cancel()
                done.signal()
            }
        }
        timer.schedule(deadline: .now() + .milliseconds(5), repeating: .milliseconds(5))
        timer.resume()
        done.wait()

        let busy = DispatchQueue(label: "org.example.busy", qos: .userInitiated)
        let hold = DispatchSemaphore(value: 0)
        busy.async { hold.wait() }
        let late = DispatchWorkItem { print("never") }
        busy.async(execute: late)
        late.cancel()
        let early = DispatchWorkItem { print("never") }
        early.cancel()
        busy.async(execute: early)
        hold.signal()
        busy.sync {}

        DispatchQueue.concurrentPerform(iterations: 4) { _ in done.signal() }
        for _ in 0..<4 { done.wait() }
        print("fired", count.fired)
    }
}
