//! One pass over all calls, with each call's callers at hand.

use std::collections::BTreeMap;

use ada_event::{EventSeq, TraceNanos};
use ada_span::state::{StateTimes, ThreadState};
use ada_span::table::{Column, Columns, FunctionIndex};
use ada_span::{Outcome, Reason, SpanEnds, Status, ThreadIndex};

use super::About;
use super::pairs::{PAIRS, Wait, hands_on};
use super::progress::Times;
use super::unhandled::Unhandled;
use super::wakers::{Waker, Wakers};
use crate::error::QueryError;
use crate::ownership::own_functions;
use crate::scan::scan_pieces;

/// Nobody of the program's own is above.
pub(super) const NOBODY: FunctionIndex = FunctionIndex(u32::MAX);

/// Waits of one kind below one function.
#[derive(Clone, Debug, Default)]
pub(super) struct Waited {
    /// Calls that wait for such a thing, and those of them in which the thread slept.
    pub(super) count: u64,
    pub(super) slept: u64,
    /// Of these the thread's states are not known: the whole of them is taken for waiting.
    pub(super) unknown: u64,
    /// How long the thread slept in these calls.
    pub(super) total_ns: u64,
    /// How long it slept or ran in them: a call that wants input or output may just take long.
    pub(super) spent_ns: u64,
    /// The longest one: how long it slept, its thread and opening event.
    pub(super) longest: (u64, ThreadIndex, EventSeq),
    /// Waits that had not ended when the process or the recording did.
    pub(super) unfinished: u64,
    pub(super) longest_unfinished: (u64, ThreadIndex, EventSeq),
    /// For how long the thread slept until these ended its waits.
    pub(super) wakers: BTreeMap<Waker, u64>,
}

/// What one function took and gave back.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken {
    pub(super) taken: u64,
    pub(super) given: u64,
    /// The first thing that was taken: thread and event.
    pub(super) first: Option<(ThreadIndex, EventSeq)>,
    /// When it took, and when it gave back.
    pub(super) takes: Times,
    pub(super) gives: Times,
    /// When it called what took: `setlocale` takes two hundred times in one call.
    pub(super) occasions: Times,
    last_occasion: Option<(ThreadIndex, EventSeq)>,
}

/// What the pass found.
#[derive(Default)]
pub(super) struct Survey {
    /// By the nearest function of the program's own that is open, and what is waited for.
    pub(super) waits: BTreeMap<(FunctionIndex, Wait), Waited>,
    /// By the nearest function of the program's own, and the index of the pair.
    pub(super) taken: BTreeMap<(FunctionIndex, usize), Taken>,
    /// When the program's own functions were called, and what they called.
    pub(super) calls: Times,
    /// Panics and exceptions that nobody caught, by the nearest function of the program's own: how many, and the first.
    pub(super) unhandled: BTreeMap<(Unhandled, FunctionIndex), (u64, (ThreadIndex, EventSeq))>,
    /// How often a function was open at once at most, by its index, and where.
    pub(super) nested: Vec<(u32, (ThreadIndex, EventSeq))>,
    /// Whether a function is the program's own, by its index.
    pub(super) is_own: Vec<bool>,
}

/// What a function is to the survey.
#[derive(Clone, Copy, Default)]
struct Part {
    /// Whether who calls it takes what it takes.
    hands_on: bool,
    /// Whether it reports a panic: what that takes for the backtrace, it keeps for the next one.
    is_panic: bool,
    wait: Option<Wait>,
    takes: Option<u8>,
    gives: Option<u8>,
    unhandled: Option<Unhandled>,
}

/// Whether a call is a part of what takes something or gives it back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Within {
    #[default]
    Nothing,
    /// Of what comes with memory, which counts for itself.
    WithMemory,
    /// An allocator that calls another takes once.
    Pair,
}

impl Within {
    /// Whether what takes or gives counts here.
    fn counts(self, pair: u8) -> bool {
        match self {
            Self::Nothing => true,
            Self::WithMemory => PAIRS[usize::from(pair)].what == "memory",
            Self::Pair => false,
        }
    }

    /// The same in what a function calls.
    fn and_in(self, part: Part) -> Self {
        let own = match part.takes.or(part.gives) {
            _ if part.is_panic => Self::Pair,
            None => Self::Nothing,
            Some(pair) if PAIRS[usize::from(pair)].comes_with_memory() => Self::WithMemory,
            Some(_) => Self::Pair,
        };
        self.max(own)
    }
}

