//! Callbacks that run after the call that was handed their address has returned, or on another thread.

use std::collections::HashMap;

use ada_event::FunctionId;

use super::execution::Entry;
use super::tracker::{CallbackObserved, Registration};
use super::{CallbackSpan, LIKELY, POSSIBLE, PROBABLE};

/// Numbers below this are counts, flags and the like, not something by which a callback knows its caller.
const SMALLEST_POINTER: u64 = 1 << 16;

/// Registrations of one function that an entry is compared with.
const LOOKED_AT: usize = 1000;

/// All spans of callbacks, by start; and how many were found and left out.
pub(crate) fn join(parts: impl IntoIterator<Item = CallbackObserved>) -> (Vec<CallbackSpan>, u64) {
    let mut all = CallbackObserved::default();
    for part in parts {
        all.spans.extend(part.spans);
        all.registrations.extend(part.registrations);
        all.entries.extend(part.entries);
        all.left_out += part.left_out;
    }
    let mut by_callback: HashMap<FunctionId, Vec<Registration>> = HashMap::new();
    for registration in all.registrations {
        by_callback.entry(registration.callback).or_default().push(registration);
    }
    by_callback.values_mut().for_each(|them| them.sort_by_key(|it| (it.time, it.thread, it.seq)));
    for entry in &all.entries {
        let registered = by_callback.get(&entry.span.function).map_or(&[][..], Vec::as_slice);
        all.spans.extend(nearest(registered, entry));
    }
    all.spans.sort_by_key(|span| (span.start, span.thread, span.seq));
    (all.spans, all.left_out)
}

/// The earlier registration that fits best: one whose context comes back; else, of those with the address as an earlier
/// argument, the nearest.
fn nearest(registered: &[Registration], entry: &Entry) -> Option<CallbackSpan> {
    let earlier = &registered[..registered.partition_point(|it| it.time < entry.span.start)];
    // Of very many, the newest ones are looked at.
    let earlier = &earlier[earlier.len().saturating_sub(LOOKED_AT)..];
    let with_context = earlier.iter().rev().find(|it| is_context_handed_back(it, entry));
    let (registration, confidence) = match with_context {
        Some(registration) => (registration, LIKELY),
        None => {
            let fits = || earlier.iter().rev().filter(|it| may_call(it, entry));
            let position = fits().map(|it| it.position).min()?;
            let mut best = fits().filter(|it| it.position == position);
            (best.next()?, if best.next().is_none() { PROBABLE } else { POSSIBLE })
        }
    };
    Some(CallbackSpan {
        initiator_thread: registration.thread,
        initiator_seq: registration.seq,
        initiator_time: registration.time,
        initiator_function: registration.function,
        confidence,
        ..entry.span
    })
}

/// Whether an argument of the callback was handed over with its address: its context, or the signal's number.
fn is_context_handed_back(registration: &Registration, entry: &Entry) -> bool {
    let Some(arguments) = entry.arguments else { return false };
    if registration.is_signal {
        return arguments[0] == registration.arguments[0];
    }
    arguments[..2].iter().any(|argument| *argument >= SMALLEST_POINTER && registration.arguments.contains(argument))
}

/// Whether the code that was handed the address can be what called it: a function of the same module did, or nobody
/// that is known. A call within the callback's own module is most likely a plain one.
fn may_call(registration: &Registration, entry: &Entry) -> bool {
    let callback = entry.span.function;
    match entry.caller {
        None => true,
        Some(_) if registration.is_signal => true,
        Some(caller) => caller.module() != callback.module() && registration.through.contains(&caller.module()),
    }
}
