//! The calls of one stack that are open, and which of them were handed which functions' addresses.
//!
//! Recursion may hand an address on at each of a hundred thousand levels, and call it at each. So nothing here looks at all that
//! are open.

use std::collections::HashMap;

use ada_event::{EventSeq, FunctionId, ModuleId};

use super::execution::{Execution, Initiator};
use crate::role::Role;

/// A function whose address a call was handed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) function: FunctionId,
    /// As which argument.
    pub(super) position: usize,
}

/// A call that is open.
pub(super) struct OpenCall {
    pub(super) seq: EventSeq,
    pub(super) depth: u32,
    pub(super) function: FunctionId,
    pub(super) role: Role,
    /// The call itself, or the one that jumped to it with what it was handed: `qsort` to `qsort_r`.
    pub(super) initiator: Initiator,
    /// The modules of all calls that what it holds went through.
    pub(super) through: Vec<ModuleId>,
    pub(super) held: Vec<Held>,
    /// Those of them that have run under it.
    pub(super) ran: Vec<FunctionId>,
    pub(super) execution: Execution,
}

impl OpenCall {
    pub(super) fn holds(&self, function: FunctionId) -> bool {
        self.held.iter().any(|held| held.function == function)
    }

    pub(super) fn note_run(&mut self, function: FunctionId) {
        if !self.ran.contains(&function) {
            self.ran.push(function);
        }
    }

    /// Whether what it jumps to is a part of it: `pthread_once` has another one for what was not done yet.
    pub(super) fn goes_on(&self) -> bool {
        matches!(self.role, Role::Once(_))
    }
}

/// A call that holds an address.
#[derive(Clone, Copy)]
pub(super) struct Holder {
    /// Its position among the open calls, …
    pub(super) at: usize,
    /// … and that of the outermost of those that have handed the address on to each other, down to it.
    pub(super) outermost: usize,
}

/// All that are open on a stack.
#[derive(Default)]
pub(super) struct OpenCalls {
    calls: Vec<OpenCall>,
    /// The holders of each address, outermost first.
    holders: HashMap<FunctionId, Vec<Holder>>,
    /// Where functions are open whose addresses are handed over.
    runs: HashMap<FunctionId, Vec<usize>>,
    /// How many of the calls make threads: what they hand around is not a callback but a thread's start.
    creating: usize,
}

impl OpenCalls {
    pub(super) fn push(&mut self, call: OpenCall, is_handed_over: bool) {
        let at = self.calls.len();
        for held in &call.held {
            let of = self.holders.entry(held.function).or_default();
            let from = of.last().filter(|outer| outer.at + 1 == at && self.calls[outer.at].depth + 1 == call.depth);
            let outermost = from.map_or(at, |outer| outer.outermost);
            of.push(Holder { at, outermost });
        }
        if is_handed_over {
            self.runs.entry(call.function).or_default().push(at);
        }
        self.creating += usize::from(call.role == Role::ThreadCreate);
        self.calls.push(call);
    }

    /// Takes the innermost call out if it is this one.
    pub(super) fn pop(&mut self, seq: EventSeq) -> Option<OpenCall> {
        let call = self.calls.pop_if(|call| call.seq == seq)?;
        let at = self.calls.len();
        for held in &call.held {
            pop_last(&mut self.holders, held.function, |holder| holder.at == at);
        }
        pop_last(&mut self.runs, call.function, |run| *run == at);
        self.creating -= usize::from(call.role == Role::ThreadCreate);
        // What only handed it on has had it run too.
        for function in &call.ran {
            if let Some(outer) = self.calls.last_mut().filter(|outer| outer.depth + 1 == call.depth)
                && outer.holds(*function)
            {
                outer.note_run(*function);
            }
        }
        Some(call)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(super) fn last(&self) -> Option<&OpenCall> {
        self.calls.last()
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut OpenCall> {
        self.calls.last_mut()
    }

    pub(super) fn at(&self, at: usize) -> &OpenCall {
        &self.calls[at]
    }

    pub(super) fn at_mut(&mut self, at: usize) -> &mut OpenCall {
        &mut self.calls[at]
    }

    pub(super) fn is_creating_thread(&self) -> bool {
        self.creating > 0
    }

    /// The innermost call that holds a function's address.
    pub(super) fn holder(&self, function: FunctionId) -> Option<Holder> {
        self.holders.get(&function)?.last().copied()
    }

    /// Whether a function is open at a position or further in.
    pub(super) fn is_open_from(&self, function: FunctionId, at: usize) -> bool {
        self.runs.get(&function).and_then(|runs| runs.last()).is_some_and(|run| *run >= at)
    }

    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }
}

fn pop_last<T>(of: &mut HashMap<FunctionId, Vec<T>>, function: FunctionId, is_it: impl FnOnce(&mut T) -> bool) {
    if let Some(list) = of.get_mut(&function) {
        list.pop_if(is_it);
    }
}
