//! Operations that rings are asked for.

use ada_event::{EventSeq, TraceNanos};

use crate::NONE;
use crate::io_call_span::{IoCallSpan, Waited};
use crate::role::IoCall;
use crate::thread_index::ThreadIndex;

use super::ending::RingEnding;

/// Of an entry's flags.
const FIXED_FILE: u8 = 1;
const DRAIN: u8 = 1 << 1;
const LINK: u8 = 1 << 2 | 1 << 3;
const NO_COMPLETION: u8 = 1 << 6;
/// Of a completion's.
const MORE: u32 = 1 << 1;
const NOTIFICATION: u32 = 1 << 3;

const TIME_IS_UP: i32 = -62;
const CANCELLED: i32 = -125;

/// What an entry asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    words: [u64; 3],
    /// Whether it begins only when one before it is done.
    follows: bool,
}

/// Kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// One that a function does too.
    Call(IoCall),
    /// The time passes.
    Timer,
    /// The kernel does it, and waits for nobody.
    Quiet,
    /// It says nothing about others.
    Other,
    /// What it does to descriptors and what goes through them is not followed.
    Untold,
}

impl Entry {
    /// `before` is the one before it that is handed to the kernel with it.
    pub(super) fn new(words: [u64; 3], before: Option<Self>) -> Self {
        let follows = before.is_some_and(|before| before.flags() & LINK != 0);
        Self { words, follows }
    }

    /// What its completion is known by.
    pub(super) const fn user_data(self) -> u64 {
        self.words[1]
    }

    const fn flags(self) -> u8 {
        (self.words[0] >> 8) as u8
    }

    const fn descriptor(self) -> u64 {
        self.words[0] >> 32
    }

    /// A length, or whether what it makes is no descriptor of the process's.
    const fn length(self) -> u32 {
        self.words[2] as u32
    }

    /// Whether whatever is asked for from here on waits for what was before.
    pub(super) const fn drains(self) -> bool {
        self.flags() & DRAIN != 0
    }

    /// Whether it leaves a word in another ring.
    pub(super) const fn tells_another_ring(self) -> bool {
        self.words[0] as u8 == 40
    }

    fn kind(self) -> Kind {
        match self.words[0] as u8 {
            // Reads: also into buffers that are registered, and again and again.
            1 | 4 | 22 | 49 | 60 => Kind::Call(IoCall::Read),
            27 => Kind::Call(IoCall::Receive),
            10 => Kind::Call(IoCall::ReceiveMessage),
            2 | 5 | 23 | 26 | 47 | 61 => Kind::Call(IoCall::Write),
            9 | 48 => Kind::Call(IoCall::SendTo),
            6 => Kind::Call(IoCall::Poll),
            13 => Kind::Call(IoCall::Accept),
            16 => Kind::Call(IoCall::Connect),
            18 | 28 => Kind::Call(IoCall::Open),
            19 => Kind::Call(IoCall::Close),
            34 => Kind::Call(IoCall::Shutdown),
            45 => Kind::Call(IoCall::Socket),
            11 => Kind::Timer,
            // Nothing, files, and advice about memory.
            0 | 3 | 8 | 17 | 20 | 21 | 24 | 25 | 31 | 32 | 35..=39 | 41..=44 | 55 => Kind::Quiet,
            // What takes others back, limits them, or waits for a futex or a child.
            7 | 12 | 14 | 15 | 50..=53 => Kind::Other,
            _ => Kind::Untold,
        }
    }

    /// Whether not all is known of what it does to descriptors, and to what goes through them.
    pub(super) fn is_untold(self) -> bool {
        match self.kind() {
            Kind::Untold => true,
            // Neither that it is done nor how much it moved.
            Kind::Call(_) if self.flags() & NO_COMPLETION != 0 => true,
            Kind::Call(IoCall::Open | IoCall::Close | IoCall::Socket | IoCall::Poll) => false,
            Kind::Call(_) => self.flags() & FIXED_FILE != 0,
            Kind::Timer | Kind::Quiet | Kind::Other => false,
        }
    }

