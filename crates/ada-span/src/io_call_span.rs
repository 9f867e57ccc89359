//! A call of input and output.

use ada_event::{EventSeq, TraceNanos};

use crate::NONE;
use crate::bytes::{Decoder, Encoder};
use crate::role::IoCall;
use crate::thread_index::ThreadIndex;

/// Whether an operation of a ring could not be done at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Waited {
    /// Nobody knows.
    Perhaps = 0,
    /// It was not done when the call came back that asked for it.
    Certainly = 1,
    /// If the thread slept in that call: it waited for this one, which was the first that was not there.
    IfAsleep = 2,
}

/// A call of which registers are known. [`crate::NONE`] where something is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoCallSpan {
    /// The thread.
    pub thread: ThreadIndex,
    /// Its opening event.
    pub seq: EventSeq,
    /// That of the outermost call of its kind around it.
    pub outer_seq: EventSeq,
    /// When it began.
    pub start: TraceNanos,
    /// When it ended, or the recording did.
    pub end: TraceNanos,
    /// [`IoCall`]'s number.
    pub what: u64,
    /// Its first arguments.
    pub arguments: [u64; 4],
    /// The first word that was read behind one of them.
    pub word: u64,
    /// What it gave back, where that is known.
    pub result: Option<u64>,
}

impl IoCallSpan {
    /// Stands for the outer call of an operation that a ring was asked for.
    pub(crate) const OF_RING: EventSeq = EventSeq(NONE);

    /// Whether it is an operation that a ring was asked for. Its word is its number among these.
    pub(crate) fn is_of_ring(&self) -> bool {
        self.outer_seq == Self::OF_RING
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        out.u32(self.thread.0).u64(self.seq.0).u64(self.outer_seq.0).u64(self.start.0).u64(self.end.0).u64(self.what);
        for argument in self.arguments {
            out.u64(argument);
        }
        // A failure is -1, and so is what is not known elsewhere.
        out.u64(self.word).u64(self.result.unwrap_or(0)).u32(self.result.is_some().into());
    }

    pub(crate) fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        Some(Self {
            thread: ThreadIndex(from.u32()?),
            seq: EventSeq(from.u64()?),
            outer_seq: EventSeq(from.u64()?),
            start: TraceNanos(from.u64()?),
            end: TraceNanos(from.u64()?),
            what: from.u64()?,
            arguments: [from.u64()?, from.u64()?, from.u64()?, from.u64()?],
            word: from.u64()?,
            result: {
                let result = from.u64()?;
                (from.u32()? != 0).then_some(result)
            },
        })
    }

    /// Whether an operation of a ring had to wait, where the flag says whether its thread slept meanwhile.
    pub(crate) fn has_waited_in_ring(&self, has_slept: impl FnOnce() -> bool) -> bool {
        match self.arguments[1] {
            it if it == Waited::Certainly as u64 => true,
            it if it == Waited::IfAsleep as u64 => has_slept(),
            _ => false,
        }
    }

    /// A call that runs another program: no address stands for what it did.
    pub(crate) fn of_exec(thread: ThreadIndex, seq: EventSeq, start: TraceNanos) -> Self {
        let (what, arguments) = (IoCall::Unmap as u64, [0, u64::MAX, 0, 0]);
        Self { thread, seq, outer_seq: seq, start, end: start, what, arguments, word: NONE, result: Some(0) }
    }

    /// What it does.
    pub fn what(&self) -> IoCall {
        IoCall::from_number(self.what).unwrap_or(IoCall::Other)
    }

    /// The descriptor in its first argument.
    pub(crate) fn descriptor(&self) -> u32 {
        self.arguments[0] as u32
    }

    /// The descriptor that it uses.
    pub(crate) fn used(&self) -> Option<u32> {
        match self.what() {
            what if what.takes() || what.gives() => Some(self.descriptor()),
            IoCall::Accept
            | IoCall::Connect
            | IoCall::Close
            | IoCall::Shutdown
            | IoCall::Duplicate
            | IoCall::DuplicateTo
            | IoCall::EpollWait
            | IoCall::EpollControl => Some(self.descriptor()),
            // What could not be read has none.
            IoCall::Ring => Some(self.descriptor()).filter(|it| i32::try_from(*it).is_ok()),
            IoCall::Poll => self.polled(),
            _ => None,
        }
    }

    /// The one descriptor that it asks after, where it is one, and is to be read from.
    pub(crate) fn polled(&self) -> Option<u32> {
        const READABLE: u64 = 1 << 32;
        let is_one = self.arguments[1] == 1 && self.word != NONE && self.word & READABLE != 0;
        is_one.then_some(self.word as u32)
    }

    /// What it gave back as a descriptor or another small number; none where it failed, or has not come back.
    pub(crate) fn small_result(&self) -> Option<u32> {
        u32::try_from(self.result? as i32).ok()
    }

    /// How many bytes it took or gave; none where that is not known.
    pub(crate) fn bytes(&self) -> Option<u64> {
        // -1 is a failure.
        self.result.map(|result| u64::try_from(result as i64).unwrap_or(0))
    }

    /// Whether it has taken or given something, be it empty.
    pub(crate) fn bytes_moved(&self) -> bool {
        self.result.is_some_and(|result| result as i64 >= 0)
    }

    /// Whether what it reads stays there.
    pub(crate) fn peeks(&self) -> bool {
        const PEEK: u64 = 2;
        match self.what() {
            IoCall::Receive | IoCall::ReceiveFrom => self.arguments[3] & PEEK != 0,
            IoCall::ReceiveMessage => self.arguments[2] & PEEK != 0,
            _ => false,
        }
    }

    /// The two descriptors that it has made.
    pub(crate) fn pair(&self) -> Option<[u32; 2]> {
        let is_made = self.word != NONE && self.small_result() == Some(0);
        is_made.then_some([self.word as u32, (self.word >> 32) as u32])
    }
}
