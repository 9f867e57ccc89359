// A task submits a block, the block makes a thread, the thread resumes the task's continuation.
import Dispatch
import Glibc

final class Box: @unchecked Sendable {
    let resume: () -> Void
    init(_ resume: @escaping () -> Void) { self.resume = resume }
}

@inline(never)
func startThread(_ box: Box) {
    var thread = pthread_t()
    pthread_create(&thread, nil, { argument in
        usleep(50_000)
        Unmanaged<Box>.fromOpaque(argument!).takeRetainedValue().resume()
        return nil
    }, Unmanaged.passRetained(box).toOpaque())
    pthread_detach(thread)
}

@inline(never)
func story(_ queue: DispatchQueue) async -> Int {
    await withCheckedContinuation { (it: CheckedContinuation<Int, Never>) in
        let box = Box { it.resume(returning: 42) }
        queue.async { startThread(box) }
    }
}

@main struct Program {
    static func main() async {
        let queue = DispatchQueue(label: "org.example.bridge")
        let task = Task { await story(queue) }
        print("value", await task.value)
    }
}
