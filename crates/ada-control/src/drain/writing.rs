//! Makes events of records, and writes them with their detail.

use ada_format::atf::HexAddr;
use ada_ring::DetailMode;

use crate::drain::Drain;
use crate::drain::batch_as_events::BatchAsEvents;
use crate::drain::batch_facts::BatchFacts;
use crate::drain::detail_lane::{REMEMBERED, ThreadChunks, ThreadDetails};
use crate::drain::latencies::Latencies;
use crate::drain::pending_chunk::PendingChunk;
use crate::drain::session::SessionFiles;
use crate::drain::signal_order::put_in_order;
use crate::drain::windows::{BatchEvents, event_times, learn_handlers, triggers_among};
use crate::error::ControlError;

impl Drain {
    /// Writes the batch that was read of a chunk.
    pub(super) fn write(
        &mut self,
        pending: &PendingChunk,
        facts: &BatchFacts,
        others: &ThreadChunks<'_>,
        shadow_base_low: u32,
        files: &mut SessionFiles,
    ) -> Result<(), ControlError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let times = if facts.is_in_order { Vec::new() } else { put_in_order(&mut self.batch) };
        if facts.highest_function >= self.known.end() {
            self.known.clone_from(&self.numbers.read().expect("nobody panics with the lock"));
        }
        self.tally.lock().expect("nobody panics with the lock").add(pending.pid, &self.batch);
        let thread = files.thread(pending.pid, pending.tid)?;
        thread.entry_mut().tid = Some(pending.tid);
        thread.entry_mut().handle = Some(HexAddr(pending.thread_pointer));
        let progress = self.threads.entry((pending.pid, pending.tid)).or_default();
        let base = thread.next_seq().0;
        if let Some(watch) = self.watch.as_mut().filter(|_| facts.has_probes()) {
            learn_handlers(&self.batch, &mut progress.details, watch);
        }
        let mut has_windows = false;
        if let Some(watch) = self.watch.as_ref().filter(|watch| watch.is_on() || progress.window.is_open(base)) {
            let times = event_times(&self.batch, &times, &self.clock, progress.last);
            let events = BatchEvents { remembered: progress.details.remembered(), base, times: &times };
            let open_calls = &mut progress.window.open_calls;
            let fired = triggers_among(&self.batch, &events, shadow_base_low, watch, open_calls);
            progress.window.advance(fired, &events, watch.pre_roll(), watch.post_roll());
            has_windows = progress.window.has_work();
        }
        if has_windows {
            let stride = self.shape.stride();
            for wait in progress.details.collect_kept(others, stride, facts.latest) {
                self.waited_ns += self.gaps.waited(pending.pid, thread.thread(), &self.clock, wait);
            }
            progress.write_remembered(thread, base, &self.known, &self.shape, &mut self.details)?;
        }
        let records = &self.batch[..];
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
            shadow_base_low,
            known: &self.known,
        };
        let may_want_detail =
            facts.has_probes() || facts.has_detail() && (self.detail == DetailMode::All || has_windows);
        let mut at = 0;
        while at < records.len() {
            let wants_detail = |number: &usize| {
                let record = records[*number];
                let mut is_wanted = || {
                    self.detail == DetailMode::All || has_windows && progress.window.of(base + *number as u64).is_some()
                };
                record.is_probed() || record.has_detail() && is_wanted()
            };
            let left = Some(at..records.len()).filter(|_| may_want_detail);
            let next = left.and_then(|mut left| left.find(wants_detail));
            let end = next.unwrap_or(records.len());
            thread.append_events(events.range(at..end)).map_err(ControlError::from)?;
            let remembered = (at..end).skip(remembered_from.saturating_sub(at));
            remembered.for_each(|number| events.remember(number, base, &mut progress.details));
            let Some(number) = next else { break };
            at = number + 1;
            let (record, event) = (&records[number], events.event(number));
            let mut window = progress.window.of(base + number as u64).filter(|_| has_windows);
            if let Some(captured) = progress.details.take(record.tsc) {
                let (payload, lane) = if record.is_probed() {
                    (captured.probe_payload(event.function), &mut self.probes)
                } else {
                    (captured.payload(event.function, &self.shape), &mut self.details)
                };
                lane.written += 1;
                lane.bytes += thread.append_with_detail(&event, &payload).map_err(ControlError::from)?;
                window.iter_mut().for_each(|window| window.wrote(event.timestamp));
                continue;
            }
            match &mut window {
                Some(window) => window.lost(),
                None => self.details_lost += 1,
            }
            if number >= remembered_from {
                events.remember(number, base, &mut progress.details);
            }
            thread.append(&event).map_err(ControlError::from)?;
        }
        let each = records.len().div_ceil(Latencies::SAMPLES);
        for number in (0..records.len()).step_by(each) {
            self.latencies.encoded(events.time(number), each as u64);
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
            if !progress.window.is_open(thread.next_seq().0) {
                ThreadDetails::unwant(others);
            }
        }
        self.events += self.batch.len() as u64;
        Ok(())
    }
}
