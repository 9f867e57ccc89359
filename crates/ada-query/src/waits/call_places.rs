//! What was called, and which function of the program's own made the call.

use std::collections::{BTreeMap, HashMap};

use ada_event::{EventSeq, TraceNanos};
use ada_span::table::{Column, Columns, FunctionIndex};
use ada_span::task::TaskRuntime;
use ada_span::wait::WaitSpan;
use ada_span::{Callers, OpenCall, OpenChains, SpanEnds, ThreadIndex};

use super::suspended;
use crate::error::QueryError;
use crate::ownership::own_functions;
use crate::trace::{Trace, TraceProcess, plain_name};

/// Looking a call up takes as long as going through so many blocks.
const FEW: usize = 4;

/// Some calls, with the nearest functions of the program's own around them.
#[derive(Default)]
pub struct CallPlaces {
    places: HashMap<(ThreadIndex, EventSeq), Place>,
    /// Of tasks that were suspended, by the events at which they were: the functions that they go on in.
    awaiting: HashMap<(ThreadIndex, EventSeq), FunctionIndex>,
    /// Of calls in other processes: the names of the functions around them.
    remote: HashMap<(u64, ThreadIndex, EventSeq), String>,
}

#[derive(Clone, Copy)]
struct Place {
    called: FunctionIndex,
    own: Option<FunctionIndex>,
}

impl CallPlaces {
    /// Those around what waits tell of: the call that waited, the one that took what was waited for, and the one that woke.
    pub fn of_waits<'w>(
        trace: &Trace,
        process: &TraceProcess,
        waits: impl IntoIterator<Item = &'w WaitSpan>,
    ) -> Result<Self, QueryError> {
        let mut calls = Vec::new();
        let mut remote: BTreeMap<u64, Vec<(ThreadIndex, EventSeq)>> = BTreeMap::new();
        let mut awaiting = Vec::new();
        for wait in waits {
            let waiting = (wait.thread, wait.seq);
            if let Some((_, suspension)) = suspended(process, wait) {
                let function = suspension.awaiting.and_then(|it| process.tables.meta().function_index(it));
                awaiting.extend(function.map(|it| (waiting, it)));
            }
            let waiting = Some(waiting).filter(|_| wait.suspension.is_none());
            // Go's runtime wakes goroutines on a stack of its own, where nothing tells who made it do so.
            let is_of_go = suspended(process, wait).is_some_and(|(task, _)| task.runtime() == TaskRuntime::Go);
            let waking = wait.waker.zip(wait.wake_seq).filter(|_| !is_of_go);
            let own = [waiting, wait.holder.zip(wait.hold_seq), waking];
            calls.extend(own.into_iter().flatten());
            if let Some((at, call)) = wait.remote_process.zip(wait.remote_waker.zip(wait.wake_seq)) {
                remote.entry(at).or_default().push(call);
            }
            if let Some((at, call)) = wait.holder_process.zip(wait.remote_holder.zip(wait.hold_seq)) {
                remote.entry(at).or_default().push(call);
            }
        }
        let mut places = Self::of_calls(trace, process, calls)?;
        places.awaiting.extend(awaiting);
        for (at, calls) in remote {
            let Some(other) = usize::try_from(at).ok().and_then(|at| trace.processes().get(at)) else { continue };
            let found = Self::of_calls(trace, other, calls.iter().copied())?;
            let named = calls
                .into_iter()
                .filter_map(|(thread, seq)| Some(((at, thread, seq), found.name(other, thread, seq)?)));
            places.remote.extend(named);
        }
        Ok(places)
    }

    /// Adds those of others of the same process.
    pub(crate) fn extend(&mut self, others: Self) {
        self.places.extend(others.places);
        self.awaiting.extend(others.awaiting);
        self.remote.extend(others.remote);
    }

    /// The function around the call of another process that ended a wait.
    pub fn remote_name(&self, wait: &WaitSpan) -> Option<String> {
        self.remote.get(&(wait.remote_process?, wait.remote_waker?, wait.wake_seq?)).cloned()
    }

    /// The same of the call that took what was waited for.
    pub fn remote_hold_name(&self, wait: &WaitSpan) -> Option<String> {
        self.remote.get(&(wait.holder_process?, wait.remote_holder?, wait.hold_seq?)).cloned()
    }

    /// Those around calls, which are known by their opening events.
    pub fn of_calls(
        trace: &Trace,
        process: &TraceProcess,
        calls: impl IntoIterator<Item = (ThreadIndex, EventSeq)>,
    ) -> Result<Self, QueryError> {
        let mut wanted: BTreeMap<ThreadIndex, Vec<EventSeq>> = BTreeMap::new();
        for (thread, seq) in calls {
            wanted.entry(thread).or_default().push(seq);
        }
        let mut places = HashMap::new();
        if wanted.is_empty() {
            return Ok(Self { places, ..Self::default() });
        }
        let is_own = own_functions(trace, process);
        for (thread, mut seqs) in wanted {
            seqs.sort_unstable();
            seqs.dedup();
            let are_few = seqs.len() * FEW <= process.tables.blocks_of(thread).len();
            if are_few && Callers::can_look_up(&process.tables, thread) {
                look_up(process, thread, &seqs, &is_own, &mut places)?;
            } else {
                find(process, thread, &seqs, &is_own, &mut places)?;
            }
        }
        Ok(Self { places, ..Self::default() })
    }

    /// The function around a call.
    pub fn get(&self, thread: ThreadIndex, seq: EventSeq) -> Option<FunctionIndex> {
        self.places.get(&(thread, seq))?.own
    }

    /// The function that a wait is in.
    pub fn of_waiter(&self, wait: &WaitSpan) -> Option<FunctionIndex> {
        match wait.suspension {
            Some(_) => self.awaiting.get(&(wait.thread, wait.seq)).copied(),
            None => self.get(wait.thread, wait.seq),
        }
    }

    /// Its name.
    pub fn name_of_waiter(&self, process: &TraceProcess, wait: &WaitSpan) -> Option<String> {
        let label = process.label_at(self.of_waiter(wait)?)?;
        Some(if wait.suspension.is_some() { plain_name(label.name.clone()) } else { label.name.clone() })
    }

    /// What was called.
    pub fn called(&self, thread: ThreadIndex, seq: EventSeq) -> Option<FunctionIndex> {
        self.places.get(&(thread, seq)).map(|place| place.called)
    }

    /// Its name.
    pub fn name(&self, process: &TraceProcess, thread: ThreadIndex, seq: EventSeq) -> Option<String> {
        process.label_at(self.get(thread, seq)?).map(|label| label.name.clone())
    }
}

