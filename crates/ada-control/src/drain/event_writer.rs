//! Makes events of records, and writes them with their detail.

use std::collections::HashMap;

use ada_event::{Event, EventSeq, ProcessId, ThreadId};
use ada_format::atf::HexAddr;
use ada_process::Clock;
use ada_ring::{DetailMode, DetailShape, Lane, RawRecord};

use super::batch_as_events::BatchAsEvents;
use super::batch_details::BatchDetails;
use super::batch_facts::BatchFacts;
use super::detail_lane::{REMEMBERED, ThreadChunks, ThreadDetails};
use super::event_tally::SharedTally;
use super::figures::Figures;
use super::gap_log::{GapLog, Wait};
use super::latencies::Latencies;
use super::own_stack::OwnStack;
use super::pending_chunk::PendingChunk;
use super::printed_calls::PrintedCalls;
use super::session::SessionFiles;
use super::signal_order::put_in_order;
use super::thread_progress::{BatchGaps, ThreadProgress};
use super::used_descriptors::UsedDescriptors;
use super::windows::{BatchEvents, Fired, Watch, WindowLog, event_times, learn_handlers, triggers_among};
use crate::error::ControlError;
use crate::install::function_numbers::{FunctionNumbers, SharedNumbers};
use crate::install::rings::Rings;

/// How far all threads have got, and what was written of them.
pub(super) struct EventWriter {
    pub(super) clock: Clock,
    pub(super) numbers: SharedNumbers,
    known: FunctionNumbers,
    pub(super) threads: HashMap<(ProcessId, ThreadId), ThreadProgress>,
    detail: DetailMode,
    pub(super) shape: DetailShape,
    /// Whether threads may soon have to wait for room.
    pub(super) is_behind: bool,
    /// What opens windows; `None` where detail is not kept for them.
    pub(super) watch: Option<Watch>,
    /// Calls that are printed, if any are.
    pub(super) printed: Option<PrintedCalls>,
    /// Who wants to know of descriptors, if anybody does.
    pub(super) descriptors: Option<UsedDescriptors>,
    pub(super) windows: WindowLog,
    pub(super) gaps: GapLog,
    /// How many events each function makes.
    pub(super) tally: SharedTally,
    pub(super) figures: Figures,
}

impl EventWriter {
    pub(super) fn new(
        clock: Clock,
        numbers: SharedNumbers,
        detail: DetailMode,
        shape: DetailShape,
        chunks: usize,
    ) -> Self {
        Self {
            clock,
            numbers,
            known: FunctionNumbers::default(),
            threads: HashMap::new(),
            detail,
            shape,
            is_behind: false,
            watch: None,
            printed: None,
            descriptors: None,
            windows: WindowLog::default(),
            gaps: GapLog::default(),
            tally: SharedTally::default(),
            figures: Figures::new(chunks),
        }
    }

    /// Collects what a thread has captured for the events of a batch. What belongs to an event was written before it. Where
    /// nothing is written any more, it is let go.
    pub(super) fn collect_details(
        &mut self,
        pending: &PendingChunk,
        facts: &BatchFacts,
        others: &ThreadChunks<'_>,
        has_handed_over_others: bool,
        is_written: bool,
    ) -> Vec<Wait> {
        let details = &mut self.threads.entry((pending.pid, pending.tid)).or_default().details;
        let (stride, limit) = (self.shape.layout().stride, facts.latest);
        let mut waits = Vec::new();
        if self.detail == DetailMode::All {
            // What belongs to events is read where it is when these are written.
            if facts.latest == 0 || !is_written {
                waits.extend(details.collect(others, Lane::Detail, stride, limit));
            }
        } else if self.watch.is_some() {
            waits.extend(details.collect_handed_over(others, stride, limit));
        }
        if facts.has_probes() || has_handed_over_others {
            waits.extend(details.collect(others, Lane::Probe, self.shape.probe_layout().stride, limit));
        }
        if !is_written {
            details.forget_until(limit);
        }
        waits
    }

