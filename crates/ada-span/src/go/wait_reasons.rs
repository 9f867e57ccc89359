//! What the runtime's numbers for its reasons to wait mean. They differ between versions.

use crate::task::WaitKind::{self, *};

/// Those that all versions since 1.17 have.
const FIRST: [WaitKind; 18] = [
    Unknown,
    GcAssistMarking,
    IoWait,
    ChanReceiveNil,
    ChanSendNil,
    DumpingHeap,
    GarbageCollection,
    GarbageCollectionScan,
    PanicWait,
    Select,
    SelectNoCases,
    GcAssistWait,
    GcSweepWait,
    GcScavengeWait,
    ChanReceive,
    ChanSend,
    FinalizerWait,
    ForceGcIdle,
];

/// Those that follow, from 1.17 on.
const SINCE_17: [WaitKind; 9] = [
    Semacquire,
    Sleep,
    CondWait,
    TimerGoroutineIdle,
    TraceReaderBlocked,
    WaitForGcCycle,
    GcWorkerIdle,
    Preempted,
    DebugCall,
];

/// From 1.20 on, as far as all of these versions agree.
const SINCE_20: [WaitKind; 9] = [
    Semacquire,
    Sleep,
    CondWait,
    MutexLock,
    RwMutexRLock,
    RwMutexLock,
    TraceReaderBlocked,
    WaitForGcCycle,
    GcWorkerIdle,
];

/// From 1.21 on, behind those of 1.20.
const MORE_SINCE_21: [WaitKind; 11] = [
    GcWorkerActive,
    Preempted,
    DebugCall,
    GcMarkTermination,
    StoppingTheWorld,
    FlushProcCaches,
    TraceGoroutineStatus,
    TraceProcStatus,
    PageTraceFlush,
    Coroutine,
    GcWeakToStrongWait,
];

/// In 1.24.
const SINCE_24: [WaitKind; 26] = [
    Semacquire,
    Sleep,
    CondWait,
    MutexLock,
    RwMutexRLock,
    RwMutexLock,
    WaitGroupWait,
    TraceReaderBlocked,
    WaitForGcCycle,
    GcWorkerIdle,
    GcWorkerActive,
    Preempted,
    DebugCall,
    GcMarkTermination,
    StoppingTheWorld,
    FlushProcCaches,
    TraceGoroutineStatus,
    TraceProcStatus,
    PageTraceFlush,
    Coroutine,
    GcWeakToStrongWait,
    SynctestRun,
    SynctestWait,
    SynctestChanReceive,
    SynctestChanSend,
    SynctestSelect,
];

/// What a number means in a version, which is its second number: 19 of `go1.19.8`. Unknown where that is not certain.
pub(super) fn kind_of(minor: Option<u32>, number: u8) -> WaitKind {
    let number = usize::from(number);
    let later: [&[WaitKind]; 2] = match minor {
        Some(17..=19) => [&SINCE_17, &[]],
        Some(20) => [&SINCE_20, &[]],
        Some(21..=23) => [&SINCE_20, &MORE_SINCE_21],
        Some(24) => [&SINCE_24, &[]],
        _ => [&[], &[]],
    };
    FIRST.iter().chain(later.into_iter().flatten()).nth(number).copied().unwrap_or_default()
}

/// The second number of a version, as Go calls itself.
pub(crate) fn minor_version(version: &str) -> Option<u32> {
    let (_, rest) = version.split_once("go1.")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_their_own_numbers() {
        let at = |version: &str, number| kind_of(minor_version(version), number);
        for version in ["go1.17", "go1.19.8", "go1.23.4", "go1.24.4 X:boringcrypto", "devel go1.25-abc", "go1.99rc1"] {
            assert_eq!((at(version, 14), at(version, 9), at(version, 2)), (ChanReceive, Select, IoWait), "{version}");
        }
        assert_eq!((at("go1.19.8", 18), at("go1.23.0", 18), at("go1.24.4", 19)), (Semacquire, Semacquire, Sleep));
        assert_eq!((at("go1.19.8", 25), at("go1.21.0", 28), at("go1.24.4", 29)), (Preempted, Preempted, Preempted));
        assert_eq!((at("go1.19.8", 27), at("go1.20.1", 27), at("go1.24", 44)), (Unknown, Unknown, Unknown));
        assert_eq!((at("go1.25.1", 18), kind_of(None, 18)), (Unknown, Unknown));
        assert_eq!((minor_version("devel"), minor_version("go1.")), (None, None));
    }
}
