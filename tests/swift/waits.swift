// A task waits for a continuation, for time, and another one for its end. Says on its error stream which thread resumed it.
import Glibc

final class Box: @unchecked Sendable {
    let resume: () -> Void
    init(_ resume: @escaping () -> Void) { self.resume = resume }
}

/// Of `/proc/thread-self`, a link to `PID/task/TID`, the last part.
func threadId() -> String {
    var path = [CChar](repeating: 0, count: 64)
    readlink("/proc/thread-self", &path, 63)
    return String(String(cString: path).split(separator: "/").last!)
}

@inline(never)
func startThread(_ box: Box) {
    var thread = pthread_t()
    pthread_create(&thread, nil, { argument in
        usleep(20_000)
        fputs("\(threadId())\n", stderr)
        Unmanaged<Box>.fromOpaque(argument!).takeRetainedValue().resume()
        return nil
    }, Unmanaged.passRetained(box).toOpaque())
    pthread_detach(thread)
}

@inline(never)
func resumed() async {
    await withCheckedContinuation { (it: CheckedContinuation<Void, Never>) in
        startThread(Box { it.resume() })
    }
}

@inline(never)
func rested() async {
    try? await Task.sleep(nanoseconds: 5_000_000)
}

@inline(never)
func work() async -> Int {
    await resumed()
    await rested()
    return 7
}

@main struct Program {
    static func main() async {
        let task = Task { await work() }
        print("value", await task.value)
    }
}
