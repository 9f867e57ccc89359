//! Sees what the replay of a thread finds, and keeps what the correlators will need: calls of thread functions with
//! their registers, and function addresses that are handed around.

use ada_event::FunctionId;

use crate::callback::{CallbackObserved, CallbackTracker, CodeAddresses};
use crate::code_map::CodeMap;
use crate::concurrency::{LogicalCalls, Loss};
use crate::detail::{DetailSource, EventDetail};
use crate::function_traits::FunctionTraits;
use crate::outcome::Reason;
use crate::pthread::{ThreadCall, ThreadMark};
use crate::replay::{Closed, Opened};
use crate::role::Role;
use crate::thread_index::ThreadIndex;
use crate::wait::SyncCalls;

/// What the observer of a worker has seen on all its threads.
#[derive(Default)]
pub(crate) struct Observed {
    pub(crate) thread_calls: Vec<ThreadCall>,
    pub(crate) starts: Vec<ThreadMark>,
    /// What threads do last, once they have ended.
    pub(crate) teardowns: Vec<ThreadMark>,
    pub(crate) callbacks: CallbackObserved,
    pub(crate) logical: LogicalCalls,
    pub(crate) sync: SyncCalls,
    /// Where events of the threads are missing.
    pub(crate) losses: Vec<Loss>,
}

/// A worker's observer.
pub(crate) struct Observer<'a> {
    traits: &'a FunctionTraits,
    code: &'a CodeMap,
    detail: Option<Box<dyn DetailSource + 'a>>,
    thread_calls: Vec<ThreadCall>,
    /// Places in `thread_calls` of those that have not returned, oldest first.
    open_calls: Vec<usize>,
    /// One that has just ended by jumping to the next call, and its depth.
    jumped: Option<(usize, u32)>,
    starts: Vec<ThreadMark>,
    teardowns: Vec<ThreadMark>,
    /// Calls that report tasks and blocks.
    logical: LogicalCalls,
    /// Calls by which threads wait for each other.
    sync: SyncCalls,
    pub(crate) losses: Vec<Loss>,
    callbacks: Option<CallbackTracker<'a>>,
    /// Which calls of the current thread are looked at for callbacks.
    follows: Follows,
    /// By number: whether some call was handed the function's address.
    handed_over: Vec<bool>,
}

/// Which calls are looked at for callbacks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follows {
    /// None.
    Nothing,
    /// Those with registers, and those of functions whose addresses were handed over.
    Some,
    /// All.
    All,
}

impl<'a> Observer<'a> {
    /// `addresses` if callbacks are to be looked for.
    pub(crate) fn new(
        traits: &'a FunctionTraits,
        code: &'a CodeMap,
        addresses: Option<&'a CodeAddresses>,
        has_contention: bool,
    ) -> Self {
        let callbacks = addresses.map(CallbackTracker::new);
        Self {
            traits,
            code,
            detail: None,
            thread_calls: Vec::new(),
            open_calls: Vec::new(),
            jumped: None,
            starts: Vec::new(),
            teardowns: Vec::new(),
            logical: LogicalCalls::default(),
            sync: SyncCalls::new(has_contention),
            losses: Vec::new(),
            callbacks,
            follows: Follows::Nothing,
            handed_over: Vec::new(),
        }
    }

    pub(crate) fn begin_thread(
        &mut self,
        thread: ThreadIndex,
        detail: Option<Box<dyn DetailSource + 'a>>,
        follows: Follows,
    ) {
        self.detail = detail;
        self.follows = if self.callbacks.is_some() { follows } else { Follows::Nothing };
        self.open_calls.clear();
        if let Some(callbacks) = &mut self.callbacks {
            callbacks.begin_thread();
        }
        self.logical.begin_thread();
        self.sync.begin_thread(thread);
        self.jumped = None;
    }

    /// The thread goes on with a stack.
    pub(crate) fn change_stack(&mut self, stack: u64) {
        if let Some(callbacks) = &mut self.callbacks {
            callbacks.change_stack(stack);
        }
    }

    #[inline]
    pub(crate) fn wants(&self, opened: &Opened) -> bool {
        // Most are plain, and that is one comparison.
        opened.role != Role::Plain && self.wants_role(opened.role)
            || self.jumped.is_some()
            || self.logical.wants_next()
            || self.sync.wants_next()
            || self.callbacks.as_ref().is_some_and(CallbackTracker::wants_next)
            || self.follows != Follows::Nothing && self.follows_call(opened)
    }

