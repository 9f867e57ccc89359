//! The calls by which a worker's threads waited for others and woke them.

use std::collections::HashSet;

use ada_event::{EventSeq, RuntimeAddr, TraceNanos};

use super::futex::FUTEX;
use super::once::OnceCalls;
use super::owner_word::OwnerWord;
use super::spins::SpinCalls;
use super::yields::Yields;

use crate::NONE;
use crate::detail::{DetailSource, EventDetail};
use crate::function_traits::FunctionTraits;
use crate::io_call_span::IoCallSpan;
use crate::io_calls::IoCalls;
use crate::outcome::{Outcome, Reason, Status};
use crate::replay::{Closed, FunctionNumber, Opened};
use crate::ring::RingLook;
use crate::role::{IoCall, Role, SyncCall};
use crate::thread_index::ThreadIndex;

/// The kernel's number of a call that is of interest where a program makes it by `syscall`, beside that for futexes.
const IO_URING_ENTER: u64 = 426;
/// Input and output that took less, in nanoseconds, is not taken for a wait.
const SHORT_INPUT: u64 = 20_000;
/// Locks that are taken and let go of by one thread and remembered. Who held what is not known beyond.
pub(super) const MOST_STEPS: usize = 1 << 22;

/// A call of which registers are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObservedCall {
    pub(super) thread: ThreadIndex,
    /// What the program called, and its opening event: the call itself, or what it is the contended path of.
    pub(super) outer: Option<Outer>,
    pub(super) seq: EventSeq,
    pub(super) call: SyncCall,
    pub(super) start: TraceNanos,
    pub(super) end: TraceNanos,
    pub(super) outcome: Outcome,
    pub(super) has_closed: bool,
    /// The first arguments.
    pub(super) arguments: [u64; 3],
    /// What was read behind the first.
    pub(super) words: [u64; 4],
    /// What it gave back, where that is known.
    pub(super) result: Option<u64>,
}

/// The outermost call of its kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outer {
    pub(super) role: Role,
    pub(super) seq: EventSeq,
    pub(super) start: TraceNanos,
    /// Its first argument, where that is known.
    pub(super) object: u64,
    /// What that said, where it is a mutex whose lock word is its owner's id.
    pub(super) mutex: Option<OwnerWord>,
}

/// A lock that was taken, or let go of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LockStep {
    pub(super) seq: EventSeq,
    pub(super) start: TraceNanos,
    pub(super) end: TraceNanos,
    pub(super) what: Step,
    /// Whether it is a read-write lock.
    pub(super) is_read_write: bool,
    /// Whether others may have it too: it is taken to read.
    pub(super) is_shared: bool,
    /// Which lock it is, where that is known.
    pub(super) object: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Taken,
    /// Perhaps: what the call gave back is not recorded.
    Tried,
    LetGo,
}

/// The calls of a worker's threads.
#[derive(Default)]
pub(crate) struct SyncCalls {
    pub(super) calls: Vec<ObservedCall>,
    /// By thread, in the order of their ends.
    pub(super) steps: Vec<(ThreadIndex, Vec<LockStep>)>,
    /// Calls of input and output.
    pub(super) io: IoCalls,
    /// Calls by which something is run once.
    pub(super) onces: OnceCalls,
    /// Calls by which threads give up their turns.
    pub(super) yields: Yields,
    /// Calls about locks that threads spin for.
    pub(super) spins: SpinCalls,
    /// Functions of which registers are kept.
    with_registers: HashSet<FunctionNumber>,
    open: Vec<Open>,
    /// One that has just ended by jumping to the next call, and its depth.
    jumped: Option<(Open, u32)>,
    /// Whether steps are of interest: somebody waits for a lock.
    has_contention: bool,
}

#[derive(Clone, Copy)]
struct Open {
    /// The opening event of what it is in: itself, or what it has jumped to.
    in_seq: EventSeq,
    outer: Outer,
    role: Role,
    start: TraceNanos,
    seq: EventSeq,
    /// Its place in the list of calls.
    call: Option<usize>,
    /// The mutex that a wait for a condition lets go of.
    mutex: u64,
    /// Which lock it was about, as a contended path inside has shown.
    object: u64,
    /// What it does with descriptors.
    io: Option<IoCallSpan>,
}

/// Whether any thread has waited for a lock.
pub(crate) fn has_contention<'d>(
    details: impl Iterator<Item = Box<dyn DetailSource + 'd>>,
    traits: &FunctionTraits,
) -> bool {
    let mut found = false;
    for details in details {
        details.probed(&mut |function, is_return, _| {
            let role = traits.get(function).role;
            found |= !is_return
                && matches!(role, Role::Sync(SyncCall::FutexWait | SyncCall::Lock | SyncCall::Unlock) | Role::Spin(_));
        });
    }
    found
}

impl SyncCalls {
    pub(crate) fn new(has_contention: bool) -> Self {
        Self { has_contention, ..Self::default() }
    }

