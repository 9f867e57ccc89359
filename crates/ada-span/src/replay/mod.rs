//! Frame spans: a thread's events replayed on a stack of the calls that are open.
//!
//! An event is believed in what it says of its own depth. Whatever the stack has at that depth or above and the event
//! does not explain, ended unseen; whatever should be below and is not, began unseen. So the replay is in step again
//! with each event, and a hole in the stream costs the spans that it cut, and no others.

mod causes;
mod feed;
mod losses;
mod moved_stacks;
mod options;
mod parked;
mod span_sink;
mod stack_changes;

pub(crate) use feed::Feed;
pub(crate) use moved_stacks::MovedStacks;
pub use options::{ProcessEnd, ReplayOptions};
pub use span_sink::{Closed, FunctionNumber, KnownFunction, Opened, SpanHandle, SpanSink};

use std::mem;
use std::sync::Arc;

use causes::Causes;
use moved_stacks::StayNumber;
use parked::ParkedStacks;

use ada_event::{DetailSeq, Event, EventKind, EventSeq, FunctionId, TraceNanos};

use crate::anomaly::{Anomaly, AnomalyKind};
use crate::outcome::{Outcome, Reason, Status};
use crate::role::Role;
use crate::thread_index::ThreadIndex;

/// Frames that are followed at once on a thread. A stack of 8 MiB has room for half a million.
const DEEPEST: usize = 1 << 21;

/// Fewer open calls than this the recorder always follows.
const SURELY_FOLLOWED: u32 = 1 << 14;

/// An open call. Number and depth lie apart: side by side they are read as one word, and right after a leaf's call, when
/// they were just written as two, that load waits for both stores. Profiles had a seventh of their samples there; the
/// gain was within the machine's noise.
#[derive(Clone, Copy)]
#[repr(C)]
struct Frame {
    function: FunctionId,
    start: TraceNanos,
    seq: EventSeq,
    children_ns: u64,
    handle: SpanHandle,
    depth: u32,
    role: Role,
    /// Whether the sink has moved it already.
    is_moved: bool,
    number: FunctionNumber,
}

/// Replays one thread.
pub struct Replay<S> {
    sink: S,
    options: ReplayOptions,
    /// Times of the first events after losses that are yet to come, the next one last.
    losses: Vec<TraceNanos>,
    /// The time from which on there is more to do than to replay: at once, then where the next loss is.
    take_stock_at: TraceNanos,
    /// The time of the last one that is past; 0 where there is none.
    last_loss: TraceNanos,
    /// The open calls of the stack that the thread is on.
    stack: Vec<Frame>,
    /// Which one it is: 0 is the thread's own.
    stack_number: u64,
    /// The others, which wait.
    parked: ParkedStacks,
    /// The stacks that change threads, and which thread this is.
    moved: Option<(Arc<MovedStacks>, ThreadIndex)>,
    /// Which stay on such a stack it is.
    stay: Option<StayNumber>,
    /// Calls below `unknown_below` are another thread's to tell of.
    is_taken_over: bool,
    next_seq: EventSeq,
    /// Whether events are missing before the next one.
    has_jumped: bool,
    has_begun: bool,
    first_time: TraceNanos,
    time: TraceNanos,
    /// The time of the event before.
    time_before: TraceNanos,
    /// Frames below this depth may have been open before the first event.
    unknown_below: u32,
    /// Whether events before the first one were lost.
    is_cut: bool,
    begun_at_depth: u32,
    causes: Causes,
    /// When the thread had left the stack that it is on, if it has come back to it.
    left_at: Option<TraceNanos>,
    /// The last event that says that calls of a program which another one has replaced are gone.
    replaced: Option<EventSeq>,
    /// Whether the thread has ended, but for what the C library does then.
    is_torn_down: bool,
    /// Whether that is to be seen.
    knows_teardown: bool,
    deepest: u32,
    stack_changes: u64,
}

