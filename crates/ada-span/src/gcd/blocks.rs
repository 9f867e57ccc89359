//! What became of each block, from the calls of libdispatch in the order of their times.
//!
//! The dequeue is not to be seen. What is: the submission with the block's address and function, the copy to the heap
//! that is made within it, and calls of the function. Whose run such a call is, is known by the first of these that
//! there is: the block's address, which is the call's argument, where registers were kept; a submission that waits for it
//! on the same thread; the release of the block that follows the call at once; the order of the submissions.

use std::collections::{HashMap, HashSet, VecDeque};

use ada_event::{EventSeq, FunctionId, RuntimeAddr, TraceNanos};

use super::queues::Queues;
use super::{BlockSpan, GroupEntry, GroupWait, QueueEntry};
use crate::NONE;
use crate::concurrency::{Context, Contexts, LogicalCall, Losses, Text, Words};
use crate::outcome::{Outcome, Reason, Status};
use crate::replay::ReplayOptions;
use crate::role::{GcdCall, How, Submit};
use crate::text_table::TextTable;
use crate::thread_index::ThreadIndex;

/// Instead of a block's first capture: libdispatch has wrapped another block into it.
const WRAPPER: u64 = 0xD159_B10C;

/// How sure a match is, in percent.
const CERTAIN: u64 = 100;
const BY_RELEASE: u64 = 90;
const THE_ONLY_ONE: u64 = 90;
const BY_ORDER: u64 = 30;

/// Work that was submitted and has not begun to run.
struct Waiting {
    span: BlockSpan,
    /// Addresses that its run may be called with.
    keys: [u64; 2],
    /// The functions that its run may begin with.
    functions: [Option<FunctionId>; 2],
    /// The span of the parallel loop that runs it.
    of_loop: Option<u32>,
    /// Whether it runs again and again.
    repeats: bool,
    /// The source that it handles the events of.
    source: u64,
    has_ended: bool,
    runs: u64,
}

impl Waiting {
    /// Whether a run of it may still come.
    fn waits(&self) -> bool {
        !self.has_ended && (self.runs == 0 || self.repeats)
    }
}

/// A call of the program into libdispatch that has not returned.
#[derive(Clone, Copy)]
struct OpenSubmit {
    close_seq: Option<EventSeq>,
    /// Its index in `waiting`.
    waiting: Option<u32>,
    /// The block as it was handed over.
    block: u64,
}

/// What is open on a thread, innermost last.
#[derive(Clone, Copy)]
enum Open {
    Submit(OpenSubmit),
    /// A run, by its index in the spans.
    Run(u32),
}

#[derive(Default)]
struct Thread {
    open: Vec<Open>,
    /// Calls up to this event are made by a function of Swift's runtime that submits jobs.
    swift_until: EventSeq,
}

/// All blocks of a process.
#[derive(Default)]
pub(crate) struct Blocks {
    waiting: Vec<Waiting>,
    by_key: HashMap<u64, VecDeque<u32>>,
    by_function: HashMap<FunctionId, VecDeque<u32>>,
    spans: Vec<BlockSpan>,
    /// Runs that are under way, by thread and event.
    running: HashMap<(ThreadIndex, EventSeq), u32>,
    /// The function of each block that was copied, and what it captured first, by its address.
    copied: HashMap<u64, (u64, u64)>,
    /// Blocks that were cancelled, by their addresses; they may be submitted later.
    canceled: HashSet<u64>,
    queues: Queues,
    group_waits: Vec<GroupWait>,
    threads: HashMap<ThreadIndex, Thread>,
}

/// The tables of blocks.
#[derive(Default)]
pub(crate) struct BlockTables {
    pub(crate) blocks: Vec<BlockSpan>,
    pub(crate) queues: Vec<QueueEntry>,
    pub(crate) groups: Vec<GroupEntry>,
    pub(crate) group_waits: Vec<GroupWait>,
}

