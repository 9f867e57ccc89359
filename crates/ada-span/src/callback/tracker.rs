//! Follows the addresses of functions through the calls of one thread.

use ada_event::{EventSeq, FunctionId, ModuleId, RuntimeAddr, TraceNanos};

use super::{CERTAIN, CallbackSpan, CodeAddresses};
use crate::detail::EventDetail;
use crate::outcome::Reason;
use crate::replay::{Closed, Opened};
use crate::role::Role;
use crate::thread_index::ThreadIndex;

/// Spans that a worker keeps.
const MOST_SPANS: usize = 2_000_000;
/// Registrations and entries that a worker keeps for later matching.
const MOST_DEFERRED: usize = 500_000;

/// What a worker has found.
#[derive(Default)]
pub(crate) struct CallbackObserved {
    pub(crate) spans: Vec<CallbackSpan>,
    pub(crate) registrations: Vec<Registration>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) left_out: u64,
}

/// A call that was handed an address, and under which the function did not run.
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    pub(crate) callback: FunctionId,
    pub(crate) thread: ThreadIndex,
    pub(crate) seq: EventSeq,
    pub(crate) time: TraceNanos,
    /// What was called.
    pub(crate) function: FunctionId,
    /// The modules of all calls that the address went through on its way.
    pub(crate) through: Vec<ModuleId>,
    pub(crate) is_signal: bool,
    pub(crate) arguments: [u64; 6],
    /// Which argument the address was. Registers after a call's last argument hold older values.
    pub(crate) position: usize,
}

/// A call of a function whose address was handed over, and that no open call explains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) span: CallbackSpan,
    pub(crate) caller: Option<FunctionId>,
    pub(crate) arguments: Option<[u64; 6]>,
}

/// Who was handed addresses.
#[derive(Clone, Copy)]
struct Initiator {
    seq: EventSeq,
    time: TraceNanos,
    function: FunctionId,
    role: Role,
    arguments: [u64; 6],
}

/// A call that is open.
struct OpenCall {
    seq: EventSeq,
    depth: u32,
    function: FunctionId,
    role: Role,
    /// The call itself, or the one that jumped to it with what it was handed: `qsort` to `qsort_r`.
    initiator: Initiator,
    /// The modules of all calls that what it holds went through.
    through: Vec<ModuleId>,
    /// The functions whose addresses it was handed, and as which argument.
    held: Vec<(FunctionId, usize)>,
    /// Whether one of them has run under it.
    has_run: bool,
    execution: Execution,
}

impl OpenCall {
    fn holds(&self, function: FunctionId) -> bool {
        self.held.iter().any(|(held, _)| *held == function)
    }

    /// Whether what it jumps to is a part of it: `pthread_once` has another one for what was not done yet.
    fn goes_on(&self) -> bool {
        matches!(self.role, Role::Once(_))
    }
}

/// Whether an open call is the run of a callback.
#[derive(Clone, Copy)]
enum Execution {
    No,
    Certain(CallbackSpan),
    Deferred(Entry),
}

impl Execution {
    /// With the end of its call.
    fn ended(self, closed: &Closed) -> Self {
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

pub(crate) struct CallbackTracker<'a> {
    addresses: &'a CodeAddresses,
    stack: Vec<OpenCall>,
    /// How many open calls hold something.
    holders: usize,
    /// How many open calls make threads: what they hand around is not a callback but a thread's start.
    creating: usize,
    /// A call that held something, and has just ended by jumping to the next one.
    replaced: Option<OpenCall>,
    /// The event that said so, if one did: the next call is the one that was jumped to.
    jump: Option<EventSeq>,
    /// A callback that has ended so, and goes on in what it has jumped to.
    jumping: Option<(Execution, u32)>,
    found: CallbackObserved,
}

impl<'a> CallbackTracker<'a> {
    pub(crate) fn new(addresses: &'a CodeAddresses) -> Self {
        Self {
            addresses,
            stack: Vec::new(),
            holders: 0,
            creating: 0,
            replaced: None,
            jump: None,
            jumping: None,
            found: CallbackObserved::default(),
        }
    }

    /// Whether some call was handed the function's address.
    pub(crate) fn is_handed_over(&self, function: FunctionId) -> bool {
        self.addresses.is_handed_over(function)
    }

    /// Whether one of the calls it follows is open.
    pub(crate) fn has_open(&self) -> bool {
        !self.stack.is_empty()
    }