    /// What a wait has ended with that ended when this was done; none where that is not known.
    fn ending(self, result: i32) -> Option<RingEnding> {
        const POLL_AGAIN: u32 = 1;
        let kind = self.kind();
        match kind {
            _ if self.follows => None,
            Kind::Other | Kind::Untold => None,
            _ if result == CANCELLED => Some(RingEnding::Cancelled),
            Kind::Timer => (result == TIME_IS_UP).then_some(RingEnding::Nobody),
            Kind::Quiet | Kind::Call(IoCall::Open | IoCall::Close | IoCall::Socket | IoCall::Shutdown) => {
                Some(RingEnding::Nobody)
            }
            // Its first word may be about what was there long before.
            Kind::Call(IoCall::Poll) if self.length() & POLL_AGAIN != 0 => None,
            Kind::Call(_) if result < 0 => Some(RingEnding::Nobody),
            Kind::Call(_) if self.flags() & FIXED_FILE != 0 => Some(RingEnding::NoDescriptor),
            Kind::Call(_) => Some(RingEnding::Operation),
        }
    }
}

/// One that was asked for and is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) entry: Entry,
    /// By which call.
    pub(super) thread: ThreadIndex,
    pub(super) seq: EventSeq,
    /// Since when it, or what is left of it, is to be done.
    pub(super) start: TraceNanos,
}

/// A completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Completion {
    pub(super) user_data: u64,
    pub(super) result: i32,
    flags: u32,
}

impl Completion {
    pub(super) const fn new([user_data, rest]: [u64; 2]) -> Self {
        Self { user_data, result: rest as u32 as i32, flags: (rest >> 32) as u32 }
    }

    /// Whether more is to come of the same.
    pub(super) const fn has_more(self) -> bool {
        self.flags & MORE != 0
    }

    /// What a wait has ended with that ended with this.
    pub(super) fn ending(self, operation: &Operation) -> Option<RingEnding> {
        if self.flags & NOTIFICATION != 0 { None } else { operation.entry.ending(self.result) }
    }

    /// The call that it is the end of, seen at a time; `number` says which operation of the process's it is.
    pub(super) fn call(
        self,
        operation: &Operation,
        seen: TraceNanos,
        number: u64,
        waited: Waited,
    ) -> Option<IoCallSpan> {
        let call = operation.call(seen, Some(i64::from(self.result) as u64), number)?;
        let [descriptor, second, third, fourth] = call.arguments;
        // Nobody else has a use for it.
        let second = if call.what() == IoCall::Read { waited as u64 } else { second };
        let is_told = self.flags & NOTIFICATION == 0;
        is_told.then_some(IoCallSpan { arguments: [descriptor, second, third, fourth], ..call })
    }
}

impl Operation {
    /// As a call that has lasted until it was seen to be done. Other functions leave -1 where they fail.
    pub(super) fn call(&self, end: TraceNanos, result: Option<u64>, number: u64) -> Option<IoCallSpan> {
        let Kind::Call(what) = self.entry.kind() else { return None };
        let makes = matches!(what, IoCall::Accept | IoCall::Open | IoCall::Close | IoCall::Socket);
        // One of the ring's own is no descriptor.
        let is_own = makes && self.entry.length() != 0;
        if self.entry.flags() & FIXED_FILE != 0 || is_own {
            return None;
        }
        let particular = self.entry.words[2] >> 32;
        let arguments = match what {
            IoCall::Receive => [self.entry.descriptor(), 0, 0, particular],
            IoCall::ReceiveMessage => [self.entry.descriptor(), 0, particular, 0],
            IoCall::Shutdown => [self.entry.descriptor(), self.entry.length().into(), 0, 0],
            _ => [self.entry.descriptor(), 0, 0, 0],
        };
        Some(IoCallSpan {
            thread: self.thread,
            seq: self.seq,
            outer_seq: IoCallSpan::OF_RING,
            start: self.start,
            end,
            what: what as u64,
            arguments,
            word: number,
            result,
        })
    }

    /// As a call whose end was not seen, if it moves something.
    pub(super) fn unfinished(&self, last_look: TraceNanos) -> Option<IoCallSpan> {
        let call = self.call(TraceNanos::MAX, None, NONE)?;
        match call.what() {
            // Nothing had come by then.
            what if what.takes() => Some(IoCallSpan { start: last_look.max(self.start), ..call }),
            what if what.gives() => Some(call),
            _ => None,
        }
    }
}
