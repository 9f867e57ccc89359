//! What an open call is: the run of a callback, for certain or perhaps, or none.

use ada_event::{EventSeq, FunctionId, TraceNanos};

use super::CallbackSpan;
use crate::replay::Closed;
use crate::role::Role;

/// A call of a function whose address was handed over, and that no open call explains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) span: CallbackSpan,
    pub(crate) caller: Option<FunctionId>,
    pub(crate) arguments: Option<[u64; 6]>,
}

/// Who was handed addresses.
#[derive(Clone, Copy)]
pub(super) struct Initiator {
    pub(super) seq: EventSeq,
    pub(super) time: TraceNanos,
    pub(super) function: FunctionId,
    pub(super) role: Role,
    pub(super) arguments: [u64; 6],
}

/// Whether an open call is the run of a callback.
#[derive(Clone, Copy)]
pub(super) enum Execution {
    No,
    Certain(CallbackSpan),
    Deferred(Entry),
}

impl Execution {
    /// With the end of its call.
    pub(super) fn ended(self, closed: &Closed) -> Self {
        let ended = |span: CallbackSpan| CallbackSpan {
            end: closed.end(),
            outcome: closed.outcome.to_byte().into(),
            close_seq: closed.close_seq,
            ..span
        };
        match self {
            Self::No => Self::No,
            Self::Certain(span) => Self::Certain(ended(span)),
            Self::Deferred(entry) => Self::Deferred(Entry { span: ended(entry.span), ..entry }),
        }
    }
}