    /// Whether it follows the next call, whatever that is.
    pub(crate) fn wants_next(&self) -> bool {
        self.jumping.is_some() || self.replaced.as_ref().is_some_and(OpenCall::goes_on)
    }

    /// A call. Calls without detail, of functions whose address was not handed over, may be left out.
    pub(crate) fn open(
        &mut self,
        thread: ThreadIndex,
        opened: &Opened,
        function: FunctionId,
        caller: Option<FunctionId>,
        detail: Option<&EventDetail>,
    ) {
        let is_jump = self.jump.take().is_none_or(|jump| jump + 1 == opened.seq);
        if !is_jump {
            self.end_jump();
        }
        let jumping = self.jumping.take_if(|(_, depth)| *depth == opened.depth && opened.is_frame);
        self.end_jump();
        let is_callback = self.addresses.is_handed_over(function)
            && !matches!(opened.role, Role::Main | Role::ClosureManager)
            && jumping.is_none();
        let execution = match (jumping, is_callback) {
            (Some((execution, _)), _) => execution,
            (None, true) => self.execution(thread, opened, function, caller, detail, is_jump),
            (None, false) => Execution::No,
        };
        let handed_on = self
            .replaced
            .as_ref()
            .filter(|it| it.goes_on() && is_jump && opened.is_frame && it.depth == opened.depth && detail.is_none());
        let held = handed_on.map_or_else(|| self.held(opened, function, detail), |it| it.held.clone());
        let own = Initiator {
            seq: opened.seq,
            time: opened.start,
            function,
            role: opened.role,
            arguments: detail.map_or([0; 6], |detail| detail.registers),
        };
        let (initiator, mut through) =
            self.jumped_from(thread, opened.depth, &held).unwrap_or_else(|| (own, Vec::new()));
        if !held.is_empty() {
            through.push(function.module());
        }
        if !opened.is_frame {
            // It has no end: what it was handed can only run later.
            self.register(thread, &initiator, &through, &held);
            return;
        }
        self.holders += usize::from(!held.is_empty());
        self.creating += usize::from(opened.role == Role::ThreadCreate);
        self.stack.push(OpenCall {
            seq: opened.seq,
            depth: opened.depth,
            function,
            role: opened.role,
            initiator,
            through,
            held,
            has_run: false,
            execution,
        });
    }

    /// The call that has jumped to the one at `depth` with an address of `held`, if that is how this one began.
    fn jumped_from(
        &mut self,
        thread: ThreadIndex,
        depth: u32,
        held: &[(FunctionId, usize)],
    ) -> Option<(Initiator, Vec<ModuleId>)> {
        let replaced = self.replaced.take()?;
        if replaced.depth == depth && held.iter().any(|(function, _)| replaced.holds(*function)) {
            return Some((replaced.initiator, replaced.through));
        }
        self.register_unless_run(thread, &replaced);
        None
    }

    fn held(&self, opened: &Opened, own: FunctionId, detail: Option<&EventDetail>) -> Vec<(FunctionId, usize)> {
        let is_starting = self.stack.last().is_some_and(|call| call.role == Role::ProgramStart);
        let hands_over = self.creating == 0 && !is_starting && !opened.role.hands_nothing_over();
        let Some(detail) = detail.filter(|_| hands_over) else {
            return Vec::new();
        };
        let mut held: Vec<(FunctionId, usize)> = Vec::new();
        for (position, &number) in detail.registers.iter().chain(&detail.words).enumerate() {
            if !opened.role.may_hand_over(position) {
                continue;
            }
            // A function's own address is what remains in a register of an indirect call.
            if let Some(function) = self.addresses.function(RuntimeAddr(number)).filter(|&function| function != own)
                && !held.iter().any(|(known, _)| *known == function)
            {
                held.push((function, position));
            }
        }
        held
    }