/// Looks calls up one by one.
fn look_up(
    process: &TraceProcess,
    thread: ThreadIndex,
    seqs: &[EventSeq],
    is_own: &[bool],
    places: &mut HashMap<(ThreadIndex, EventSeq), Place>,
) -> Result<(), QueryError> {
    let mut callers = Callers::new(&process.tables, thread, is_own);
    for &seq in seqs {
        if let Some((called, above)) = callers.of(seq)? {
            let itself = Some(called).filter(|it| is_own.get(it.as_usize()) == Some(&true));
            places.insert((thread, seq), Place { called, own: above.or(itself) });
        }
    }
    Ok(())
}

/// An open call, and the nearest function of the program's own around it.
struct Open {
    ends: SpanEnds,
    own: Option<FunctionIndex>,
}

impl OpenCall for Open {
    fn seq(&self) -> EventSeq {
        self.ends.seq
    }

    fn end(&self) -> TraceNanos {
        self.ends.end
    }
}

/// Goes once through a thread's calls, with the open ones at hand.
fn find(
    process: &TraceProcess,
    thread: ThreadIndex,
    seqs: &[EventSeq],
    is_own: &[bool],
    places: &mut HashMap<(ThreadIndex, EventSeq), Place>,
) -> Result<(), QueryError> {
    let tables = &process.tables;
    let mut columns = Columns::new();
    let mut chains = OpenChains::<Open>::default();
    let mut wanted = seqs.iter().copied().peekable();
    for block in tables.blocks_of(thread) {
        tables.read(block, |column| column != Column::Context, &mut columns)?;
        for row in 0..columns.rows() {
            let ends = SpanEnds::read(&columns, row);
            // Who jumps to another function has made the call.
            chains.go_to(ends.parent, ends.start, |top: &Open| top.ends.goes_on_in(ends.seq), |_| ());
            let above = chains.current().last().and_then(|it| it.own);
            let is_own = is_own.get(ends.function.as_usize()) == Some(&true);
            let own = if is_own { Some(ends.function) } else { above };
            while wanted.next_if(|it| *it < ends.seq).is_some() {}
            if wanted.next_if_eq(&ends.seq).is_some() {
                // In a static program the call itself would pass for the program's own.
                places.insert((thread, ends.seq), Place { called: ends.function, own: above.or(own) });
            }
            if wanted.peek().is_none() {
                return Ok(());
            }
            chains.current().push(Open { ends, own });
        }
    }
    Ok(())
}
