//! A small machine that runs random programs and records what a tracer would, and what should be made of it.

use ada_event::{DetailSeq, Event, EventKind, EventSeq, FunctionId, ModuleId, RuntimeAddr, ThreadId, TraceNanos};
use ada_span::{FunctionTrait, FunctionTraits, Outcome, Reason, Role, Status};

/// Plain functions have the numbers below this.
pub(crate) const PLAIN: u32 = 8;
const ENTRY_ONLY: u32 = 8;
const THROW: u32 = 9;
const JUMP: u32 = 10;
const THREAD_EXIT: u32 = 11;
const FORCED_UNWIND: u32 = 12;
pub(crate) const THREAD_START: u32 = 13;

/// A step of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Call(u32),
    EntryOnly,
    TailCall(u32),
    /// The same with an event that says so.
    RecordedTailCall(u32),
    Return,
    /// An exception through so many frames.
    Throw(usize),
    /// A `longjmp` over so many frames.
    Jump(usize),
    /// Time passes.
    Wait(u64),
}

/// What should become of the call at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) open_seq: EventSeq,
    pub(crate) close_seq: Option<EventSeq>,
    pub(crate) outcome: Outcome,
    pub(crate) parent: Option<EventSeq>,
}

/// The machine.
#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) events: Vec<Event>,
    pub(crate) expected: Vec<Expected>,
    /// Functions that are open, with their opening events.
    stack: Vec<(u32, EventSeq)>,
    time: u64,
}

pub(crate) fn id(number: u32) -> FunctionId {
    FunctionId::new(ModuleId(1), number)
}

/// What the analysis knows of the machine's functions.
pub(crate) fn traits() -> FunctionTraits {
    let of = |number: u32| FunctionTrait {
        role: match number {
            THROW => Role::Throw,
            JUMP => Role::Jump,
            THREAD_EXIT => Role::ThreadExit,
            FORCED_UNWIND => Role::ForcedUnwind,
            THREAD_START => Role::ThreadStart,
            _ => Role::Plain,
        },
        is_skipped: false,
        is_entry_only: number == ENTRY_ONLY,
        is_unnamed: false,
        is_runtime: number == THREAD_START,
        is_library: false,
        address: Some(RuntimeAddr(0x1000 + 16 * u64::from(number))),
        ..FunctionTrait::default()
    };
    let mut traits = FunctionTraits::default();
    traits.add_module(ModuleId(1), (0..=THREAD_START).map(of).collect());
    traits
}

impl Machine {
    pub(crate) fn run(steps: &[Step]) -> Self {
        let mut machine = Self { time: 1000, ..Self::default() };
        steps.iter().for_each(|step| machine.step(*step));
        machine
    }

    fn emit(&mut self, kind: EventKind, function: u32, depth: usize) -> EventSeq {
        self.time += 10;
        self.events.push(Event {
            timestamp: TraceNanos(self.time),
            function: id(function),
            thread: ThreadId(1),
            kind,
            depth: depth as u32,
            detail: DetailSeq::NONE,
        });
        EventSeq(self.events.len() as u64 - 1)
    }

    fn expect(&mut self, open_seq: EventSeq, close_seq: Option<EventSeq>, status: Status, reason: Reason) {
        // Expectations are in the order of their opening events.
        let index = self.expected.binary_search_by_key(&open_seq, |it| it.open_seq).expect("it was called");
        let span = &mut self.expected[index];
        (span.close_seq, span.outcome) = (close_seq, Outcome::new(status, reason));
    }

    pub(crate) fn call(&mut self, function: u32) {
        let parent = self.stack.last().map(|(_, seq)| *seq);
        let open_seq = self.emit(EventKind::CALL, function, self.stack.len());
        let outcome = match function {
            ENTRY_ONLY => Outcome::new(Status::EntryOnly, Reason::None),
            _ => Outcome::new(Status::Open, Reason::None),
        };
        self.expected.push(Expected { open_seq, close_seq: None, outcome, parent });
        if function != ENTRY_ONLY {
            self.stack.push((function, open_seq));
        }
    }

    fn end(&mut self, kind: EventKind, status: Status, reason: Reason) {
        let Some((function, open_seq)) = self.stack.pop() else { return };
        let close_seq = self.emit(kind, function, self.stack.len());
        self.expect(open_seq, Some(close_seq), status, reason);
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Call(function) => self.call(function),
            Step::EntryOnly => self.call(ENTRY_ONLY),
            Step::Return => self.end(EventKind::RETURN, Status::Completed, Reason::None),
            Step::Wait(nanos) => self.time += nanos,
            Step::TailCall(function) => {
                let replaced = self.stack.pop();
                self.call(function);
                if let Some((_, open_seq)) = replaced {
                    self.expect(open_seq, None, Status::Unmatched, Reason::TailCall);
                }
            }
            Step::RecordedTailCall(function) => {
                self.end(EventKind::TAIL, Status::Completed, Reason::TailCall);
                self.call(function);
            }
            Step::Throw(frames) => self.unwind(THROW, frames, Status::Unmatched, Reason::Exception),
            Step::Jump(frames) => self.unwind(JUMP, frames, Status::Unmatched, Reason::Unwind),
        }
    }

    fn unwind(&mut self, by: u32, frames: usize, status: Status, reason: Reason) {
        self.call(by);
        for _ in 0..=frames {
            self.end(EventKind::EXCEPTION, status, reason);
        }
    }

    /// `pthread_exit`, or a cancellation, with everything open unwound but the library's first function.
    pub(crate) fn leave_thread(&mut self, is_canceled: bool) {
        if !is_canceled {
            self.call(THREAD_EXIT);
        }
        self.call(FORCED_UNWIND);
        let (status, reason) =
            if is_canceled { (Status::Canceled, Reason::Canceled) } else { (Status::Exited, Reason::Unwind) };
        while self.stack.len() > 1 {
            self.end(EventKind::EXCEPTION, status, reason);
        }
    }
}