/// What blocks need to know beside their calls.
pub(crate) struct Surroundings<'a> {
    /// Finds functions by their addresses.
    pub(crate) function_at: &'a dyn Fn(RuntimeAddr) -> Option<FunctionId>,
    /// Whether a function that is submitted is the one by which Swift's runtime runs jobs.
    pub(crate) is_job: &'a dyn Fn(FunctionId) -> bool,
    /// Whether a function is shared by closures, so that its blocks say which closure is meant.
    pub(crate) is_shared: &'a dyn Fn(FunctionId) -> bool,
    /// The block of the first release after an event of a thread, at a depth.
    pub(crate) released_after: &'a dyn Fn(ThreadIndex, EventSeq, u32) -> Option<u64>,
    pub(crate) labels: &'a [Text],
}

impl Surroundings<'_> {
    /// The function that a block calls first, and the one that it is about.
    fn functions_of(&self, invoke: u64, captured: u64) -> (Option<FunctionId>, Option<FunctionId>) {
        let invoked = (self.function_at)(RuntimeAddr(invoke));
        let closure =
            invoked.filter(|&it| (self.is_shared)(it)).and_then(|_| (self.function_at)(RuntimeAddr(captured)));
        let closure = closure.filter(|&it| !(self.is_shared)(it));
        (invoked, closure.or(invoked))
    }
}

impl Blocks {
    /// A call of Swift's runtime that puts a job into a queue begins.
    pub(crate) fn swift_enqueues(&mut self, call: &LogicalCall) {
        let until = call.close_seq.unwrap_or_default();
        self.threads.entry(call.thread).or_default().swift_until = until;
    }

    /// A call begins.
    pub(crate) fn begin(
        &mut self,
        call: &LogicalCall,
        gcd: GcdCall,
        contexts: &mut Contexts,
        around: &Surroundings<'_>,
    ) {
        let label = call.label.and_then(|label| around.labels.get(label as usize));
        let [first, second, third, fourth] = call.arguments;
        match gcd {
            GcdCall::Submit(submit) => self.submit(call, submit, label, contexts, around),
            GcdCall::GroupCreate => self.queues.group_created(RuntimeAddr(call.result), call.time),
            GcdCall::GroupEnter => {
                if let Some(group) = self.queues.group(RuntimeAddr(first)) {
                    self.queues.groups[group as usize].enters += 1;
                }
            }
            GcdCall::GroupLeave => {
                if let Some(group) = self.queues.group(RuntimeAddr(first)) {
                    self.queues.groups[group as usize].leaves += 1;
                }
            }
            GcdCall::GroupWait => {
                if let Some(group) = self.queues.group(RuntimeAddr(first)) {
                    let group = &mut self.queues.groups[group as usize];
                    group.waits += 1;
                    group.wait_ns += call.end.map_or(0, |end| end.since(call.time));
                    let (start, end) = (call.time, call.end.unwrap_or(TraceNanos::MAX));
                    self.group_waits.push(GroupWait { thread: call.thread, start, end, group: RuntimeAddr(first) });
                }
            }
            GcdCall::QueueCreate if !self.is_inside(call) => {
                self.queues.create(RuntimeAddr(call.result), label, second, RuntimeAddr(NONE), call.time)
            }
            GcdCall::QueueCreateOn => {
                self.queues.create(RuntimeAddr(call.result), label, second, RuntimeAddr(third), call.time)
            }
            GcdCall::AttributeQos => self.queues.attribute(call.result, second),
            GcdCall::SourceCreate => self.queues.source_created(call.result, RuntimeAddr(fourth), label),
            GcdCall::QueueCreate => (),
            GcdCall::SetTarget => self.queues.set_target(RuntimeAddr(first), RuntimeAddr(second)),
            GcdCall::BlockCopy => self.copy(call),
            GcdCall::BlockRelease => (),
            GcdCall::BlockWrap => drop(self.canceled.remove(&call.result)),
            GcdCall::BlockCancel => {
                self.canceled.insert(first);
                for &index in self.by_key.get(&first).into_iter().flatten() {
                    self.waiting[index as usize].span.is_canceled = 1;
                }
            }
            GcdCall::Invoke | GcdCall::InvokeShared => self.run(call, contexts, around),
        }
    }

