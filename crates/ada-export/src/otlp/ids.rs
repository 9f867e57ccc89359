//! Ids that follow from the session: the same export twice has the same ones.

use std::hash::{DefaultHasher, Hash, Hasher};

use ada_event::EventSeq;

use crate::model::{TraceInfo, TraceThread};

/// A session is one trace.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TraceId(u128);

impl TraceId {
    pub(super) fn of(trace: &TraceInfo) -> Self {
        let half = |number: u8| {
            let mut hasher = DefaultHasher::new();
            (number, &trace.session, trace.start.0, trace.epoch).hash(&mut hasher);
            u128::from(hasher.finish())
        };
        // 0 means that there is none.
        Self((half(0) << 64 | half(1)).max(1))
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }
}

/// A span within the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SpanId(u64);

const LOGICAL: u64 = 1 << 63;
const SEQ_BITS: u32 = 40;

impl SpanId {
    /// Different for all calls of 2^23 threads with 2^40 events each, and never 0.
    pub(super) fn of_call(thread: TraceThread, seq: EventSeq) -> Self {
        let thread = (thread.0 as u64 + 1) & ((1 << (63 - SEQ_BITS)) - 1);
        Self(thread << SEQ_BITS | seq.0 & ((1 << SEQ_BITS) - 1))
    }

    pub(super) fn of_logical(reference: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        reference.hash(&mut hasher);
        Self(hasher.finish() | LOGICAL)
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }
}
