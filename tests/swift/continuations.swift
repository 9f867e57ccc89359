// Continuations, checked and unsafe, that a dispatch queue and a pthread resume, long after the task has paused.
import Dispatch
import Glibc

let queue = DispatchQueue(label: "org.example.resumer")

final class Box: @unchecked Sendable {
    let resume: () -> Void
    init(_ resume: @escaping () -> Void) { self.resume = resume }
}

@inline(never)
func onThread(_ resume: @escaping () -> Void) {
    var thread = pthread_t()
    let argument = Unmanaged.passRetained(Box(resume)).toOpaque()
    pthread_create(&thread, nil, { argument in
        usleep(50_000)
        Unmanaged<Box>.fromOpaque(argument!).takeRetainedValue().resume()
        return nil
    }, argument)
    pthread_detach(thread)
}

@inline(never)
func later(_ resume: @escaping @Sendable () -> Void) {
    queue.async {
        usleep(50_000)
        resume()
    }
}

@main struct Program {
    static func main() async {
        let one = await withCheckedContinuation { (it: CheckedContinuation<Int, Never>) in later { it.resume(returning: 1) } }
        let two = await withUnsafeContinuation { (it: UnsafeContinuation<Int, Never>) in later { it.resume(returning: 2) } }
        let four = await withCheckedContinuation { (it: CheckedContinuation<Int, Never>) in onThread { it.resume(returning: 4) } }
        let eight = await withUnsafeContinuation { (it: UnsafeContinuation<Int, Never>) in onThread { it.resume(returning: 8) } }
        print("sum", one + two + four + eight)
    }
}