    /// Whether locks that are taken and let go of are noted.
    pub(super) fn notes_steps(&self) -> bool {
        self.has_contention
    }

    pub(crate) fn begin_thread(&mut self, thread: ThreadIndex) {
        self.open.clear();
        self.jumped = None;
        self.onces.begin_thread();
        self.yields.begin_thread();
        self.spins.begin_thread();
        self.steps.push((thread, Vec::new()));
    }

    /// Whether the next call is of interest, whatever it is.
    #[inline]
    pub(crate) fn wants_next(&self) -> bool {
        self.jumped.is_some() || self.onces.wants_next() || self.yields.wants_next()
    }

    #[inline]
    pub(crate) fn has_open(&self) -> bool {
        !self.open.is_empty() || self.onces.has_open() || self.yields.has_open() || self.spins.has_open()
    }

    /// `address` is the function's.
    pub(crate) fn open(
        &mut self,
        thread: ThreadIndex,
        opened: &Opened,
        detail: Option<&EventDetail>,
        address: Option<RuntimeAddr>,
    ) {
        if let Some((mut open, depth)) = self.jumped.take()
            && depth == opened.depth
            && opened.is_frame
        {
            open.in_seq = opened.seq;
            self.open.push(open);
        }
        if opened.role == Role::Exec && opened.is_frame {
            // Everything is another thing then.
            self.io.keep(IoCallSpan::of_exec(thread, opened.seq, opened.start), None);
        }
        self.yields.open(thread, opened);
        if self.has_contention {
            self.spins.open(thread, opened, detail);
        }
        if self.onces.open(thread, opened, detail, address) || opened.role == Role::Sync(SyncCall::Yield) {
            return;
        }
        let is_of_interest = matches!(opened.role, Role::Sync(_) | Role::ThreadJoin | Role::ThreadJoinInt);
        if !is_of_interest || !opened.is_frame {
            return;
        }
        let argument = |index: usize| detail.map_or(NONE, |detail| detail.registers[index]);
        let is_by_number = opened.role == Role::Sync(SyncCall::System);
        let role = match argument(0) {
            IO_URING_ENTER if is_by_number => Role::Sync(SyncCall::Input(IoCall::Ring)),
            // Of other system calls nothing is kept.
            number if is_by_number && number != FUTEX => return,
            _ => opened.role,
        };
        let first = usize::from(is_by_number);
        let object = argument(first);
        let mut words = [NONE; 4];
        let read = detail.map_or(&[][..], |detail| &detail.words);
        words.iter_mut().zip(read).for_each(|(word, read)| *word = *read);
        let is_lock = matches!(role, Role::Sync(SyncCall::Lock | SyncCall::TimedLock));
        let mutex = if is_lock { OwnerWord::of(&words) } else { None };
        let outer = Outer { role, seq: opened.seq, start: opened.start, object, mutex };
        let outer = self.open.first().map_or(outer, |open| open.outer);
        // Newer versions of glibc have one such function call the other.
        let is_path = role == Role::Sync(SyncCall::FutexWait);
        let is_same_wait = is_path && self.open.last().is_some_and(|open| open.role == role);
        let call = match role {
            Role::Sync(SyncCall::Descriptor(_)) => None,
            _ if is_same_wait => None,
            Role::Sync(call) if detail.is_some() || matches!(call, SyncCall::Sleep | SyncCall::Input(_)) => {
                self.calls.push(ObservedCall {
                    thread,
                    outer: self.open.first().map(|open| open.outer),
                    seq: opened.seq,
                    call,
                    start: opened.start,
                    end: opened.start,
                    outcome: Outcome::default(),
                    has_closed: false,
                    arguments: [object, argument(first + 1), argument(first + 2)],
                    words,
                    result: None,
                });
                Some(self.calls.len() - 1)
            }
            _ => None,
        };
        let is_path = matches!(role, Role::Sync(SyncCall::FutexWait | SyncCall::FutexWake));
        if let Some(around) = self.open.first_mut().filter(|_| is_path) {
            around.object = object;
        }
        let io = match (role, detail) {
            (Role::Sync(SyncCall::Input(call) | SyncCall::Descriptor(call)), Some(detail))
                if !matches!(call, IoCall::Other | IoCall::SignalWait) =>
            {
                let mut arguments = std::array::from_fn(|at| detail.registers[first + at]);
                if call == IoCall::Ring {
                    self.io.look(RingLook {
                        thread,
                        seq: opened.seq,
                        time: opened.start,
                        is_return: false,
                        words: detail.words.clone(),
                    });
                    // liburing has the descriptor in memory.
                    let descriptor = RingLook::descriptor(&detail.words).map_or(NONE, u64::from);
                    arguments[0] = if is_by_number { arguments[0] } else { descriptor };
                }
                Some(IoCallSpan {
                    thread,
                    seq: opened.seq,
                    outer_seq: outer.seq,
                    start: opened.start,
                    end: opened.start,
                    what: call as u64,
                    arguments,
                    word: detail.words.first().copied().unwrap_or(NONE),
                    result: None,
                })
            }
            _ => None,
        };
        match role {
            _ if io.is_some() => drop(self.with_registers.insert(opened.function)),
            Role::Sync(SyncCall::Input(what) | SyncCall::Descriptor(what))
                if what == IoCall::Ring || self.with_registers.contains(&opened.function) =>
            {
                self.io.lose(what, opened.start);
            }
            _ => {}
        }
        if let Some((sent, detail)) = io.as_ref().filter(|it| it.what() == IoCall::SendTo).zip(detail) {
            self.io.note_address(sent, &detail.words);
        }
        if let Some(exit) = io.filter(|it| it.what() == IoCall::Exit) {
            // It does not come back.
            self.io.keep(exit, None);
        }
        self.open.push(Open {
            in_seq: opened.seq,
            io,
            outer,
            role,
            start: opened.start,
            seq: opened.seq,
            call,
            mutex: argument(1),
            object: NONE,
        });
    }

