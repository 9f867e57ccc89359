//! A call of one of the thread functions, with what its registers said.

use ada_event::{EventSeq, TraceNanos};

use crate::detail::EventDetail;
use crate::outcome::{Outcome, Status};
use crate::replay::{Closed, Opened};
use crate::role::Role;
use crate::thread_index::ThreadIndex;

/// What a word of memory reads as that was not mapped.
const UNREADABLE: u64 = u64::MAX;

/// The call, and its end if it had one.
#[derive(Clone, Debug)]
pub(crate) struct ThreadCall {
    /// The thread that called.
    pub(crate) thread: ThreadIndex,
    pub(crate) seq: EventSeq,
    /// The opening event of what it is in: itself, or the call that it has jumped to.
    pub(crate) open_seq: EventSeq,
    pub(crate) role: Role,
    pub(crate) time: TraceNanos,
    pub(crate) arguments: Option<[u64; 6]>,
    pub(crate) end_time: Option<TraceNanos>,
    pub(crate) close_seq: Option<EventSeq>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) result: Option<u64>,
    /// What was read from memory at the call.
    call_words: Vec<u64>,
    /// What was read from memory at the return.
    words: Vec<u64>,
}

impl ThreadCall {
    pub(crate) fn begun(thread: ThreadIndex, opened: &Opened, detail: Option<&EventDetail>) -> Self {
        Self {
            thread,
            seq: opened.seq,
            open_seq: opened.seq,
            role: opened.role,
            time: opened.start,
            arguments: detail.map(|detail| detail.registers),
            end_time: None,
            close_seq: None,
            outcome: None,
            result: None,
            call_words: detail.map_or(Vec::new(), |detail| detail.words.clone()),
            words: Vec::new(),
        }
    }

    pub(crate) fn ended(&mut self, closed: &Closed, detail: Option<&EventDetail>) {
        self.end_time = Some(closed.end());
        self.close_seq = closed.close_seq;
        self.outcome = Some(closed.outcome);
        if let Some(detail) = detail {
            self.result = Some(detail.registers[0]);
            self.words.clone_from(&detail.words);
        }
    }

    /// The first word at the return: a new thread's handle, a joined one's exit value.
    pub(crate) fn word(&self) -> Option<u64> {
        self.words.first().copied().filter(|&word| word != UNREADABLE)
    }

    /// The name in a call that gives one.
    pub(crate) fn name(&self) -> Option<(u64, u64)> {
        // A short name at the end of a page leaves the second word unreadable.
        let low = self.call_words.first().copied().filter(|&word| word != UNREADABLE)?;
        Some((low, self.call_words.get(1).copied().filter(|&word| word != UNREADABLE).unwrap_or(0)))
    }

    /// Whether a new thread starts detached: glibc's flags of the attributes that it was created with, if there were any.
    pub(crate) fn starts_detached(&self) -> Option<bool> {
        const DETACHED: u64 = 1;
        let arguments = self.arguments?;
        if arguments[1] == 0 {
            return Some(false);
        }
        self.call_words.first().filter(|&&word| word != UNREADABLE).map(|word| word & DETACHED != 0)
    }

    /// Whether it failed, as far as is known.
    pub(crate) fn has_failed(&self) -> bool {
        self.error().is_some_and(|error| error != 0)
    }

    /// What it returned.
    pub(crate) fn error(&self) -> Option<u64> {
        // The functions give an `int`; the upper half of the register is anything.
        self.result.map(|result| u64::from(result as u32))
    }

    /// Whether it returned.
    pub(crate) fn has_returned(&self) -> bool {
        self.outcome.is_some_and(|outcome| outcome.status == Status::Completed)
    }
}