/// What a thread was like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadFacts {
    /// How many events it has.
    pub events: u64,
    /// How many of them say that it went on with another stack, and belong to no function.
    pub stack_changes: u64,
    /// The first event's time.
    pub first_time: TraceNanos,
    /// When it is known to have been there first.
    pub start_time: TraceNanos,
    /// The last event's time.
    pub last_time: TraceNanos,
    /// When it ended: with its process, or the recording, unless its end is recorded.
    pub end_time: TraceNanos,
    /// The largest number of frames.
    pub deepest: u32,
    /// Frames that were open before its first event.
    pub begun_at_depth: u32,
}

/// Of calls in a program that another one has replaced.
const REPLACED: Outcome = Outcome::new(Status::Unmatched, Reason::ProcessExit);

impl<S: SpanSink> Replay<S> {
    /// Begins a thread.
    pub fn new(sink: S, options: ReplayOptions) -> Self {
        Self {
            sink,
            options,
            losses: Vec::new(),
            take_stock_at: TraceNanos(0),
            last_loss: TraceNanos(0),
            stack: Vec::new(),
            stack_number: 0,
            parked: ParkedStacks::default(),
            moved: None,
            stay: None,
            is_taken_over: false,
            next_seq: EventSeq(0),
            has_jumped: false,
            has_begun: false,
            first_time: TraceNanos(0),
            time: TraceNanos(0),
            time_before: TraceNanos(0),
            unknown_below: 0,
            is_cut: false,
            begun_at_depth: 0,
            causes: Causes::default(),
            replaced: None,
            left_at: None,
            is_torn_down: false,
            knows_teardown: false,
            deepest: 0,
            stack_changes: 0,
        }
    }

    /// States where events of the thread were lost: the time of the first event after each loss, in order.
    pub fn with_losses(mut self, mut losses: Vec<TraceNanos>) -> Self {
        losses.reverse();
        self.losses = losses;
        self
    }

    /// States whether calls by which the C library ends a thread can be known.
    pub fn with_teardown(mut self, is_known: bool) -> Self {
        self.knows_teardown = is_known;
        self
    }

    /// States which stacks change threads, and which thread this is.
    pub(crate) fn with_moved_stacks(mut self, moved: Arc<MovedStacks>, thread: ThreadIndex) -> Self {
        self.moved = Some((moved, thread));
        self
    }

    /// Whether nothing is open but the C library's first function of a thread.
    fn is_in_library(&self) -> bool {
        matches!(&self.stack[..], [frame] if frame.role == Role::ThreadStart)
    }

    /// Whether the newest open call is one that calls what a thread runs.
    fn is_called_first(&self) -> bool {
        self.stack.last().is_none_or(|top| matches!(top.role, Role::ThreadStart | Role::ProgramStart))
    }

    /// Goes on at the event with this position: those between cannot be read, and are lost.
    pub fn go_on_at(&mut self, seq: EventSeq) {
        if seq != self.next_seq {
            self.odd(AnomalyKind::Unreadable, self.next_seq);
            self.has_jumped = true;
            self.take_stock_at = TraceNanos(0);
        }
        self.next_seq = seq;
    }

    /// The sink's number for a function, which [`Self::call_of`] takes.
    pub fn function(&mut self, function: FunctionId) -> KnownFunction {
        self.sink.function(function)
    }

    /// The thread's next event. It and what it calls become part of the loop that reads the events: most of a replay's
    /// time is in there, and often the kind is known beforehand.
    #[inline(always)]
    pub fn event(&mut self, event: Event) {
        let seq = self.advance(&event);
        match event.kind {
            EventKind::CALL | EventKind::ENTRY => {
                let function = self.sink.function(event.function);
                self.call(seq, function, event);
            }
            EventKind::RETURN => self.end(seq, event, true),
            EventKind::EXCEPTION => self.end(seq, event, false),
            EventKind::TAIL => self.end_by_tail_call(seq, event),
            EventKind::STACK => {
                self.stack_changes += 1;
                self.change_stack(seq, event);
            }
            _ => self.odd(AnomalyKind::UnknownEvent, seq),
        }
    }

    /// The thread's next event, which is a call of a function that was looked up before.
    #[inline(always)]
    pub fn call_of(&mut self, function: KnownFunction, event: Event) {
        let seq = self.advance(&event);
        self.call(seq, function, event);
    }

