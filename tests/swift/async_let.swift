// Three children by `async let`, awaited by their parent.
@inline(never)
func square(_ number: Int) async -> Int {
    await Task.yield()
    return number * number
}

@main struct Program {
    static func main() async {
        async let one = square(1)
        async let two = square(2)
        async let three = square(3)
        let sum = await one + two + three
        print("sum", sum)
    }
}
