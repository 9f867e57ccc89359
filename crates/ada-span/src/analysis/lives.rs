//! The lives of threads: where each begins and ends, and what it ran.

use std::collections::HashMap;

use ada_event::{EventSeq, FunctionId, RuntimeAddr, TraceNanos};

use super::routine::{Rows, after_jumps, routine_begun_before, with_registers};
use crate::error::SpanError;
use crate::function_traits::FunctionTraits;
use crate::outcome::{Outcome, Reason, Status};
use crate::pthread::{Creations, Routine, ThreadLife, ThreadMark};
use crate::role::Role;
use crate::source::{ProcessSource, ThreadInfo};
use crate::table::{Columns, Tables};
use crate::thread_index::ThreadIndex;

/// Thread ids have 22 bits on Linux; the bits above number the threads, or parts of one, that had the same id.
const GENERATION_SHIFT: u32 = 22;

/// What lives are found from.
pub(super) struct LifeFinder<'a> {
    pub(super) tables: &'a Tables,
    pub(super) source: &'a dyn ProcessSource,
    pub(super) threads: &'a [ThreadInfo],
    pub(super) traits: &'a FunctionTraits,
    /// When the process was attached to, if it was.
    pub(super) attached_time: Option<TraceNanos>,
}

impl LifeFinder<'_> {
    /// What is known of all threads before they are matched with their creations. A thread of the trace can be several in
    /// turn, where the system has used an id again.
    pub(super) fn lives(
        &self,
        mut starts: Vec<ThreadMark>,
        mut teardowns: Vec<ThreadMark>,
    ) -> Result<Vec<ThreadLife>, SpanError> {
        starts.sort_by_key(|start| (start.thread, start.seq));
        teardowns.sort_by_key(|teardown| (teardown.thread, teardown.seq));
        let mut columns = Columns::new();
        let mut lives = Vec::with_capacity(self.threads.len());
        for (thread, (info, entry)) in
            ThreadIndex::all(self.threads.len()).zip(self.threads.iter().zip(&self.tables.meta().threads))
        {
            let starts = of_thread(&starts, thread);
            let teardowns = of_thread(&teardowns, thread);
            let is_continued = entry.facts.begun_at_depth > 0 && info.id.0 >> GENERATION_SHIFT > 0 && starts.is_empty();
            let rows = self.tables.blocks_of(thread);
            if info.is_first || is_continued || rows.is_empty() {
                continue;
            }
            let (first_time, last_time) = (entry.facts.first_time, entry.facts.last_time);
            // Its first events were lost.
            let is_cut = self.source.losses(thread).first().is_some_and(|loss| *loss <= first_time);
            if starts.is_empty() && (entry.facts.begun_at_depth > 0 || info.is_attached) {
                let before = self.source.open_calls(thread);
                let first_time = entry.facts.start_time;
                lives.push(ThreadLife {
                    thread,
                    begin_seq: EventSeq(0),
                    first_time,
                    last_time,
                    ready_time: first_time,
                    teardown: teardowns.first().copied(),
                    handle: info.handle,
                    tid: info.tid,
                    name: info.name,
                    exit_value: info.exit_value,
                    routine: routine_begun_before(self.tables, thread, self.traits, first_time, self.attached_time)?
                        .or_else(|| self.routine_of_open_calls(&before, first_time)),
                    is_midway: !is_cut,
                    is_cut,
                });
                continue;
            }
            // What comes before the library's first function, or without it, is the first life.
            let begin = ThreadMark { thread, seq: EventSeq(0), time: first_time };
            let begins: Vec<ThreadMark> = std::iter::once(begin).chain(starts.iter().skip(1).copied()).collect();
            for (number, begin) in begins.iter().enumerate() {
                let next = begins.get(number + 1);
                let until = next.map_or(EventSeq(u64::MAX), |next| next.seq);
                let of_life = self.rows(&mut columns, thread, begin.seq, until)?;
                let is_midway = self.attached_time == Some(begin.time);
                let is_own = |teardown: &&ThreadMark| (begin.seq..until).contains(&teardown.seq);
                lives.push(ThreadLife {
                    thread,
                    begin_seq: begin.seq,
                    first_time: begin.time,
                    last_time: next.map_or(last_time, |next| next.time),
                    ready_time: of_life.ready_time().unwrap_or(begin.time),
                    teardown: teardowns.iter().find(is_own).copied(),
                    handle: info.handle.or_else(|| of_life.handed_to_start(self.source, thread)),
                    tid: info.tid,
                    name: info.name.filter(|_| is_midway),
                    // Of an id that was used again, the last thread has left it.
                    exit_value: info.exit_value.filter(|_| next.is_none()),
                    routine: match of_life.routine() {
                        Some(routine) => Some(self.whole(thread, routine, until)?),
                        None => None,
                    },
                    is_midway,
                    is_cut,
                });
            }
        }
        Ok(lives)
    }

    /// Creations say which function each thread runs: what was taken for it because it was recorded first may be called by
    /// one that is not hooked.
    pub(super) fn follow_creations(&self, lives: &mut [ThreadLife], creations: &Creations) -> Result<(), SpanError> {
        let mut columns = Columns::new();
        let by_address: HashMap<RuntimeAddr, FunctionId> = self.traits.addresses().collect();
        for number in 0..lives.len() {
            let life = lives[number];
            let Some(address) = creations.routine_of(number) else { continue };
            if life.routine.is_some_and(|routine| routine.address == Some(address)) {
                continue;
            }
            let next = lives.get(number + 1).filter(|next| next.thread == life.thread);
            let until = next.map_or(EventSeq(u64::MAX), |next| next.begin_seq);
            let rows = self.rows(&mut columns, life.thread, life.begin_seq, until)?;
            let function = by_address.get(&address).copied();
            lives[number].routine = Some(match function.and_then(|function| rows.routine_of(function)) {
                Some(routine) => self.whole(life.thread, routine, until)?,
                None => self.unseen_routine(function, address, &rows, life.ready_time),
            });
        }
        Ok(())
    }

    fn rows<'a>(
        &'a self,
        columns: &'a mut Columns,
        thread: ThreadIndex,
        from: EventSeq,
        until: EventSeq,
    ) -> Result<Rows<'a>, SpanError> {
        let block = self.tables.block_of(thread, from).unwrap_or(self.tables.blocks_of(thread).start);
        self.tables.read(block, |_| true, columns)?;
        let range = columns.first_row_from(from)..columns.first_row_from(until);
        Ok(Rows { tables: self.tables, columns, traits: self.traits, range })
    }

    fn whole(&self, thread: ThreadIndex, routine: Routine, until: EventSeq) -> Result<Routine, SpanError> {
        let routine = after_jumps(self.tables, thread, routine, until)?;
        Ok(with_registers(routine, self.source, thread))
    }

    /// A start routine whose calls are not recorded. It begins when the C library is ready.
    fn unseen_routine(
        &self,
        function: Option<FunctionId>,
        address: RuntimeAddr,
        rows: &Rows<'_>,
        ready_time: TraceNanos,
    ) -> Routine {
        let is_runtime = function.is_none_or(|function| self.traits.get(function).is_runtime);
        let called = if is_runtime { rows.first_own() } else { None };
        Routine { address: Some(address), ..unseen(function, called.or(function), ready_time) }
    }

    /// What a thread was in when it was attached to: the outermost of the program's own functions.
    fn routine_of_open_calls(&self, newest_first: &[FunctionId], first_time: TraceNanos) -> Option<Routine> {
        let is_own = |function: &&FunctionId| {
            let known = self.traits.get(**function);
            !known.is_runtime && known.role == Role::Plain
        };
        let outermost = newest_first.iter().rev().find(is_own).copied()?;
        Some(Routine {
            address: self.traits.get(outermost).address,
            ..unseen(Some(outermost), Some(outermost), first_time)
        })
    }
}

fn of_thread(marks: &[ThreadMark], thread: ThreadIndex) -> &[ThreadMark] {
    let first = marks.partition_point(|mark| mark.thread < thread);
    let count = marks[first..].partition_point(|mark| mark.thread == thread);
    &marks[first..first + count]
}

fn unseen(function: Option<FunctionId>, user_function: Option<FunctionId>, start: TraceNanos) -> Routine {
    Routine {
        seq: None,
        depth: 0,
        close_seq: None,
        start,
        end: start,
        outcome: Outcome::new(Status::EntryOnly, Reason::None),
        function,
        address: None,
        argument: None,
        result: None,
        user_function,
    }
}