    /// Moves on to an event, and gives its position.
    #[inline(always)]
    fn advance(&mut self, event: &Event) -> EventSeq {
        let seq = self.next_seq;
        self.next_seq += 1;
        if event.timestamp < self.time {
            self.odd(AnomalyKind::TimeBackwards, seq);
        }
        self.time_before = self.time;
        self.time = self.time.max(event.timestamp);
        if self.time >= self.take_stock_at {
            self.take_stock(event);
        }
        seq
    }

    #[inline(always)]
    fn call(&mut self, seq: EventSeq, function: KnownFunction, event: Event) {
        let depth = event.depth;
        let is_entry_only = event.kind == EventKind::ENTRY || function.is_entry_only;
        if self.stack.last().is_some_and(|top| top.depth >= depth) {
            if function.role == Role::ThreadStart {
                self.end_life(Outcome::new(Status::Exited, Reason::None), depth);
            } else if depth == 0 && self.stack.last().is_some_and(|top| top.role == Role::Exec) {
                // Another program runs instead of this one.
                self.end_life(REPLACED, 0);
            } else {
                self.replace(seq, depth);
            }
        }
        self.unknown_below = self.unknown_below.min(depth);
        self.deepest = self.deepest.max(depth);
        if function.role != Role::Plain {
            self.causes.note(seq, function.role);
            self.is_torn_down |= function.role == Role::ThreadTeardown && self.is_called_first();
        }
        let parent = self.stack.last();
        let expected = parent.map_or(self.unknown_below, |parent| parent.depth.saturating_add(1));
        let (parent, caller) = (parent.map(|parent| parent.seq), parent.map(|parent| parent.number));
        if depth > expected {
            self.odd(AnomalyKind::DepthJump, seq);
        }
        let is_too_deep = self.stack.len() >= DEEPEST;
        let is_frame = !is_entry_only && !is_too_deep;
        let opened = Opened {
            seq,
            start: self.time,
            function: function.number,
            depth,
            parent,
            caller,
            detail: event.detail,
            is_frame,
            role: function.role,
        };
        if self.sink.wants_to_move() {
            self.move_open();
        }
        self.sink.event(function.number, event.kind);
        let handle = self.sink.open(&opened);
        if is_frame {
            self.stack.push(Frame {
                function: event.function,
                start: self.time,
                seq,
                children_ns: 0,
                handle,
                number: function.number,
                depth,
                role: function.role,
                is_moved: false,
            });
            return;
        }
        let outcome = if is_entry_only {
            // The end of a function that is hooked at all its exits is missing only where the recorder found no room
            // for one more open call.
            if !function.is_entry_only && depth >= SURELY_FOLLOWED {
                self.odd(AnomalyKind::TooDeep, seq);
            }
            Outcome::new(Status::EntryOnly, Reason::None)
        } else {
            self.odd(AnomalyKind::TooDeep, seq);
            Outcome::new(Status::Unmatched, Reason::None)
        };
        self.close_at_once(handle, &opened, outcome);
    }

    /// A call at `depth` ends what is open there: the caller has jumped to it, or events are missing.
    fn replace(&mut self, seq: EventSeq, depth: u32) {
        let above = self.stack.iter().rev().take_while(|frame| frame.depth >= depth).count();
        if above == 1
            && let Some(top) = self.stack.last().filter(|top| top.depth == depth)
        {
            let is_uncertain = self.may_lack_since(top.start);
            let outcome = Outcome { status: Status::Unmatched, reason: Reason::TailCall, is_uncertain };
            self.give_up_top(outcome);
        } else {
            self.vanish(seq, depth);
        }
    }

    /// A thread begins where one has ended: the system uses ids again, and a trace may have two threads under one.
    #[cold]
    fn end_life(&mut self, outcome: Outcome, depth: u32) {
        let now = mem::replace(&mut self.time, self.time_before);
        while self.stack.last().is_some_and(|top| top.depth >= depth) {
            self.give_up_top(outcome);
        }
        self.give_up_parked(outcome);
        self.time = now;
        self.causes = Causes::default();
        self.is_torn_down = false;
    }

