//! What is said of tasks in one word.

use crate::word_enum::word_enum;

word_enum! {
    /// Whose tasks they are.
    #[derive(Default)]
    pub enum TaskRuntime {
        /// Swift's concurrency.
        #[default]
        Swift = 0, "swift";
        /// Goroutines.
        Go = 1, "go";
    }
}

word_enum! {
    /// How a task came to be.
    #[derive(Default)]
    pub enum TaskKind {
        /// Its creation was not seen.
        #[default]
        Unknown = 0, "unknown";
        /// The program's asynchronous `main`, or the goroutine of `main`.
        Main = 1, "main";
        /// `Task { … }`.
        Unstructured = 2, "task";
        /// `Task.detached { … }`.
        Detached = 3, "detached";
        /// `async let`.
        AsyncLet = 4, "async_let";
        /// A task group's child.
        Group = 5, "group";
        /// The runtime's own, as that which ends a sleep, or a collector's.
        Helper = 6, "helper";
        /// A `go` statement.
        Go = 7, "go";
    }
}

word_enum! {
    /// What a task waits for.
    #[derive(Default)]
    pub enum WaitKind {
        /// Not known.
        #[default]
        Unknown = 0, "unknown";
        /// The resume of its continuation.
        Continuation = 1, "continuation";
        /// Another task's end.
        Task = 2, "task";
        /// A child of a group.
        Group = 3, "group";
        /// Its turn on another executor: an actor, the main thread.
        Executor = 4, "executor";
        /// Its next turn on the same.
        Yield = 5, "yield";
        /// Some time to pass.
        Sleep = 6, "sleep";
        /// Go: as its tracebacks say.
        ChanReceive = 7, "chan receive";
        /// Go: as its tracebacks say.
        ChanSend = 8, "chan send";
        /// Go: as its tracebacks say.
        ChanReceiveNil = 9, "chan receive (nil chan)";
        /// Go: as its tracebacks say.
        ChanSendNil = 10, "chan send (nil chan)";
        /// Go: as its tracebacks say.
        Select = 11, "select";
        /// Go: as its tracebacks say.
        SelectNoCases = 12, "select (no cases)";
        /// Go: as its tracebacks say.
        MutexLock = 13, "sync.Mutex.Lock";
        /// Go: as its tracebacks say.
        RwMutexRLock = 14, "sync.RWMutex.RLock";
        /// Go: as its tracebacks say.
        RwMutexLock = 15, "sync.RWMutex.Lock";
        /// Go: as its tracebacks say.
        WaitGroupWait = 16, "sync.WaitGroup.Wait";
        /// Go: as its tracebacks say.
        CondWait = 17, "sync.Cond.Wait";
        /// Go: as its tracebacks say.
        Semacquire = 18, "semacquire";
        /// A descriptor that is not ready.
        IoWait = 19, "IO wait";
        /// It was stopped to let others run, or the collector look at it.
        Preempted = 20, "preempted";
        /// Go: as its tracebacks say.
        Coroutine = 21, "coroutine";
        /// A system call of it is over, and all processors are taken.
        Processor = 22, "processor";
        /// Go: as its tracebacks say.
        GcAssistMarking = 23, "GC assist marking";
        /// Go: as its tracebacks say.
        GcAssistWait = 24, "GC assist wait";
        /// Go: as its tracebacks say.
        GcSweepWait = 25, "GC sweep wait";
        /// Go: as its tracebacks say.
        GcScavengeWait = 26, "GC scavenge wait";
        /// Go: as its tracebacks say.
        GarbageCollection = 27, "garbage collection";
        /// Go: as its tracebacks say.
        GarbageCollectionScan = 28, "garbage collection scan";
        /// Go: as its tracebacks say.
        WaitForGcCycle = 29, "wait for GC cycle";
        /// Go: as its tracebacks say.
        GcWorkerIdle = 30, "GC worker (idle)";
        /// Go: as its tracebacks say.
        GcWorkerActive = 31, "GC worker (active)";
        /// Go: as its tracebacks say.
        GcMarkTermination = 32, "GC mark termination";
        /// Go: as its tracebacks say.
        GcWeakToStrongWait = 33, "GC weak to strong wait";
        /// Go: as its tracebacks say.
        ForceGcIdle = 34, "force gc (idle)";
        /// Go: as its tracebacks say.
        FinalizerWait = 35, "finalizer wait";
        /// Go: as its tracebacks say.
        StoppingTheWorld = 36, "stopping the world";
        /// Go: as its tracebacks say.
        DumpingHeap = 37, "dumping heap";
        /// Go: as its tracebacks say.
        PanicWait = 38, "panicwait";
        /// Go: as its tracebacks say.
        TimerGoroutineIdle = 39, "timer goroutine (idle)";
        /// Go: as its tracebacks say.
        TraceReaderBlocked = 40, "trace reader (blocked)";
        /// Go: as its tracebacks say.
        TraceGoroutineStatus = 41, "trace goroutine status";
        /// Go: as its tracebacks say.
        TraceProcStatus = 42, "trace proc status";
        /// Go: as its tracebacks say.
        PageTraceFlush = 43, "page trace flush";
        /// Go: as its tracebacks say.
        FlushProcCaches = 44, "flushing proc caches";
        /// Go: as its tracebacks say.
        DebugCall = 45, "debug call";
        /// Go: as its tracebacks say.
        SynctestRun = 46, "synctest.Run";
        /// Go: as its tracebacks say.
        SynctestWait = 47, "synctest.Wait";
        /// Go: as its tracebacks say.
        SynctestChanReceive = 48, "chan receive (synctest)";
        /// Go: as its tracebacks say.
        SynctestChanSend = 49, "chan send (synctest)";
        /// Go: as its tracebacks say.
        SynctestSelect = 50, "select (synctest)";
    }
}

