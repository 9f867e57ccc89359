//! Which calls end others' waits.

use super::call::ObservedCall;
use super::futex::is_wake;
use super::wakes::{Wake, Wakes};
use crate::NONE;
use crate::role::SyncCall;

/// The calls that end waits.
pub(super) fn wakes_of(calls: &[ObservedCall]) -> Wakes {
    let mut wakes = Wakes::default();
    calls.iter().filter_map(wake_of).for_each(|(object, wake)| wakes.add(object, wake));
    wakes.sort();
    wakes
}

/// What a call wakes others of, if it does.
pub(super) fn wake_of(call: &ObservedCall) -> Option<(u64, Wake)> {
    let room = match call.call {
        SyncCall::Signal | SyncCall::Post | SyncCall::FutexWake => 1,
        SyncCall::Broadcast | SyncCall::Barrier | SyncCall::ReadWriteUnlock => u64::MAX,
        SyncCall::System if is_wake(call.arguments[1]) => call.arguments[2],
        _ => return None,
    };
    let (seq, start) = call.outer.map_or((call.seq, call.start), |outer| (outer.seq, outer.start));
    // What a wait for a condition lets go of is let go of at its beginning.
    let is_within = call.outer.is_none_or(|outer| outer.start <= call.start);
    let wake = Wake { thread: call.thread, seq, start, end: call.end, room };
    (is_within && call.arguments[0] != NONE).then_some((call.arguments[0], wake))
}
