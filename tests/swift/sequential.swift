// One task that awaits others' results one after the other, without ever leaving itself.
@inline(never)
func add(_ a: Int, _ b: Int) async -> Int {
    await Task.yield()
    return a + b
}

@main struct Program {
    static func main() async {
        var sum = 0
        for number in 1...5 {
            sum = await add(sum, number)
        }
        print("sum", sum)
    }
}