    /// A call has ended.
    pub(crate) fn end(&mut self, call: &LogicalCall, gcd: GcdCall, contexts: &mut Contexts) {
        let Some(thread) = self.threads.get_mut(&call.thread) else { return };
        match gcd {
            GcdCall::Submit(_) => {
                let is_it = |open: &Open| matches!(open, Open::Submit(it) if it.close_seq == call.close_seq);
                let Some(index) = thread.open.iter().rposition(is_it) else { return };
                let Open::Submit(OpenSubmit { waiting: Some(waiting), .. }) = thread.open.remove(index) else { return };
                let waiting = &mut self.waiting[waiting as usize];
                if let Some(of_loop) = waiting.of_loop {
                    waiting.has_ended = true;
                    let span = &mut self.spans[of_loop as usize];
                    span.end = call.end.unwrap_or(call.time);
                    span.close_seq = call.close_seq;
                    span.outcome = call.outcome.to_byte().into();
                }
            }
            GcdCall::Invoke | GcdCall::InvokeShared => {
                let Some(run) = self.running.remove(&(call.thread, call.seq)) else { return };
                if let Some(index) = thread.open.iter().rposition(|open| matches!(open, Open::Run(it) if *it == run)) {
                    thread.open.remove(index);
                }
                contexts.leave(call.thread, Context::Block(run));
                let span = &mut self.spans[run as usize];
                span.end = call.end.unwrap_or(call.time);
                span.close_seq = call.close_seq;
                span.outcome = call.outcome.to_byte().into();
            }
            _ => (),
        }
    }

    /// Whether a call of the program into libdispatch is open, and no run within it: then this call is made by that one.
    fn is_inside(&self, call: &LogicalCall) -> bool {
        let open = self.threads.get(&call.thread).and_then(|thread| thread.open.last());
        matches!(open, Some(Open::Submit(it)) if it.close_seq.is_none_or(|close| call.seq < close))
    }

    fn submit(
        &mut self,
        call: &LogicalCall,
        submit: Submit,
        label: Option<&Text>,
        contexts: &mut Contexts,
        around: &Surroundings<'_>,
    ) {
        let [first, second, third, fourth] = call.arguments;
        let thread = self.threads.entry(call.thread).or_default();
        thread
            .open
            .retain(|open| !matches!(open, Open::Submit(it) if it.close_seq.is_some_and(|close| close < call.seq)));
        let (queue, block, function) = match submit.has_first {
            true => (second, third, fourth),
            false => (first, second, third),
        };
        let is_job =
            submit.is_function && (around.function_at)(RuntimeAddr(function)).is_some_and(|it| (around.is_job)(it));
        let is_swift = is_job || call.seq < thread.swift_until;
        if self.is_inside(call) {
            return;
        }
        let queue = match submit.how {
            How::Source => self.queues.of_source(first),
            _ => self.queues.find_or_add(RuntimeAddr(queue), label),
        };
        if submit.how == How::Source {
            self.end_handlers_of(first);
        }
        if is_swift {
            // A job, not a block: the task that it runs has a span of its own.
            if let Some(queue) = queue {
                self.queues.queues[queue as usize].swift_jobs += 1;
            }
            return;
        }
        let group =
            if matches!(submit.how, How::Group | How::Notify) { self.queues.group(RuntimeAddr(first)) } else { None };
        if let Some(group) = group {
            let group = &mut self.queues.groups[group as usize];
            match submit.how {
                How::Notify => group.notifies += 1,
                _ => group.blocks += 1,
            }
        }
        let mut functions = [None, None];
        let mut keys = [block, NONE];
        let mut named = None;
        match call.words {
            Words::Block { invoke, captured, wrapped, .. } => {
                (functions[0], named) = around.functions_of(invoke, captured);
                if captured == WRAPPER {
                    keys[1] = wrapped;
                    let (invoke, captured) = self.copied.get(&wrapped).copied().unwrap_or((NONE, NONE));
                    let (inner, meant) = around.functions_of(invoke, captured);
                    functions[1] = inner;
                    named = meant.or(named);
                }
            }
            _ if submit.is_function => {
                functions[0] = (around.function_at)(RuntimeAddr(function));
                named = functions[0];
            }
            _ => (),
        }
        let is_loop = submit.how == How::Apply;
        let index = self.waiting.len() as u32;
        let word = |index: Option<u32>| index.map_or(NONE, u64::from);
        let span = BlockSpan {
            how: submit.how as u64,
            thread: call.thread,
            seq: call.seq,
            start: call.time,
            end: call.time,
            function: named,
            submit_thread: call.thread,
            submit_seq: call.seq,
            submit_time: call.time,
            parent: contexts.now(call.thread).to_word(),
            queue: word(queue),
            block,
            group: word(group),
            index: if is_loop { first } else { NONE },
            is_canceled: self.canceled.contains(&block).into(),
            confidence: CERTAIN,
            ..BlockSpan::default()
        };
        self.end_handlers_at(keys, named);
        let of_loop = is_loop.then_some(self.spans.len() as u32);
        self.spans.extend(is_loop.then_some(span));
        let repeats = is_loop || submit.how == How::Source;
        let source = if submit.how == How::Source { first } else { NONE };
        self.waiting.push(Waiting { span, keys, functions, of_loop, repeats, source, has_ended: false, runs: 0 });
        for key in keys.into_iter().filter(|&key| key != NONE && key != 0) {
            self.by_key.entry(key).or_default().push_back(index);
        }
        for function in functions.into_iter().flatten() {
            self.by_function.entry(function).or_default().push_back(index);
        }
        let open = OpenSubmit { close_seq: call.close_seq, waiting: Some(index), block };
        self.threads.entry(call.thread).or_default().open.push(Open::Submit(open));
    }

