// A group of a hundred children.
@inline(never)
func work(_ number: Int) async -> Int {
    await Task.yield()
    return number
}

@main struct Program {
    static func main() async {
        let sum = await withTaskGroup(of: Int.self) { group in
            for number in 1...100 {
                group.addTask { await work(number) }
            }
            var sum = 0
            for await result in group {
                sum += result
            }
            return sum
        }
        print("sum", sum)
    }
}
