// Actors of several types, and executors of the program's own, on which tasks have to wait for each other. What is where
// is told on the error stream: the type, its place among those of its type, and its address.
import Dispatch
import Glibc

@inline(never) func work() -> Int {
    var sum = 0
    for number in 0..<20_000 { sum &+= number &* sum &+ 1 }
    usleep(20)
    return sum
}

func tell(_ type: String, _ number: Int, _ object: AnyObject) {
    let address = UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
    var line = "executor \(type) \(number) 0x\(String(address, radix: 16))\n"
    line.withUTF8 { bytes in _ = write(2, bytes.baseAddress!, bytes.count) }
}

actor Bank {
    var sum = 0
    func deposit() { sum &+= work() }
}

actor Vault {
    var sum = 0
    func open() { sum &+= work() }
}

actor Shelf<Item> {
    var sum = 0
    func put(_ item: Item) { sum &+= work() }
}

@globalActor actor Storage {
    static let shared = Storage()
}

@Storage @inline(never) func store() -> Int { work() }
@MainActor @inline(never) func show() -> Int { work() }

final class QueueExecutor: SerialExecutor {
    let queue = DispatchQueue(label: "executors.custom")
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedSerialExecutor()
        queue.async { job.runSynchronously(on: executor) }
    }
    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}

actor Pinned {
    let executor: QueueExecutor
    var sum = 0
    init(_ executor: QueueExecutor) { self.executor = executor }
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    func turn() { sum &+= work() }
}

@inline(never) func useBank(_ bank: Bank) async { for _ in 0..<20 { await bank.deposit() } }
@inline(never) func useOther(_ bank: Bank) async { for _ in 0..<20 { await bank.deposit() } }
@inline(never) func useVault(_ vault: Vault) async { for _ in 0..<20 { await vault.open() } }
@inline(never) func useShelf(_ shelf: Shelf<Int>) async { for number in 0..<20 { await shelf.put(number) } }
@inline(never) func useStorage() async { for _ in 0..<20 { _ = await store() } }
@inline(never) func useMain() async { for _ in 0..<20 { _ = await show() } }
@inline(never) func usePinned(_ pinned: Pinned) async { for _ in 0..<20 { await pinned.turn() } }

@main struct Program {
    static func main() async {
        let banks = [Bank(), Bank()]
        let vault = Vault()
        let shelf = Shelf<Int>()
        let executor = QueueExecutor()
        let pinned = Pinned(executor)
        tell("Bank", 1, banks[0])
        tell("Bank", 2, banks[1])
        tell("Vault", 0, vault)
        tell("Shelf", 0, shelf)
        tell("QueueExecutor", 0, executor)
        tell("Storage", 0, Storage.shared)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { await useBank(banks[0]) }
                group.addTask { await useOther(banks[1]) }
                group.addTask { await useVault(vault) }
                group.addTask { await useShelf(shelf) }
                group.addTask { await useStorage() }
                group.addTask { await useMain() }
                group.addTask { await usePinned(pinned) }
            }
        }
        print("done")
    }
}