    /// Whether a child of vfork was here, as this thread, until it ran another program: the call that runs one never returns.
    fn has_run_another(&self) -> bool {
        self.stack.last().is_some_and(|top| top.role == Role::Exec && !self.may_lack_since(top.start))
    }

    /// Frames at `depth` and above are gone, and no event says how.
    #[cold]
    fn vanish(&mut self, seq: EventSeq, depth: u32) {
        if self.has_run_another() {
            while self.stack.last().is_some_and(|top| top.depth >= depth) {
                self.give_up_replaced();
            }
            return;
        }
        while let Some(top) = self.stack.last().filter(|top| top.depth >= depth) {
            let outcome = self.lost_since(top.start);
            self.odd(AnomalyKind::BeginningWithoutEnd, seq);
            self.give_up_top(outcome);
        }
    }

    #[inline(always)]
    fn end(&mut self, seq: EventSeq, event: Event, is_return: bool) {
        let depth = event.depth;
        if self.stack.last().is_some_and(|top| top.depth > depth) {
            self.vanish(seq, depth.saturating_add(1));
        }
        let is_partner = self.stack.last().is_some_and(|top| top.depth == depth && top.function == event.function);
        if !is_partner {
            return self.end_of_unknown(seq, &event);
        }
        self.count_end_of_top(event.kind);
        if is_return {
            self.causes.note_return(seq, depth);
            let outcome = Outcome { is_uncertain: self.partner_is_a_guess(), ..Outcome::default() };
            self.close_top(Some(seq), event.detail, outcome, None);
        } else {
            let goes_on = self.replaced.is_some_and(|before| before.next() == seq);
            if goes_on || self.has_run_another() {
                self.replaced = Some(seq);
                self.give_up_replaced();
                return;
            }
            let (outcome, context) = self.causes.unwound(seq, depth);
            let outcome = Outcome { is_uncertain: self.partner_is_a_guess(), ..outcome };
            self.close_top(Some(seq), event.detail, outcome, context);
        }
    }

    /// A function went on in another one.
    #[inline(never)]
    fn end_by_tail_call(&mut self, seq: EventSeq, event: Event) {
        let depth = event.depth;
        if self.stack.last().is_some_and(|top| top.depth > depth) {
            self.vanish(seq, depth.saturating_add(1));
        }
        if self.stack.last().is_some_and(|top| top.depth == depth && top.function == event.function) {
            let outcome = Outcome {
                status: Status::Completed,
                reason: Reason::TailCall,
                is_uncertain: self.partner_is_a_guess(),
            };
            self.count_end_of_top(event.kind);
            self.close_top(Some(seq), event.detail, outcome, None);
        } else {
            self.end_of_unknown(seq, &event);
        }
    }

    #[inline(always)]
    fn count_end_of_top(&mut self, kind: EventKind) {
        if let Some(top) = self.stack.last() {
            self.sink.event(top.number, kind);
        }
    }

    /// Ends the newest open span, of a program that was replaced: where the thread has left its stack since, at that time.
    fn give_up_replaced(&mut self) {
        let begun = self.stack.last().map_or(self.time, |top| top.start);
        let end = self.left_at.filter(|left| *left > begun).unwrap_or(self.time);
        let now = mem::replace(&mut self.time, end);
        self.give_up_top(REPLACED);
        self.time = now;
    }

    /// Ends the newest open span without an event of its own.
    #[inline(never)]
    fn give_up_top(&mut self, outcome: Outcome) {
        self.close_top(None, DetailSeq::NONE, outcome, None);
    }

    #[inline(always)]
    fn close_top(
        &mut self,
        close_seq: Option<EventSeq>,
        detail: DetailSeq,
        outcome: Outcome,
        context: Option<EventSeq>,
    ) {
        let Some(frame) = self.stack.pop() else { return };
        let duration = self.time - frame.start;
        if let Some(parent) = self.stack.last_mut() {
            parent.children_ns += duration;
        }
        let is_slow = duration > self.options.timeout_ns
            && outcome.reason == Reason::None
            && matches!(outcome.status, Status::Completed | Status::Open);
        let outcome = if is_slow { Outcome { reason: Reason::Timeout, ..outcome } } else { outcome };
        let outcome = if self.options.attached_time == Some(frame.start) { begun_before(outcome) } else { outcome };
        let closed = Closed {
            seq: frame.seq,
            start: frame.start,
            function: frame.number,
            depth: frame.depth,
            duration,
            // Children lie within their parents, one after the other.
            self_ns: duration.saturating_sub(frame.children_ns),
            close_seq,
            outcome,
            context,
            detail,
            is_frame: true,
        };
        self.sink.close(frame.handle, &closed);
    }

