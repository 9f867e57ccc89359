//! Makes events of records, and writes them with their detail.

use ada_event::{DetailSeq, Event, EventKind, EventSeq, FunctionId, ThreadId, TraceNanos};
use ada_format::atf::HexAddr;
use ada_ring::record::RecordKind;
use ada_ring::{DetailMode, RawRecord};

use super::Drain;
use super::held::Held;
use crate::ControlError;
use crate::detail_lane::{REMEMBERED, Remembered, ThreadDetails};
use crate::latency::Latencies;
use crate::order::put_in_order;
use crate::session::{SessionFiles, failed};
use crate::windows::{BatchEvents, event_times, learn_handlers, triggers_among};

impl Drain {
    /// Writes the batch that was read of a chunk.
    pub(super) fn write(&mut self, held: &Held, shadow_base_low: u32, files: &mut SessionFiles) -> Result<(), ControlError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let times = put_in_order(&mut self.batch);
        if self.batch.iter().any(|record| record.function as usize >= self.known.len()) {
            self.known.clone_from(&self.numbers.read().expect("nobody panics with the lock"));
        }
        self.tally.lock().expect("nobody panics with the lock").add(held.pid, &self.batch);
        let thread = files.thread(held.pid, held.tid)?;
        thread.entry_mut().tid = Some(held.tid);
        thread.entry_mut().handle = Some(HexAddr(held.thread_pointer));
        let sampled = self.batch.len().div_ceil(Latencies::SAMPLES);
        let progress = self.threads.entry((held.pid, held.tid)).or_default();
        let base = thread.next_seq().0;
        if let Some(watch) = &mut self.watch {
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
            let limit = self.batch.iter().map(|record| record.tsc).max().unwrap_or(0);
            let stride = self.shape.stride();
            for wait in progress.details.collect_kept(&self.pool, stride, held.pid, held.tid, limit) {
                self.waited_ns += self.gaps.waited(held.pid, thread.thread(), &self.clock, wait);
            }
            progress.write_remembered(thread, base, &self.known, &self.shape, &mut self.details)?;
        }
        self.bytes.clear();
        for (number, record) in self.batch.iter().enumerate() {
            let tsc = times.get(number).copied().unwrap_or(record.tsc);
            let time = self.clock.at(tsc).max(progress.last);
            progress.last = time;
            if number % sampled == 0 {
                self.latencies.encoded(time, sampled as u64);
            }
            let event = to_event(record, time, thread.thread(), shadow_base_low, &self.known);
            let position = base + number as u64;
            let mut window = progress.window.of(position).filter(|_| has_windows);
            let is_wanted = self.detail == DetailMode::All || window.is_some();
            if record.is_probed() || record.has_detail() && is_wanted {
                if let Some(captured) = progress.details.take(record.tsc) {
                    thread.append_raw(&self.bytes).map_err(failed)?;
                    self.bytes.clear();
                    let (payload, lane) = if record.is_probed() {
                        (captured.probe_payload(event.function), &mut self.probes)
                    } else {
                        (captured.payload(event.function, &self.shape), &mut self.details)
                    };
                    lane.written += 1;
                    lane.bytes += thread.append_with_detail(&event, &payload).map_err(failed)?;
                    window.iter_mut().for_each(|window| window.wrote(time));
                    continue;
                }
                match &mut window {
                    Some(window) => window.lost(),
                    None => self.details_lost += 1,
                }
            }
            if self.watch.is_some() && record.has_detail() && number + REMEMBERED >= self.batch.len() {
                let remembered =
                    Remembered { tsc: record.tsc, seq: EventSeq(position), time, function: record.function };
                progress.details.remember(remembered);
            }
            self.bytes.extend_from_slice(&event.to_le_bytes());
        }
        thread.append_raw(&self.bytes).map_err(failed)?;
        if self.watch.is_some() {
            progress.details.forget_unremembered();
        } else if let Some(last) = self.batch.iter().map(|record| record.tsc).max() {
            progress.details.forget_until(last);
        }
        if has_windows {
            let id = thread.thread();
            progress.window.finished(id, false).for_each(|window| self.windows.push(held.pid, window));
            if !progress.window.is_open(thread.next_seq().0) {
                ThreadDetails::unwant(&self.pool, held.pid, held.tid);
            }
        }
        self.events += self.batch.len() as u64;
        Ok(())
    }
}

fn to_event(
    record: &RawRecord,
    timestamp: TraceNanos,
    thread: ThreadId,
    shadow_base_low: u32,
    known: &[FunctionId],
) -> Event {
    Event {
        timestamp,
        function: known.get(record.function as usize).copied().unwrap_or_default(),
        thread,
        kind: match record.kind() {
            RecordKind::EntryOnly if record.is_uncaught() => EventKind::ENTRY,
            RecordKind::Call | RecordKind::EntryOnly => EventKind::CALL,
            RecordKind::Return => EventKind::RETURN,
            RecordKind::Unwound => EventKind::EXCEPTION,
        },
        depth: record.depth(shadow_base_low),
        detail: DetailSeq::NONE,
    }
}
