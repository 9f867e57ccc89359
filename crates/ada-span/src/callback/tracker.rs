//! Follows the addresses of functions through the calls of one thread.

use std::collections::HashMap;

use ada_event::{EventSeq, FunctionId, ModuleId, RuntimeAddr, TraceNanos};

use super::execution::{Entry, Execution, Initiator};
use super::open_calls::{Held, Holder, OpenCall, OpenCalls};
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

pub(crate) struct CallbackTracker<'a> {
    addresses: &'a CodeAddresses,
    /// The stack that the thread is on, …
    calls: OpenCalls,
    /// … its number, …
    stack: u64,
    /// … and those that it has left.
    left: HashMap<u64, OpenCalls>,
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
            calls: OpenCalls::default(),
            stack: 0,
            left: HashMap::new(),
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

    /// Another thread's events follow, or those of another stack.
    pub(crate) fn begin_thread(&mut self) {
        (self.calls, self.stack) = (OpenCalls::default(), 0);
        self.left.clear();
    }

    /// The thread goes on with a stack.
    pub(crate) fn change_stack(&mut self, stack: u64) {
        let before = std::mem::replace(&mut self.stack, stack);
        let calls = self.left.remove(&stack).unwrap_or_default();
        let left = std::mem::replace(&mut self.calls, calls);
        if !left.is_empty() {
            self.left.insert(before, left);
        }
    }

    /// Whether one of the calls it follows is open.
    pub(crate) fn has_open(&self) -> bool {
        !self.calls.is_empty()
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
        let (seq, depth, role) = (opened.seq, opened.depth, opened.role);
        let ran = Vec::new();
        let call = OpenCall { seq, depth, function, role, initiator, through, held, ran, execution };
        self.calls.push(call, self.addresses.is_handed_over(function));
    }

    /// The call that has jumped to the one at `depth` with an address of `held`, if that is how this one began.
    fn jumped_from(&mut self, thread: ThreadIndex, depth: u32, held: &[Held]) -> Option<(Initiator, Vec<ModuleId>)> {
        let replaced = self.replaced.take()?;
        if replaced.depth == depth && held.iter().any(|held| replaced.holds(held.function)) {
            return Some((replaced.initiator, replaced.through));
        }
        self.register_unless_run(thread, &replaced);
        None
    }

    fn held(&self, opened: &Opened, own: FunctionId, detail: Option<&EventDetail>) -> Vec<Held> {
        let is_starting = self.calls.last().is_some_and(|call| call.role == Role::ProgramStart);
        let hands_over = !self.calls.is_creating_thread() && !is_starting && !opened.role.hands_nothing_over();
        let Some(detail) = detail.filter(|_| hands_over) else {
            return Vec::new();
        };
        let mut held: Vec<Held> = Vec::new();
        for (position, &number) in detail.registers.iter().chain(&detail.words).enumerate() {
            if !opened.role.may_hand_over(position) {
                continue;
            }
            // A function's own address is what remains in a register of an indirect call.
            if let Some(function) = self.addresses.function(RuntimeAddr(number)).filter(|&function| function != own)
                && !held.iter().any(|known| known.function == function)
            {
                held.push(Held { function, position });
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
        let span = CallbackSpan { thread, seq: opened.seq, start: opened.start, function, ..CallbackSpan::default() };
        // What was handed the address has jumped to it.
        let jumped_here = |call: &&mut OpenCall| is_jump && call.depth == opened.depth && call.holds(function);
        if let Some(call) = self.replaced.as_mut().filter(jumped_here) {
            call.note_run(function);
            let (initiator, depth) = (call.initiator, call.depth);
            let handed_on = self
                .calls
                .holder(function)
                .filter(|holder| holder.at + 1 == self.calls.len() && self.calls.at(holder.at).depth + 1 == depth);
            let Some(holder) = handed_on else { return Execution::Certain(initiated_by(&initiator, thread, span)) };
            return self.run_of(holder, function, thread, span);
        }
        if let Some(holder) = self.calls.holder(function) {
            // Where the function is open above the holder already, it calls itself.
            if self.calls.is_open_from(function, holder.at + 1) {
                return Execution::No;
            }
            return self.run_of(holder, function, thread, span);
        }
        // A thread's start routine is not a callback, and a function within itself is recursion.
        let is_routine = self.calls.last().is_some_and(|call| call.role == Role::ThreadStart);
        if is_routine
            || opened.role == Role::ThreadStart
            || self.calls.is_open_from(function, self.calls.len().saturating_sub(64))
        {
            return Execution::No;
        }
        Execution::Deferred(Entry { span, caller, arguments: detail.map(|detail| detail.registers) })
    }

    /// A function runs under a call that was handed its address. A call that only passes the address on is not the one that the
    /// program made.
    fn run_of(&mut self, holder: Holder, function: FunctionId, thread: ThreadIndex, span: CallbackSpan) -> Execution {
        self.calls.at_mut(holder.at).note_run(function);
        Execution::Certain(initiated_by(&self.calls.at(holder.outermost).initiator, thread, span))
    }

    fn register(&mut self, thread: ThreadIndex, initiator: &Initiator, through: &[ModuleId], held: &[Held]) {
        let &Initiator { seq, time, function, role, arguments } = initiator;
        for &Held { function: callback, position } in held {
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
        if !call.ran.is_empty() {
            return;
        }
        // What was only passed on is registered once, by the outermost call.
        let mut own = call.held.clone();
        if let Some(outer) = self.calls.last_mut() {
            own.retain(|held| !outer.holds(held.function));
            if own.len() < call.held.len() {
                outer.through.extend(&call.through);
            }
        }
        self.register(thread, &call.initiator, &call.through, &own);
    }

    pub(crate) fn close(&mut self, thread: ThreadIndex, closed: &Closed) {
        let Some(call) = self.calls.pop(closed.seq) else { return };
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
