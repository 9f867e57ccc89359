//! Follows the addresses of functions through the calls of one thread.

use ada_event::FunctionId;

use super::{CERTAIN, CallbackSpan, CodeAddresses};
use crate::detail::EventDetail;
use crate::replay::{Closed, Opened};
use crate::traits::Role;

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
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registration {
    pub(crate) callback: FunctionId,
    pub(crate) thread: u32,
    pub(crate) seq: u64,
    pub(crate) time: u64,
    /// What was called.
    pub(crate) function: FunctionId,
    pub(crate) is_signal: bool,
    pub(crate) arguments: [u64; 6],
}

/// A call of a function that somebody was handed the address of, and that no open call explains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) span: CallbackSpan,
    pub(crate) caller: Option<FunctionId>,
    pub(crate) arguments: Option<[u64; 6]>,
}

/// A call that is open.
struct OpenCall {
    seq: u64,
    depth: u32,
    function: FunctionId,
    time: u64,
    role: Role,
    arguments: [u64; 6],
    /// The functions whose addresses it was handed.
    held: Vec<FunctionId>,
    /// Whether one of them has run under it.
    has_run: bool,
    execution: Execution,
}

/// Whether an open call is the run of a callback.
#[derive(Clone, Copy)]
enum Execution {
    No,
    /// Of the call with this opening event.
    Certain(CallbackSpan),
    Deferred(Entry),
}

pub(crate) struct CallbackTracker<'a> {
    addresses: &'a CodeAddresses,
    stack: Vec<OpenCall>,
    /// How many open calls hold something.
    holders: usize,
    /// How many open calls make threads: what they hand around is not a callback but a thread's start.
    creating: usize,
    found: CallbackObserved,
}

impl<'a> CallbackTracker<'a> {
    pub(crate) fn new(addresses: &'a CodeAddresses) -> Self {
        Self { addresses, stack: Vec::new(), holders: 0, creating: 0, found: CallbackObserved::default() }
    }

    pub(crate) fn open(&mut self, thread: u32, opened: &Opened, function: FunctionId, detail: Option<&EventDetail>) {
        let execution = match self.addresses.is_handed_over(function) {
            true => self.execution(thread, opened, function, detail),
            false => Execution::No,
        };
        if !opened.is_frame {
            // It has no end: what it was handed can only run later.
            let held = self.held(opened, detail);
            let arguments = detail.map_or([0; 6], |detail| detail.registers);
            self.register(thread, opened.seq, opened.start, function, opened.role, arguments, &held);
            return;
        }
        let held = self.held(opened, detail);
        self.holders += usize::from(!held.is_empty());
        self.creating += usize::from(opened.role == Role::ThreadCreate);
        self.stack.push(OpenCall {
            seq: opened.seq,
            depth: opened.depth,
            function,
            time: opened.start,
            role: opened.role,
            arguments: detail.map_or([0; 6], |detail| detail.registers),
            held,
            has_run: false,
            execution,
        });
    }

    fn held(&self, opened: &Opened, detail: Option<&EventDetail>) -> Vec<FunctionId> {
        let Some(detail) = detail.filter(|_| self.creating == 0 && opened.role != Role::ThreadCreate) else {
            return Vec::new();
        };
        let numbers = detail.registers.iter().chain(&detail.words);
        let mut held: Vec<FunctionId> = numbers.filter_map(|&number| self.addresses.function(number)).collect();
        held.sort_unstable();
        held.dedup();
        held
    }

    fn execution(
        &mut self,
        thread: u32,
        opened: &Opened,
        function: FunctionId,
        detail: Option<&EventDetail>,
    ) -> Execution {
        let is_holder = |call: &OpenCall| call.held.contains(&function);
        let span = CallbackSpan {
            thread: thread.into(),
            seq: opened.seq,
            start: opened.start,
            function: function.0,
            ..CallbackSpan::default()
        };
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
            let initiator = &self.stack[holder];
            return Execution::Certain(CallbackSpan {
                initiator_thread: thread.into(),
                initiator_seq: initiator.seq,
                initiator_time: initiator.time,
                initiator_function: initiator.function.0,
                confidence: CERTAIN,
                ..span
            });
        }
        if self.stack.iter().rev().take(64).any(|call| call.function == function) {
            return Execution::No;
        }
        let caller = self.stack.last().map(|call| call.function);
        Execution::Deferred(Entry { span, caller, arguments: detail.map(|detail| detail.registers) })
    }

    #[expect(clippy::too_many_arguments, reason = "one registration, from two kinds of calls")]
    fn register(
        &mut self,
        thread: u32,
        seq: u64,
        time: u64,
        function: FunctionId,
        role: Role,
        arguments: [u64; 6],
        held: &[FunctionId],
    ) {
        for &callback in held {
            if self.found.registrations.len() >= MOST_DEFERRED {
                self.found.left_out += 1;
                continue;
            }
            let is_signal = role == Role::SignalHandler;
            self.found.registrations.push(Registration { callback, thread, seq, time, function, is_signal, arguments });
        }
    }

    pub(crate) fn close(&mut self, thread: u32, closed: &Closed) {
        let Some(call) = self.stack.pop_if(|call| call.seq == closed.seq) else { return };
        self.holders -= usize::from(!call.held.is_empty());
        self.creating -= usize::from(call.role == Role::ThreadCreate);
        if !call.has_run {
            // One that passed the address on need not be told of twice: the outermost call registers.
            let is_passed_on = self.stack.last().is_some_and(|outer| {
                call.held.iter().all(|function| outer.held.contains(function)) && !call.held.is_empty()
            });
            if !is_passed_on {
                self.register(thread, call.seq, call.time, call.function, call.role, call.arguments, &call.held);
            }
        }
        let ended = |span: CallbackSpan| CallbackSpan {
            end: closed.start.saturating_add(closed.duration),
            outcome: closed.outcome.to_byte().into(),
            close_seq: closed.close_seq.unwrap_or(crate::NONE),
            ..span
        };
        match call.execution {
            Execution::No => (),
            Execution::Certain(span) if self.found.spans.len() < MOST_SPANS => self.found.spans.push(ended(span)),
            Execution::Deferred(entry) if self.found.entries.len() < MOST_DEFERRED => {
                self.found.entries.push(Entry { span: ended(entry.span), ..entry });
            }
            _ => self.found.left_out += 1,
        }
    }

    pub(crate) fn finish(self) -> CallbackObserved {
        self.found
    }
}
