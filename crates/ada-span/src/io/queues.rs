//! Who made room in the queue of a socket that listens, for a connection that had to wait.

use std::collections::HashMap;

use super::streams::{CallPlace, Piece, Source};
use super::tables::ObjectIndex;
use crate::io_call_span::IoCallSpan;

/// The calls that take connections from the queues of sockets that listen.
#[derive(Default)]
pub(super) struct Queues {
    /// By what they take them from.
    taken: HashMap<ObjectIndex, Vec<Piece>>,
    /// The queue that a connection was taken from, and the call that did.
    from: HashMap<ObjectIndex, (ObjectIndex, CallPlace)>,
}

impl Queues {
    /// Notes a call that took a connection; `end` is this end of it, where it is known.
    pub(super) fn take(&mut self, listener: ObjectIndex, end: Option<ObjectIndex>, call: Piece) {
        self.taken.entry(listener).or_default().push(call);
        self.from.extend(end.map(|end| (end, (listener, call.call))));
    }

    /// The queue that a connection was taken from, by this end of it, and the call that took it.
    pub(super) fn queue_of(&self, end: ObjectIndex) -> Option<(ObjectIndex, CallPlace)> {
        self.from.get(&end).copied()
    }

    /// The call that took another connection while this one waited to get into the queue. Of several it is not known whose room it got.
    pub(super) fn room_for(&self, (listener, own): (ObjectIndex, CallPlace), call: &IoCallSpan) -> Source {
        let all = self.taken.get(&listener).into_iter().flatten();
        let meanwhile = all.filter(|it| it.call != own && it.start <= call.end && it.end >= call.start);
        let Some(last) = meanwhile.clone().max_by_key(|it| it.end.min(call.end)) else { return Source::Unexplained };
        if meanwhile.count() > 1 { Source::Perhaps(*last) } else { Source::Call(*last) }
    }
}

#[cfg(test)]
mod tests {
    use ada_event::{EventSeq, TraceNanos};

    use super::*;
    use crate::thread_index::ThreadIndex;

    #[test]
    fn who_took_another_connection_meanwhile_has_made_room() {
        let (listener, end) = (ObjectIndex(1), ObjectIndex(2));
        let took = |call, start, stop| Piece {
            call: CallPlace { process: 0, call },
            start: TraceNanos(start),
            end: TraceNanos(stop),
            bytes: 0,
            has_slept: false,
        };
        let mut queues = Queues::default();
        queues.take(listener, None, took(1, 5, 8));
        queues.take(listener, None, took(2, 20, 25));
        // The connection itself can only be taken once it is there.
        queues.take(listener, Some(end), took(3, 26, 40));
        let wait = |start, stop| IoCallSpan {
            end: TraceNanos(stop),
            ..IoCallSpan::of_exec(ThreadIndex(0), EventSeq(1), TraceNanos(start))
        };
        let from = queues.queue_of(end).unwrap();
        assert_eq!(queues.room_for(from, &wait(10, 30)), Source::Call(took(2, 20, 25)));
        assert_eq!(queues.room_for(from, &wait(6, 30)), Source::Perhaps(took(2, 20, 25)));
        assert_eq!(queues.room_for(from, &wait(10, 15)), Source::Unexplained);
    }
}