    fn wants_role(&self, role: Role) -> bool {
        role.is_thread_call()
            || role.is_concurrency()
            || matches!(
                role,
                Role::ThreadStart | Role::ThreadTeardown | Role::Sync(_) | Role::Once(_) | Role::Spin(_) | Role::Exec
            )
    }

    #[inline]
    fn follows_call(&self, opened: &Opened) -> bool {
        self.follows == Follows::All
            || opened.detail.get().is_some()
            || self.handed_over.get(opened.function.as_usize()).is_some_and(|it| *it)
    }

    /// Takes note of a function, whose number is the next one.
    pub(crate) fn learn(&mut self, function: FunctionId) {
        self.handed_over.push(self.callbacks.as_ref().is_some_and(|callbacks| callbacks.is_handed_over(function)));
    }

    #[inline]
    pub(crate) fn has_open(&self) -> bool {
        !self.open_calls.is_empty()
            || self.logical.has_open()
            || self.sync.has_open()
            || self.callbacks.as_ref().is_some_and(CallbackTracker::has_open)
    }

    pub(crate) fn open(
        &mut self,
        thread: ThreadIndex,
        opened: &Opened,
        function: FunctionId,
        caller: Option<FunctionId>,
    ) {
        let detail = self.detail.as_mut().and_then(|source| source.detail(opened.detail));
        // `pthread_join` jumps to a function that often has no name, and ends when that does.
        let continued = self.jumped.take().filter(|&(_, depth)| depth == opened.depth && opened.is_frame);
        if let Some((index, _)) = continued {
            self.open_calls.push(index);
            self.thread_calls[index].open_seq = opened.seq;
        } else if opened.role.is_thread_call() {
            self.open_calls.push(self.thread_calls.len());
            self.thread_calls.push(ThreadCall::begun(thread, opened, detail.as_ref()));
        }
        self.sync.open(thread, opened, detail.as_ref(), self.traits.get(function).address);
        if self.logical.wants_next() {
            let known = self.traits.get(function);
            self.logical.next(opened, function, !known.is_runtime && known.role == Role::Plain);
        }
        if opened.role.is_concurrency() {
            self.logical.open(thread, opened, function, detail.as_ref(), self.code);
        }
        let mark = ThreadMark { thread, seq: opened.seq, time: opened.start };
        if opened.role == Role::ThreadStart {
            self.starts.push(mark);
        } else if opened.role == Role::ThreadTeardown
            && caller.is_none_or(|caller| self.traits.get(caller).role == Role::ThreadStart)
        {
            self.teardowns.push(mark);
        }
        let is_followed = self.callbacks.as_ref().is_some_and(CallbackTracker::wants_next) || self.follows_call(opened);
        if self.follows != Follows::Nothing
            && is_followed
            && let Some(callbacks) = &mut self.callbacks
        {
            callbacks.open(thread, opened, function, caller, detail.as_ref());
        }
    }

    pub(crate) fn close(&mut self, thread: ThreadIndex, closed: &Closed) {
        if let Some(&index) = self.open_calls.last()
            && let Some(call) = self.thread_calls.get_mut(index)
            && call.open_seq == closed.seq
        {
            self.open_calls.pop();
            if closed.outcome.reason == Reason::TailCall {
                self.jumped = Some((index, closed.depth));
            }
            call.ended(closed, self.detail.as_mut().and_then(|source| given_back(source, closed)).as_ref());
        }
        let source = &mut self.detail;
        self.sync.close(closed, || given_back(source.as_mut()?, closed));
        self.logical.close(closed, || given_back(source.as_mut()?, closed));
        if let Some(callbacks) = &mut self.callbacks {
            callbacks.close(thread, closed);
        }
    }

    pub(crate) fn finish(self) -> Observed {
        let callbacks = self.callbacks.map(CallbackTracker::finish).unwrap_or_default();
        Observed {
            thread_calls: self.thread_calls,
            starts: self.starts,
            teardowns: self.teardowns,
            callbacks,
            logical: self.logical,
            sync: self.sync,
            losses: self.losses,
        }
    }
}

/// What was recorded at a call's end. An end that may be that of another call tells nothing of this one.
fn given_back<'a>(source: &mut Box<dyn DetailSource + 'a>, closed: &Closed) -> Option<EventDetail> {
    closed.outcome.own_end(Some(closed.detail)).and_then(|detail| source.detail(detail))
}