    /// Writes the batch that was read of a chunk.
    pub(super) fn write(
        &mut self,
        batch: &mut [RawRecord],
        pending: &PendingChunk,
        facts: &BatchFacts,
        others: &ThreadChunks<'_>,
        own_stack: OwnStack,
        files: &mut SessionFiles,
    ) -> Result<(), ControlError> {
        if batch.is_empty() {
            return Ok(());
        }
        let detail = if self.detail == DetailMode::All { self.shape.layout().stride } else { 0 };
        files.take_room((batch.len() * (Event::SIZE + detail)) as u64)?;
        let mut times = if facts.is_in_order { Vec::new() } else { put_in_order(batch) };
        if facts.highest_function >= self.known.end() {
            self.known.clone_from(&self.numbers.read().expect("nobody panics with the lock"));
        }
        self.tally.lock().expect("nobody panics with the lock").add(pending.pid, batch, self.known.end());
        let thread = files.thread(pending.pid, pending.tid)?;
        thread.entry_mut().tid = Some(pending.tid);
        thread.entry_mut().handle = Some(HexAddr(pending.thread_pointer));
        thread.set_detail_compressed(!self.is_behind);
        let progress = self.threads.entry((pending.pid, pending.tid)).or_default();
        let with_changes = progress.stacks.changes(batch, &mut times, own_stack, facts.are_of_one_stack());
        let batch = with_changes.as_deref().unwrap_or(batch);
        let base = thread.next_seq();
        if let Some(watch) = self.watch.as_mut().filter(|_| facts.has_probes()) {
            learn_handlers(batch, &mut progress.details, watch);
        }
        if let Some(descriptors) = self.descriptors.as_mut().filter(|_| facts.has_probes()) {
            descriptors.batch((pending.pid, pending.tid), batch, &mut progress.details);
        }
        let mut has_windows = false;
        if let Some(watch) = self.watch.as_ref().filter(|watch| watch.is_on() || progress.window.is_open(base)) {
            let times = event_times(batch, &times, &self.clock, progress.last);
            progress.window.open_calls.own_stack = own_stack;
            progress.window.open_values.own_stack = own_stack;
            let by_values = watch.fired_by_values(batch, &mut progress.details, &mut progress.window.open_values);
            let events = BatchEvents { remembered: progress.details.remembered(), base, times: &times };
            let open_calls = &mut progress.window.open_calls;
            let fired = triggers_among(batch, &events, watch, open_calls, &by_values);
            progress.window.advance(fired, &events, watch.pre_roll(), watch.post_roll());
            has_windows = progress.window.has_work();
        }
        if has_windows {
            let stride = self.shape.layout().stride;
            for wait in progress.details.collect_kept(others, stride, facts.latest) {
                self.figures.waited(self.gaps.waited(pending.pid, thread.thread(), &self.clock, wait));
            }
            progress.write_remembered(thread, base, &self.known, &self.shape, &mut self.figures.details)?;
        }
        let records = batch;
        let remembered_from = match &self.watch {
            Some(_) => records.len().saturating_sub(REMEMBERED),
            None => usize::MAX,
        };
        let events = BatchAsEvents {
            records,
            times: &times,
            clock: self.clock,
            not_before: progress.last,
            thread: thread.thread(),
            own_stack,
            known: &self.known,
            links: &[],
        };
        if let Some(printed) = &mut self.printed {
            printed.batch(pending.pid, &events, &mut progress.details);
        }
        let is_all = self.detail == DetailMode::All;
        let (mut links, mut written) = (Vec::new(), Ok(()));
        if facts.has_probes() || facts.has_detail() && (is_all || has_windows) {
            let mut details = BatchDetails {
                events: &events,
                base,
                latest: facts.latest,
                is_all,
                details: &mut progress.details,
                window: has_windows.then_some(&mut progress.window),
                chunks: others,
                thread,
                shape: self.shape,
                figures: &mut self.figures,
                links: Vec::new(),
                waits: Vec::new(),
            };
            written = details.write();
            let waits;
            (links, waits) = (details.links, details.waits);
            for wait in waits {
                self.figures.waited(self.gaps.waited(pending.pid, thread.thread(), &self.clock, wait));
            }
        }
        let end = if written.is_ok() { records.len() } else { links.len() };
        let events = BatchAsEvents { links: &links, ..events };
        thread.append_events(events.range(0..end))?;
        written?;
        (remembered_from..records.len()).for_each(|number| events.remember(number, base, &mut progress.details));
        let each = records.len().div_ceil(Latencies::SAMPLES);
        for number in (0..records.len()).step_by(each) {
            self.figures.latencies.encoded(events.time(number), each as u64);
        }
        progress.last = events.time(records.len() - 1);
        if self.watch.is_some() {
            progress.details.forget_unremembered();
        } else {
            progress.details.forget_until(facts.latest);
        }
        if has_windows {
            let id = thread.thread();
            progress.window.finished(id, false).for_each(|window| self.windows.push(pending.pid, window));
            if !progress.window.is_open(thread.next_seq()) {
                ThreadDetails::unwant(others);
            }
        }
        self.figures.events += batch.len() as u64;
        Ok(())
    }

