// A task that feeds an AsyncStream, and one that reads it.
@main struct Program {
    static func main() async {
        let (stream, feed) = AsyncStream<Int>.makeStream()
        let producer = Task {
            for number in 1...10 {
                feed.yield(number)
                try? await Task.sleep(nanoseconds: 1_000_000)
            }
            feed.finish()
        }
        var sum = 0
        for await number in stream {
            sum += number
        }
        await producer.value
        print("sum", sum)
    }
}
