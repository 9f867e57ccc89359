// Tasks that end by throwing, and tasks that do not. Each is made by a function of its own, and says itself how it ends:
// the name of that function, then `threw` with the error's type and case, or `returned`.
import Dispatch

enum Failure: Error { case first, second, third }
enum Detailed: Error { case code(Int), other }
enum Alone: Error { case only }
struct Broken: Error { let code: Int }
final class Lost: Error {}
struct Wrapped<Value: Sendable>: Error { let value: Value }
enum Outer { struct Inner: Error {} }
extension Outer { struct Late: Error {} }
private enum Hidden: Error { case out, of, sight }

/// The truth about a task, and the error.
func log<E: Error>(_ name: String, _ error: E, _ type: String, _ enumCase: String = "-") -> E {
    print(name, "threw", type, enumCase)
    return error
}

func returned(_ name: String) -> Int {
    print(name, "returned")
    return 7
}

@inline(never) func plainCase() -> Task<Int, Error> {
    Task { throw log("plainCase", Failure.second, "Failure", "second") }
}
@inline(never) func payloadCase() -> Task<Int, Error> {
    Task.detached { throw log("payloadCase", Detailed.code(3), "Detailed") }
}
@inline(never) func onlyCase() -> Task<Int, Error> {
    Task { throw log("onlyCase", Alone.only, "Alone", "only") }
}
@inline(never) func aStruct() -> Task<Int, Error> {
    Task { throw log("aStruct", Broken(code: 1), "Broken") }
}
@inline(never) func aClass() -> Task<Int, Error> {
    Task { throw log("aClass", Lost(), "Lost") }
}
@inline(never) func aGeneric() -> Task<Int, Error> {
    Task { throw log("aGeneric", Wrapped(value: 5), "Wrapped") }
}
@inline(never) func nestedType() -> Task<Int, Error> {
    Task { throw log("nestedType", Outer.Inner(), "Outer.Inner") }
}
@inline(never) func ofExtension() -> Task<Int, Error> {
    Task { throw log("ofExtension", Outer.Late(), "Outer.Late") }
}
@inline(never) func privateType() -> Task<Int, Error> {
    Task { throw log("privateType", Hidden.sight, "Hidden", "sight") }
}
@inline(never) func afterPause() -> Task<Int, Error> {
    Task {
        try await Task.sleep(nanoseconds: 1_000_000)
        throw log("afterPause", Failure.first, "Failure", "first")
    }
}
@inline(never) func ofContinuation() -> Task<Int, Error> {
    Task {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(throwing: log("ofContinuation", Failure.third, "Failure", "third"))
            }
        }
    }
}
@inline(never) func typedInner() async throws(Failure) -> Int {
    await Task.yield()
    throw log("typedThrows", Failure.second, "Failure", "second")
}
@inline(never) func typedThrows() -> Task<Int, Error> {
    Task { try await typedInner() }
}
@inline(never) func cancelledSleep() -> Task<Int, Error> {
    Task {
        do {
            try await Task.sleep(nanoseconds: 10_000_000_000)
        } catch {
            throw log("cancelledSleep", CancellationError(), "CancellationError")
        }
        return 1
    }
}
@inline(never) func cancelledReturn() -> Task<Int, Error> {
    Task {
        try? await Task.sleep(nanoseconds: 10_000_000_000)
        return returned("cancelledReturn")
    }
}
@inline(never) func couldThrow() -> Task<Int, Error> {
    Task {
        if CommandLine.argc > 40 { throw Failure.first }
        return returned("couldThrow")
    }
}
@inline(never) func cannotThrow() -> Task<Int, Never> {
    Task { returned("cannotThrow") }
}
@inline(never) func caughtInside() -> Task<Int, Error> {
    Task {
        do {
            _ = try await typedWithoutLog()
        } catch {
            return returned("caughtInside")
        }
        return 1
    }
}
@inline(never) func typedWithoutLog() async throws -> Int {
    await Task.yield()
    throw Failure.first
}

@inline(never) func groupChildren() async -> Int {
    await withTaskGroup(of: Void.self) { _ in }
    do {
        try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask { returned("groupChildren") }
            _ = try await group.next()
            group.addTask { throw log("groupChildren", Broken(code: 2), "Broken") }
            _ = try await group.next()
        }
    } catch {
        return 1
    }
    return 0
}
@inline(never) func discarding() async -> Int {
    do {
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { throw log("discarding", Failure.third, "Failure", "third") }
        }
    } catch {
        return 1
    }
    return 0
}
@inline(never) func failing() async throws -> Int {
    await Task.yield()
    throw log("asyncLets", Failure.second, "Failure", "second")
}
@inline(never) func fine() async throws -> Int {
    await Task.yield()
    return returned("asyncLets")
}
@inline(never) func asyncLets() async -> Int {
    async let bad = failing()
    let first = try? await bad
    async let good = fine()
    let second = try? await good
    return (first ?? 1) + (second ?? 0)
}

/// Nobody asks for the results of these two.
@inline(never) func unread() {
    Task { throw log("unread", Failure.third, "Failure", "third") }
}
@inline(never) func unreadReturn() {
    Task { () async throws -> Int in returned("unreadReturn") }
}

@main struct Program {
    static func main() async {
        var failures = 0
        for make in [
            plainCase, payloadCase, onlyCase, aStruct, aClass, aGeneric, nestedType, ofExtension, privateType, afterPause,
            ofContinuation, typedThrows, couldThrow, caughtInside,
        ] {
            if case .failure = await make().result { failures += 1 }
        }
        for make in [cancelledSleep, cancelledReturn] {
            let task = make()
            try? await Task.sleep(nanoseconds: 2_000_000)
            task.cancel()
            do {
                _ = try await task.value
            } catch {
                failures += 1
            }
        }
        _ = await cannotThrow().value
        failures += await groupChildren()
        failures += await discarding()
        failures += await asyncLets()
        unread()
        try? await Task.sleep(nanoseconds: 20_000_000)
        unreadReturn()
        try? await Task.sleep(nanoseconds: 20_000_000)
        print("failures", failures)
    }
}