    fn execution(
        &mut self,
        thread: ThreadIndex,
        opened: &Opened,
        function: FunctionId,
        caller: Option<FunctionId>,
        detail: Option<&EventDetail>,
        is_jump: bool,
    ) -> Execution {
        let is_holder = |call: &OpenCall| call.holds(function);
        let span = CallbackSpan { thread, seq: opened.seq, start: opened.start, function, ..CallbackSpan::default() };
        // What was handed the address has jumped to it.
        let jumped_here = |call: &&mut OpenCall| is_jump && call.depth == opened.depth && call.holds(function);
        if let Some(call) = self.replaced.as_mut().filter(jumped_here) {
            call.has_run = true;
            let (mut initiator, mut depth) = (call.initiator, call.depth);
            for outer in self.stack.iter_mut().rev() {
                if outer.depth + 1 != depth || !outer.holds(function) {
                    break;
                }
                outer.has_run = true;
                (initiator, depth) = (outer.initiator, outer.depth);
            }
            return Execution::Certain(initiated_by(&initiator, thread, span));
        }
        if self.holders > 0
            && let Some(mut holder) = self.stack.iter().rposition(is_holder)
        {
            // Where the function is open above the holder already, it calls itself.
            if self.stack[holder + 1..].iter().any(|call| call.function == function) {
                return Execution::No;
            }
            self.stack[holder].has_run = true;
            // A call that only passes the address on is not the one that the program made.
            while holder > 0
                && self.stack[holder - 1].depth + 1 == self.stack[holder].depth
                && is_holder(&self.stack[holder - 1])
            {
                holder -= 1;
                self.stack[holder].has_run = true;
            }
            return Execution::Certain(initiated_by(&self.stack[holder].initiator, thread, span));
        }
        // A thread's start routine is not a callback, and a function within itself is recursion.
        let is_routine = self.stack.last().is_some_and(|call| call.role == Role::ThreadStart);
        if is_routine
            || opened.role == Role::ThreadStart
            || self.stack.iter().rev().take(64).any(|call| call.function == function)
        {
            return Execution::No;
        }
        Execution::Deferred(Entry { span, caller, arguments: detail.map(|detail| detail.registers) })
    }

    fn register(
        &mut self,
        thread: ThreadIndex,
        initiator: &Initiator,
        through: &[ModuleId],
        held: &[(FunctionId, usize)],
    ) {
        let &Initiator { seq, time, function, role, arguments } = initiator;
        for &(callback, position) in held {
            if self.found.registrations.len() >= MOST_DEFERRED {
                self.found.left_out += 1;
                continue;
            }
            let (is_signal, through) = (role == Role::SignalHandler, through.to_vec());
            self.found.registrations.push(Registration {
                callback,
                thread,
                seq,
                time,
                function,
                through,
                is_signal,
                arguments,
                position,
            });
        }
    }

    fn register_unless_run(&mut self, thread: ThreadIndex, call: &OpenCall) {
        if call.has_run {
            return;
        }
        // What was only passed on is registered once, by the outermost call.
        let mut own = call.held.clone();
        if let Some(outer) = self.stack.last_mut() {
            own.retain(|(function, _)| !outer.holds(*function));
            if own.len() < call.held.len() {
                outer.through.extend(&call.through);
            }
        }
        self.register(thread, &call.initiator, &call.through, &own);
    }

    pub(crate) fn close(&mut self, thread: ThreadIndex, closed: &Closed) {
        let Some(call) = self.stack.pop_if(|call| call.seq == closed.seq) else { return };
        self.holders -= usize::from(!call.held.is_empty());
        self.creating -= usize::from(call.role == Role::ThreadCreate);
        self.end_jump();
        let execution = call.execution.ended(closed);
        let has_jumped = closed.outcome.reason == Reason::TailCall;
        if has_jumped {
            self.jump = closed.close_seq;
        }
        match execution {
            Execution::No => (),
            execution if has_jumped => self.jumping = Some((execution, call.depth)),
            execution => self.keep(execution),
        }
        if call.held.is_empty() {
            return;
        }
        if has_jumped {
            self.replaced = Some(call);
        } else {
            self.register_unless_run(thread, &call);
        }
    }

    /// What a callback has jumped to is not followed: it has ended where it did.
    fn end_jump(&mut self) {
        if let Some((execution, _)) = self.jumping.take() {
            self.keep(execution);
        }
    }

    fn keep(&mut self, execution: Execution) {
        match execution {
            Execution::No => (),
            Execution::Certain(span) if self.found.spans.len() < MOST_SPANS => self.found.spans.push(span),
            Execution::Deferred(entry) if self.found.entries.len() < MOST_DEFERRED => self.found.entries.push(entry),
            _ => self.found.left_out += 1,
        }
    }

    pub(crate) fn finish(mut self) -> CallbackObserved {
        self.end_jump();
        self.found
    }
}

fn initiated_by(initiator: &Initiator, thread: ThreadIndex, span: CallbackSpan) -> CallbackSpan {
    CallbackSpan {
        initiator_thread: thread,
        initiator_seq: initiator.seq,
        initiator_time: initiator.time,
        initiator_function: initiator.function,
        confidence: CERTAIN,
        ..span
    }
}