    pub(crate) fn close(&mut self, closed: &Closed, mut detail: impl FnMut() -> Option<EventDetail>) {
        self.yields.close(closed);
        self.onces.close(closed);
        self.spins.close(closed);
        while let Some(open) = self.open.pop_if(|open| open.in_seq == closed.seq) {
            let end = closed.end();
            let is_input = matches!(open.role, Role::Sync(SyncCall::Input(_)));
            let is_short = is_input && closed.duration < SHORT_INPUT;
            if let Some(io) = open.io.filter(|it| it.what() != IoCall::Exit) {
                let back = detail();
                let result = back.as_ref().map(|detail| detail.registers[0]);
                // Two descriptors are left where an argument points; what others leave is why they have failed.
                let is_pair = matches!(io.what(), IoCall::Pipe | IoCall::SocketPair);
                let left = back.as_ref().filter(|_| is_pair).and_then(|detail| detail.words.first().copied());
                let word = left.unwrap_or(io.word);
                if let Some(back) = back.as_ref().filter(|_| io.what() == IoCall::Ring) {
                    let (thread, seq, words) = (io.thread, io.seq, back.words.clone());
                    self.io.look(RingLook { thread, seq, time: end, is_return: true, words });
                }
                self.io.keep(IoCallSpan { end, result, word, ..io }, back.as_ref());
            }
            if is_short && open.call.is_some() && open.call == self.calls.len().checked_sub(1) {
                self.calls.pop();
            } else if let Some(call) = open.call.and_then(|at| self.calls.get_mut(at)) {
                (call.end, call.outcome, call.has_closed) = (end, closed.outcome, true);
                call.result = detail().map(|detail| detail.registers[0]);
            }
            if closed.outcome.reason == Reason::TailCall {
                self.jumped = Some((open, closed.depth));
            } else if self.has_contention && self.open.is_empty() {
                let has_returned = closed.outcome.status == Status::Completed && !closed.outcome.is_uncertain;
                self.note_steps(&open, end, has_returned);
            }
        }
    }

    /// Notes what a call of the program did to locks.
    fn note_steps(&mut self, open: &Open, end: TraceNanos, has_returned: bool) {
        let Some((_, steps)) = self.steps.last_mut().filter(|(_, steps)| steps.len() < MOST_STEPS) else { return };
        let (seq, start) = (open.seq, open.start);
        // A contended path shows it, or the call itself.
        let object = if open.object == NONE { open.outer.object } else { open.object };
        let is_shared = open.role == Role::Sync(SyncCall::ReadLock);
        let step = |what, is_read_write| LockStep { seq, start, end, what, is_read_write, is_shared, object };
        match open.role {
            Role::Sync(SyncCall::Lock) if has_returned => steps.push(step(Step::Taken, false)),
            Role::Sync(SyncCall::TimedLock | SyncCall::TryLock) if has_returned => {
                steps.push(step(Step::Tried, false));
            }
            Role::Sync(SyncCall::Unlock) => steps.push(step(Step::LetGo, false)),
            Role::Sync(SyncCall::ConditionWait | SyncCall::TimedConditionWait) => {
                let object = open.mutex;
                steps.push(LockStep { object, end: start, ..step(Step::LetGo, false) });
                if has_returned {
                    steps.push(LockStep { object, ..step(Step::Taken, false) });
                }
            }
            Role::Sync(SyncCall::ReadLock | SyncCall::WriteLock) if has_returned => {
                steps.push(LockStep { object: NONE, ..step(Step::Taken, true) });
            }
            Role::Sync(SyncCall::TryReadWriteLock) if has_returned => {
                steps.push(LockStep { object: NONE, ..step(Step::Tried, true) });
            }
            // It says which lock it is about where somebody waits for that.
            Role::Sync(SyncCall::ReadWriteUnlock) => {
                steps.push(LockStep { object: open.outer.object, ..step(Step::LetGo, true) });
            }
            _ => {}
        }
    }
}