struct Open {
    seq: EventSeq,
    function: FunctionIndex,
    own: FunctionIndex,
    /// The nearest one of the program's own that keeps what it takes.
    keeper: FunctionIndex,
    is_in_wait: bool,
    within: Within,
    /// The outermost call below a function of the program's own that led here; of such a function itself there is none.
    library_call: Option<EventSeq>,
    /// Whether it jumped to the next one as the last thing it did.
    ends: SpanEnds,
}

impl Survey {
    pub(super) fn of(about: &About<'_>) -> Result<Self, QueryError> {
        let process = about.process;
        let meta = process.tables.meta();
        let is_own = own_functions(about.trace, process);
        let parts: Vec<Part> = meta
            .functions
            .iter()
            .map(|it| {
                let raw = process.names.raw(it.function).unwrap_or_default();
                let raw = raw.split('@').next().unwrap_or_default();
                let index = |of: fn(&super::pairs::Pair) -> &'static [&'static str]| {
                    PAIRS.iter().position(|pair| of(pair).contains(&raw)).map(|it| it as u8)
                };
                let hands_on = hands_on(&process.names.name(it.function));
                let is_panic = raw.contains("rust_panic_with_hook") || raw.contains("rust_begin_unwind");
                Part {
                    hands_on,
                    is_panic,
                    wait: Wait::of(raw),
                    takes: index(|it| it.takers),
                    gives: index(|it| it.givers),
                    unhandled: Unhandled::raised_by(raw),
                }
            })
            .collect();
        let wakers = Wakers::of(about);
        let new = || Self { nested: vec![(0, Default::default()); meta.functions.len()], ..Self::default() };
        let states = scan_pieces(meta.threads.len(), about.cancel, new, |survey, thread| {
            survey.add_thread(about, ThreadIndex(thread as u32), &is_own, &parts, &wakers)
        })?;
        let mut survey = new();
        states.into_iter().for_each(|it| survey.merge(it));
        survey.is_own = is_own;
        Ok(survey)
    }

    fn add_thread(
        &mut self,
        about: &About<'_>,
        thread: ThreadIndex,
        is_own: &[bool],
        parts: &[Part],
        wakers: &Wakers,
    ) -> Result<(), QueryError> {
        let tables = &about.process.tables;
        let states = about.process.thread_states(thread).cloned();
        let mut open: Vec<Open> = Vec::new();
        let mut counts = vec![0_u32; parts.len()];
        let mut columns = Columns::new();
        let wanted = |column| !matches!(column, Column::SelfTime | Column::Context | Column::Depth);
        for block in tables.blocks_of(thread) {
            about.cancel.check()?;
            tables.read(block, wanted, &mut columns)?;
            for row in 0..columns.rows() {
                let (seq, parent) = (columns.seq(row), columns.parent_seq(row));
                let mut before = None;
                while open.last().is_some_and(|top| Some(top.seq) != parent) {
                    if let Some(top) = open.pop() {
                        counts[top.function.as_usize()] -= 1;
                        before = Some(top);
                    }
                }
                // What a function jumped to goes on in its place: C++'s `delete` jumps to `free`, and gives back once.
                let before = before.filter(|it| it.ends.goes_on_in(seq));
                let function = columns.function(row);
                let index = function.as_usize();
                let part = parts[index];
                let above = before.as_ref().or(open.last());
                let library_call = match above.and_then(|it| it.library_call) {
                    _ if is_own[index] => None,
                    Some(above) => Some(above),
                    None => Some(seq),
                };
                let own = if is_own[index] { function } else { above.map_or(NOBODY, |it| it.own) };
                let keeper = match above.map_or(NOBODY, |it| it.keeper) {
                    above if is_own[index] && (!part.hands_on || above == NOBODY) => function,
                    above => above,
                };
                let (was_in_wait, within) = above.map_or_else(Default::default, |it| (it.is_in_wait, it.within));
                if let Some(wait) = part.wait.filter(|_| !was_in_wait) {
                    let (start, duration) = (columns.start(row), columns.at(Column::Duration, row));
                    let end = TraceNanos(start.0.saturating_add(duration));
                    let times = states.as_ref().map(|it| it.between(start, end));
                    let waker = wakers.of_call(thread, seq);
                    let call = WaitCall { duration, times, thread, seq, outcome: columns.outcome(row), waker };
                    self.waits.entry((own, wait)).or_default().add(&call);
                }
                if let Some(pair) = part.takes.or(part.gives).filter(|pair| within.counts(*pair)) {
                    let taken = self.taken.entry((keeper, pair.into())).or_default();
                    if part.takes.is_some() {
                        taken.taken += 1;
                        taken.takes.add(columns.start(row));
                        let occasion = Some((thread, library_call.unwrap_or(seq)));
                        if taken.last_occasion != occasion {
                            taken.last_occasion = occasion;
                            taken.occasions.add(columns.start(row));
                        }
                        taken.first.get_or_insert((thread, seq));
                    } else {
                        taken.given += 1;
                        taken.gives.add(columns.start(row));
                    }
                }
                if own != NOBODY {
                    self.calls.add(columns.start(row));
                }
                if let Some(unhandled) = part.unhandled {
                    self.unhandled.entry((unhandled, own)).or_insert((0, (thread, seq))).0 += 1;
                }
                counts[index] += 1;
                if counts[index] > self.nested[index].0 {
                    self.nested[index] = (counts[index], (thread, seq));
                }
                let opened = Open {
                    seq,
                    function,
                    own,
                    keeper,
                    is_in_wait: was_in_wait || part.wait.is_some(),
                    within: within.and_in(part),
                    library_call,
                    ends: SpanEnds::read(&columns, row),
                };
                open.push(opened);
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: Self) {
        for (key, more) in other.waits {
            let sum = self.waits.entry(key).or_default();
            sum.count += more.count;
            sum.slept += more.slept;
            sum.unknown += more.unknown;
            sum.spent_ns = sum.spent_ns.saturating_add(more.spent_ns);
            sum.total_ns = sum.total_ns.saturating_add(more.total_ns);
            sum.longest = sum.longest.max(more.longest);
            sum.unfinished += more.unfinished;
            sum.longest_unfinished = sum.longest_unfinished.max(more.longest_unfinished);
            for (waker, more) in more.wakers {
                let time = sum.wakers.entry(waker).or_default();
                *time = time.saturating_add(more);
            }
        }
        for (key, more) in other.taken {
            let sum = self.taken.entry(key).or_default();
            sum.taken += more.taken;
            sum.given += more.given;
            sum.first = sum.first.or(more.first);
            sum.takes.merge(more.takes);
            sum.gives.merge(more.gives);
            sum.occasions.merge(more.occasions);
        }
        self.calls.merge(other.calls);
        for (key, (count, first)) in other.unhandled {
            let sum = self.unhandled.entry(key).or_insert((0, first));
            *sum = (sum.0 + count, sum.1.min(first));
        }
        for (most, other) in self.nested.iter_mut().zip(other.nested) {
            if other.0 > most.0 {
                *most = other;
            }
        }
    }
}

/// A call that may wait.
struct WaitCall {
    duration: u64,
    /// How long its thread was in each state meanwhile.
    times: Option<StateTimes>,
    thread: ThreadIndex,
    seq: EventSeq,
    outcome: Outcome,
    waker: Option<Waker>,
}

impl Waited {
    fn add(&mut self, call: &WaitCall) {
        let &WaitCall { duration, thread, seq, outcome, waker, .. } = call;
        let (slept, spent) = match call.times.filter(|it| it.of(ThreadState::Unknown) == 0) {
            Some(times) => {
                let slept = times.of(ThreadState::Blocked);
                (slept, slept.saturating_add(times.of(ThreadState::Running)))
            }
            None => {
                self.unknown += 1;
                (duration, duration)
            }
        };
        self.count += 1;
        self.slept += u64::from(slept > 0);
        self.total_ns = self.total_ns.saturating_add(slept);
        self.spent_ns = self.spent_ns.saturating_add(spent);
        self.longest = self.longest.max((slept, thread, seq));
        if let Some(waker) = waker {
            let time = self.wakers.entry(waker).or_default();
            *time = time.saturating_add(slept);
        }
        let has_not_ended = matches!(outcome.status, Status::Open | Status::Unmatched)
            && matches!(outcome.reason, Reason::None | Reason::ProcessExit | Reason::Crash | Reason::Timeout);
        if has_not_ended {
            self.unfinished += 1;
            self.longest_unfinished = self.longest_unfinished.max((duration, thread, seq));
        }
    }
}