    fn close_at_once(&mut self, handle: SpanHandle, opened: &Opened, outcome: Outcome) {
        let closed = Closed {
            seq: opened.seq,
            start: opened.start,
            function: opened.function,
            depth: opened.depth,
            duration: 0,
            self_ns: 0,
            close_seq: None,
            outcome,
            context: None,
            detail: DetailSeq::NONE,
            is_frame: false,
        };
        self.sink.close(handle, &closed);
    }

    fn move_open(&mut self) {
        let unmoved = |frames| <[Frame]>::iter_mut(frames).rev().take_while(|frame| !frame.is_moved);
        let mut open: Vec<&mut Frame> = unmoved(&mut self.stack).collect();
        if !self.parked.is_empty() {
            open.extend(self.parked.stacks().flat_map(|parked| unmoved(&mut parked.frames)));
            open.sort_unstable_by_key(|frame| std::cmp::Reverse(frame.seq));
        }
        let mut handles = open.into_iter().map(|frame| {
            frame.is_moved = true;
            &mut frame.handle
        });
        self.sink.move_open(&mut handles);
    }

    #[cold]
    fn odd(&mut self, kind: AnomalyKind, seq: EventSeq) {
        let time = self.time;
        self.sink.anomaly(Anomaly { kind, seq, time });
    }

    /// Ends the thread: closes what is open, and gives the sink back.
    pub fn finish(mut self) -> (S, ThreadFacts) {
        let ReplayOptions { is_imported, is_cut_short, is_incomplete, .. } = self.options;
        let end_time = match is_imported || is_cut_short || is_incomplete {
            true => self.time,
            false => self.time.max(self.options.end_time),
        };
        let facts = ThreadFacts {
            events: self.next_seq.0,
            stack_changes: self.stack_changes,
            first_time: self.first_time,
            start_time: self.first_time,
            last_time: self.time,
            end_time: if self.is_torn_down { self.time } else { end_time },
            deepest: if !self.has_begun { 0 } else { self.deepest.saturating_add(1) },
            begun_at_depth: self.begun_at_depth,
        };
        self.hand_over();
        // A start routine that is not hooked runs there, too.
        let ended_in_library = self.is_in_library() && (self.is_torn_down || !self.knows_teardown);
        if !ended_in_library {
            self.time = end_time;
        }
        // What was open may have ended among events that were lost since.
        let is_cut = !self.losses.is_empty() || self.has_jumped || is_incomplete;
        if is_cut {
            self.sink.lost(facts.last_time, TraceNanos::MAX);
        }
        let outcome = match (is_cut, ended_in_library) {
            (true, _) => Outcome::new(Status::Unmatched, Reason::Dropped),
            (_, true) => Outcome { is_uncertain: !self.is_torn_down, ..Outcome::new(Status::Exited, Reason::None) },
            _ => self.options.end.outcome(),
        };
        while !self.stack.is_empty() {
            self.give_up_top(outcome);
        }
        self.give_up_parked(outcome);
        (self.sink, facts)
    }
}

/// The outcome of a call that was open when the process was attached to: its beginning is not known.
#[cold]
fn begun_before(outcome: Outcome) -> Outcome {
    match (outcome.status, outcome.reason) {
        (Status::Completed, Reason::None | Reason::Timeout | Reason::TailCall) => {
            Outcome { status: Status::Unmatched, reason: Reason::AttachedMidway, ..outcome }
        }
        (_, Reason::None | Reason::Timeout) => Outcome { reason: Reason::AttachedMidway, ..outcome },
        _ => outcome,
    }
}