    /// A source has one handler at a time.
    fn end_handlers_of(&mut self, source: u64) {
        let handlers = self.waiting.iter_mut().filter(|it| it.source == source && source != NONE);
        handlers.for_each(|it| it.has_ended = true);
    }

    /// A handler whose memory has another block now is gone.
    fn end_handlers_at(&mut self, keys: [u64; 2], named: Option<FunctionId>) {
        for index in keys.iter().filter_map(|key| self.by_key.get(key)).flatten() {
            let it = &mut self.waiting[*index as usize];
            it.has_ended |= it.span.how() == How::Source && it.span.function != named;
        }
    }

    /// A block that is copied while it is submitted runs as its copy.
    fn copy(&mut self, call: &LogicalCall) {
        if call.result == NONE {
            return;
        }
        if let Words::Block { invoke, captured, .. } = call.words {
            self.copied.insert(call.result, (invoke, captured));
        }
        let open = self.threads.get(&call.thread).and_then(|thread| thread.open.last());
        let Some(Open::Submit(OpenSubmit { close_seq, waiting: Some(index), block })) = open.copied() else { return };
        if close_seq.is_some_and(|close| call.seq > close) || call.arguments[0] != block || call.result == block {
            return;
        }
        let waiting = &mut self.waiting[index as usize];
        waiting.keys[0] = call.result;
        waiting.span.block = call.result;
        if let Some(indexes) = self.by_key.get_mut(&block) {
            indexes.retain(|it| *it != index);
        }
        self.by_key.entry(call.result).or_default().push_back(index);
    }

    /// Finds whose run a call is.
    fn find(&mut self, call: &LogicalCall, around: &Surroundings<'_>) -> Option<(u32, u64)> {
        // By the block's address. A function's argument may be nothing.
        if call.arguments[0] != NONE && call.arguments[0] != 0 {
            return self.of_block(call.arguments[0], call.function).map(|index| (index, CERTAIN));
        }
        // By a submission that waits for it.
        if let Some(Open::Submit(OpenSubmit { waiting: Some(index), .. })) =
            self.threads.get(&call.thread).and_then(|thread| thread.open.last()).copied()
        {
            let waiting = &self.waiting[index as usize];
            let is_waited_for = matches!(waiting.span.how(), How::Sync | How::BarrierSync | How::Apply);
            if is_waited_for && waiting.waits() && waiting.functions.contains(&Some(call.function)) {
                return Some((index, CERTAIN));
            }
        }
        let waiting = &self.waiting;
        let indexes = self.by_function.get_mut(&call.function)?;
        while indexes.front().is_some_and(|&index| !waiting[index as usize].waits()) {
            indexes.pop_front();
        }
        let mut candidates = indexes.iter().copied().filter(|&index| waiting[index as usize].waits());
        let oldest = candidates.next()?;
        if candidates.next().is_none() {
            return Some((oldest, THE_ONLY_ONE));
        }
        // By the release that follows the run.
        let released = call.close_seq.and_then(|close| (around.released_after)(call.thread, close, call.depth));
        let found = released.and_then(|block| self.of_block(block, call.function));
        Some(found.map_or((oldest, BY_ORDER), |index| (index, BY_RELEASE)))
    }

