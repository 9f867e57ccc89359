// An actor that ten tasks call a hundred times each.
actor Counter {
    private(set) var count = 0
    func increment() { count += 1 }
}

@inline(never)
func hammer(_ counter: Counter) async {
    for _ in 0..<100 {
        await counter.increment()
    }
}

@main struct Program {
    static func main() async {
        let counter = Counter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask { await hammer(counter) }
            }
        }
        print("count", await counter.count)
    }
}