    /// Notes where a thread's events are missing or late. `first` is the first record of the batch; `cut` is how many were
    /// not written, if a write has failed.
    pub(super) fn note_gaps(
        &mut self,
        pending: &PendingChunk,
        gaps: BatchGaps,
        first: Option<u64>,
        cut: Option<u64>,
        files: &SessionFiles,
    ) {
        let thread = files.thread_id(pending.pid, pending.tid).unwrap_or(pending.tid);
        let Some(begin) = first.map(|tsc| self.clock.at(tsc)) else { return };
        if gaps.taken_back > 0 {
            self.gaps.lost(pending.pid, thread, begin, gaps.taken_back);
        }
        if gaps.without_chunk > 0 {
            self.gaps.lost_without_chunk(pending.pid, thread, begin, gaps.without_chunk);
        }
        for tsc in gaps.torn {
            self.gaps.lost(pending.pid, thread, self.clock.at(tsc), 1);
        }
        for wait in gaps.waits {
            self.figures.waited(self.gaps.waited(pending.pid, thread, &self.clock, wait));
        }
        // All that comes is missing too, and one word of it is enough.
        let progress = self.threads.entry((pending.pid, pending.tid)).or_default();
        if let Some(count) = cut
            && !std::mem::replace(&mut progress.is_cut, true)
        {
            self.gaps.lost(pending.pid, thread, begin, count);
        }
    }

    /// Forgets a thread that has ended, whose windows end with it.
    pub(super) fn thread_ended(&mut self, pending: &PendingChunk, files: &SessionFiles) {
        if let Some(mut progress) = self.threads.remove(&(pending.pid, pending.tid)) {
            let id = files.thread_id(pending.pid, pending.tid).unwrap_or(pending.tid);
            progress.window.finished(id, true).for_each(|window| self.windows.push(pending.pid, window));
        }
    }

    /// Begins a new segment of a ring, in which windows cannot go on.
    pub(super) fn turn_segment(&mut self, files: &mut SessionFiles) -> Result<(), ControlError> {
        for (&(pid, tid), progress) in &mut self.threads {
            progress.details.forget_remembered();
            let (Some(id), Some(end)) = (files.thread_id(pid, tid), files.next_seq(pid, tid)) else { continue };
            progress.window.begin_file(end, id).for_each(|window| self.windows.push(pid, window));
        }
        if let Some(gone_before) = files.turn_segment()? {
            self.windows.forget_before(gone_before);
            self.gaps.forget_before(gone_before);
        }
        Ok(())
    }

    /// Opens a window of this name on all threads of a process, and writes the newest detail.
    pub(super) fn open_windows(
        &mut self,
        rings: &Rings,
        pid: ProcessId,
        name: &str,
        files: &mut SessionFiles,
    ) -> Result<(), ControlError> {
        let Some(watch) = &self.watch else { return Ok(()) };
        for (&(_, tid), progress) in self.threads.iter_mut().filter(|((process, _), _)| *process == pid) {
            let thread = files.thread(pid, tid)?;
            let end = thread.next_seq();
            let Some(last) = end.0.checked_sub(1).map(EventSeq) else { continue };
            let events = BatchEvents { remembered: progress.details.remembered(), base: end, times: &[] };
            let fired = Fired { name: name.to_owned(), event: last, time: progress.last };
            progress.window.advance(vec![fired], &events, watch.pre_roll(), watch.post_roll());
            let others = ThreadChunks { rings, pid, tid, known: None };
            for wait in progress.details.collect_kept(&others, self.shape.layout().stride, u64::MAX) {
                self.figures.waited(self.gaps.waited(pid, thread.thread(), &self.clock, wait));
            }
            progress.write_remembered(thread, end, &self.known, &self.shape, &mut self.figures.details)?;
        }
        Ok(())
    }

    /// Ends all windows: all threads have come to their end.
    pub(super) fn finish_windows(&mut self, files: &SessionFiles) {
        for (&(pid, tid), progress) in &mut self.threads {
            let id = files.thread_id(pid, tid).unwrap_or(tid);
            progress.window.finished(id, true).for_each(|window| self.windows.push(pid, window));
        }
    }
}