word_enum! {
    /// How a task's end is known.
    #[derive(Default)]
    pub enum TaskEnd {
        /// It has not ended.
        #[default]
        None = 0, "none";
        /// The runtime's completion function was entered.
        Completion = 1, "completion";
        /// It ran, did not pause, and its executor went on to something else.
        Inferred = 2, "inferred";
        /// It ended the process: `main` does so.
        Exit = 3, "exit";
        /// Its function returned.
        Return = 4, "return";
        /// It called `runtime.Goexit`.
        Goexit = 5, "goexit";
        /// It panicked, and nobody recovered: that ended the process.
        Panic = 6, "panic";
        /// The runtime found that the process cannot go on.
        Fatal = 7, "fatal";
    }
}

word_enum! {
    /// How a task ended that has: Swift's functions return or throw.
    #[derive(Default)]
    pub enum TaskResult {
        /// Not known.
        #[default]
        Unknown = 0, "unknown";
        /// It returned.
        Returned = 1, "returned";
        /// It threw an error.
        Threw = 2, "threw";
    }
}

word_enum! {
    /// What an executor is.
    #[derive(Default)]
    pub enum ExecutorKind {
        /// The pool of threads.
        #[default]
        Pool = 0, "pool";
        /// The main thread.
        Main = 1, "main";
        /// An actor that runs its tasks itself.
        Actor = 2, "actor";
        /// Of the program's own.
        Custom = 3, "custom";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_indexes_in_the_lists() {
        assert!(TaskKind::ALL.iter().enumerate().all(|(number, kind)| *kind as usize == number));
        assert!(WaitKind::ALL.iter().enumerate().all(|(number, kind)| *kind as usize == number));
        assert!(TaskEnd::ALL.iter().enumerate().all(|(number, end)| *end as usize == number));
        assert!(TaskResult::ALL.iter().enumerate().all(|(number, it)| *it as usize == number));
        assert!(ExecutorKind::ALL.iter().enumerate().all(|(number, it)| *it as usize == number));
    }
}