    /// The oldest submission of a block that is to run with a function.
    fn of_block(&self, block: u64, function: FunctionId) -> Option<u32> {
        self.by_key.get(&block)?.iter().copied().find(|&index| {
            let it = &self.waiting[index as usize];
            it.waits() && it.functions.contains(&Some(function))
        })
    }

    fn run(&mut self, call: &LogicalCall, contexts: &mut Contexts, around: &Surroundings<'_>) {
        let Some((index, confidence)) = self.find(call, around) else { return };
        let run = self.spans.len() as u32;
        let waiting = &mut self.waiting[index as usize];
        let mut span = waiting.span;
        (span.thread, span.seq) = (call.thread, call.seq);
        (span.start, span.end) = (call.time, call.time);
        span.confidence = confidence;
        let is_named = span.function.is_some_and(|function| function != call.function);
        if !is_named && (around.is_shared)(call.function) {
            span.function = Some(call.leads_to.unwrap_or(call.function));
        }
        if let Some(of_loop) = waiting.of_loop {
            span.how = How::Iteration as u64;
            span.parent = Context::Block(of_loop).to_word();
            span.index = if call.arguments[1] == NONE { waiting.runs } else { call.arguments[1] };
            // The runtime's own function calls the loop's body, which the loop is about.
            let of_loop = &mut self.spans[of_loop as usize];
            if of_loop.function.is_none_or(around.is_shared) {
                of_loop.function = span.function;
            }
        }
        waiting.runs += 1;
        if !waiting.repeats {
            self.forget(index);
        }
        self.spans.push(span);
        self.running.insert((call.thread, call.seq), run);
        contexts.push(call.thread, Context::Block(run));
        self.threads.entry(call.thread).or_default().open.push(Open::Run(run));
    }

    /// What has begun to run need not be looked for any more.
    fn forget(&mut self, index: u32) {
        for key in self.waiting[index as usize].keys {
            if let Some(indexes) = self.by_key.get_mut(&key) {
                indexes.retain(|it| *it != index);
                if indexes.is_empty() {
                    self.by_key.remove(&key);
                }
            }
        }
    }

    /// Ends what is open, and gives the tables.
    pub(crate) fn finish(mut self, options: &ReplayOptions, losses: &Losses, texts: &mut TextTable) -> BlockTables {
        let open = options.end.outcome();
        let pending = Outcome { status: Status::Pending, ..open };
        let dropped = Outcome::new(Status::Unmatched, Reason::Dropped);
        for run in self.running.into_values() {
            let span = &mut self.spans[run as usize];
            span.end = options.end_time.max(span.start);
            span.outcome = open.to_byte().into();
        }
        for waiting in self.waiting {
            let mut span = waiting.span;
            if let Some(of_loop) = waiting.of_loop {
                if !waiting.has_ended {
                    let span = &mut self.spans[of_loop as usize];
                    (span.end, span.outcome) = (options.end_time.max(span.start), open.to_byte().into());
                }
            } else if waiting.runs == 0 && !waiting.repeats {
                let outcome = match span.is_canceled {
                    1 => Outcome::new(Status::Canceled, Reason::Canceled),
                    // It may have run among events that are missing.
                    _ if losses.since(span.submit_time) => dropped,
                    _ if options.is_cut_short => open,
                    _ => pending,
                };
                span.outcome = outcome.to_byte().into();
                self.spans.push(span);
            }
        }
        for span in &mut self.spans {
            let mut outcome = span.outcome();
            if span.end - span.start > options.timeout_ns && outcome.reason == Reason::None {
                outcome.reason = Reason::Timeout;
            }
            outcome.is_uncertain |= span.confidence < THE_ONLY_ONE;
            span.outcome = outcome.to_byte().into();
        }
        for group in &mut self.queues.groups {
            group.is_cut = losses.since(group.create_time.unwrap_or_default()).into();
        }
        let (queues, groups) = self.queues.finish(losses, texts);
        BlockTables { blocks: self.spans, queues, groups, group_waits: self.group_waits }
    }
}
