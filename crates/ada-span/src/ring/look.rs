//! A look at a ring, as the agent has written it.

use ada_event::{EventSeq, TraceNanos};

use crate::NONE;
use crate::thread_index::ThreadIndex;

/// Words before the entries; each of these has three, and each completion two.
const HEAD: usize = 6;
const ENTRY_WORDS: usize = 3;
const COMPLETION_WORDS: usize = 2;

/// A look at a ring when a call began, or came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingLook {
    pub(crate) thread: ThreadIndex,
    /// The call's opening event.
    pub(crate) seq: EventSeq,
    pub(crate) time: TraceNanos,
    pub(crate) is_return: bool,
    pub(crate) words: Vec<u64>,
}

/// What was seen of a ring that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen<'a> {
    /// For how many completions the call waits.
    pub(super) waits_for: u32,
    /// What the ring was set up with.
    pub(super) flags: u32,
    pub(super) key: u64,
    /// Positions: what is asked for and not taken, and what is done and not taken.
    pub(super) asked: [u32; 2],
    pub(super) done: [u32; 2],
    pub(super) entries: &'a [[u64; ENTRY_WORDS]],
    /// The position of the first completion below.
    pub(super) first_done: u32,
    pub(super) completions: &'a [[u64; COMPLETION_WORDS]],
}

impl RingLook {
    /// The descriptor of the ring that such words are about.
    pub(crate) fn descriptor(words: &[u64]) -> Option<u32> {
        words.get(1).filter(|word| **word != NONE).map(|word| *word as u32)
    }

    /// What was seen; none where the ring could not be read.
    pub(super) fn seen(&self) -> Option<Seen<'_>> {
        let (head, rest) = self.words.split_first_chunk::<HEAD>()?;
        let [waits_for, descriptor, key, asked, done, listed] = *head;
        let halves = |word: u64| [word as u32, (word >> 32) as u32];
        let counts = [listed >> 32 & 0xffff, listed >> 48].map(|count| count as usize);
        let (entries, rest) = rest.split_at_checked(counts[0] * ENTRY_WORDS)?;
        let completions = rest.get(..counts[1] * COMPLETION_WORDS)?;
        Some(Seen {
            waits_for: if waits_for == NONE { 1 } else { waits_for as u32 },
            flags: halves(descriptor)[1],
            key,
            asked: halves(asked),
            done: halves(done),
            entries: entries.as_chunks().0,
            first_done: listed as u32,
            completions: completions.as_chunks().0,
        })
    }
}
