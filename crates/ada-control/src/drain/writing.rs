//! Makes events of records, and writes them with their detail.

use ada_format::atf::HexAddr;
use ada_ring::DetailMode;

use super::Drain;
use super::batch_as_events::BatchAsEvents;
use super::batch_facts::BatchFacts;
use super::held::Held;
use crate::ControlError;
use crate::detail_lane::{REMEMBERED, ThreadChunks, ThreadDetails};
use crate::latency::Latencies;
use crate::order::put_in_order;
use crate::session::{SessionFiles, failed};
use crate::windows::{BatchEvents, event_times, learn_handlers, triggers_among};

impl Drain {
    /// Writes the batch that was read of a chunk.
    pub(super) fn write(
        &mut self,
        held: &Held,
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
        self.tally.lock().expect("nobody panics with the lock").add(held.pid, &self.batch);
        let thread = files.thread(held.pid, held.tid)?;
        thread.entry_mut().tid = Some(held.tid);
        thread.entry_mut().handle = Some(HexAddr(held.thread_pointer));
        let progress = self.threads.entry((held.pid, held.tid)).or_default();
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
                self.waited_ns += self.gaps.waited(held.pid, thread.thread(), &self.clock, wait);
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
            thread.append_events(events.range(at..end)).map_err(failed)?;
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
                lane.bytes += thread.append_with_detail(&event, &payload).map_err(failed)?;
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
            thread.append(&event).map_err(failed)?;
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
            progress.window.finished(id, false).for_each(|window| self.windows.push(held.pid, window));
            if !progress.window.is_open(thread.next_seq().0) {
                ThreadDetails::unwant(others);
            }
        }
        self.events += self.batch.len() as u64;
        Ok(())
    }
}
