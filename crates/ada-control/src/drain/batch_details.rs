//! Writes the detail of a batch's events, before the events themselves.

use ada_event::{DetailSeq, EventSeq};
use ada_format::atf::{ThreadWriter, WriteError};
use ada_ring::{DetailShape, Lane};

use super::batch_as_events::BatchAsEvents;
use super::detail_lane::{ThreadChunks, ThreadDetails};
use super::details_in_place::DetailsInPlace;
use super::figures::Figures;
use super::gap_log::Wait;
use super::windows::ThreadWindow;

/// A batch whose detail is being written.
pub(super) struct BatchDetails<'a> {
    pub(super) events: &'a BatchAsEvents<'a>,
    /// The position of its first event.
    pub(super) base: EventSeq,
    /// The latest time stamp of its events.
    pub(super) latest: u64,
    /// Whether all detail is written, and not only that in windows.
    pub(super) is_all: bool,
    pub(super) details: &'a mut ThreadDetails,
    /// Where there are windows.
    pub(super) window: Option<&'a mut ThreadWindow>,
    pub(super) chunks: &'a ThreadChunks<'a>,
    pub(super) thread: &'a mut ThreadWriter,
    pub(super) shape: DetailShape,
    pub(super) figures: &'a mut Figures,
    /// The link of each event, as far as detail is written.
    pub(super) links: Vec<DetailSeq>,
    /// How long the thread waited for chunks that were freed.
    pub(super) waits: Vec<Wait>,
}

impl BatchDetails<'_> {
    /// Writes the detail. If that fails, the events that have a link can be written all the same.
    pub(super) fn write(&mut self) -> Result<(), WriteError> {
        self.links.reserve(self.events.records.len());
        let mut in_place = self.is_all.then(|| DetailsInPlace::of(self.chunks, self.shape.layout().stride));
        while self.links.len() < self.events.records.len() {
            if let Some(details) = &mut in_place {
                self.write_in_place(details)?;
                let Some(next) = self.events.records.get(self.links.len()) else { break };
                // It is not where it should be: a handler interrupted a stub, or something is lost. What remains of the
                // batch is found by its time stamps.
                if !next.is_probed()
                    && let Some(details) = in_place.take()
                {
                    self.waits.extend(details.end());
                    let stride = self.shape.layout().stride;
                    self.waits.extend(self.details.collect(self.chunks, Lane::Detail, stride, self.latest));
                }
            }
            let link = self.write_found(self.links.len())?;
            self.links.push(link);
        }
        self.waits.extend(in_place.map(DetailsInPlace::end).into_iter().flatten());
        Ok(())
    }

    /// Writes from the rings to the file, as far as the next detail is that of the next event.
    fn write_in_place(&mut self, details: &mut DetailsInPlace<'_>) -> Result<(), WriteError> {
        let events = self.events;
        for (number, record) in events.records.iter().enumerate().skip(self.links.len()) {
            let mut link = DetailSeq::NONE;
            if record.is_probed() {
                break;
            }
            if record.has_detail() {
                let Some(captured) = details.take(record.tsc) else { break };
                let stored = captured.stored(events.known.get(record.function), &self.shape);
                let bytes;
                (link, bytes) = self.thread.append_captured(self.base + number as u64, events.time(number), &stored)?;
                self.figures.details.written += 1;
                self.figures.details.bytes += bytes;
            }
            self.links.push(link);
        }
        Ok(())
    }

    /// Writes what was collected of an event, if it is wanted.
    fn write_found(&mut self, number: usize) -> Result<DetailSeq, WriteError> {
        let record = &self.events.records[number];
        let seq = self.base + number as u64;
        let window = self.window.as_mut().and_then(|window| window.of(seq));
        let is_wanted = record.is_probed() || record.has_detail() && (self.is_all || window.is_some());
        if !is_wanted {
            return Ok(DetailSeq::NONE);
        }
        let Some(captured) = self.details.take(record.tsc) else {
            match window {
                Some(window) => window.lost(),
                None => self.figures.details_lost += 1,
            }
            return Ok(DetailSeq::NONE);
        };
        let (function, time) = (self.events.known.get(record.function), self.events.time(number));
        let (payload, lane) = if record.is_probed() {
            (captured.whole_probe_payload(function, &self.shape.probe_layout()), &mut self.figures.probes)
        } else {
            (captured.payload(function, &self.shape), &mut self.figures.details)
        };
        let (link, bytes) = self.thread.append_detail(seq, time, &payload)?;
        lane.written += 1;
        lane.bytes += bytes;
        window.into_iter().for_each(|window| window.wrote(time));
        Ok(link)
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use ada_event::{Event, ProcessId, ThreadId, TraceNanos};
    use ada_format::atf::{Payload, Session, SessionWriter, Store, SyncPolicy};
    use ada_process::Clock;
    use ada_ring::record::HAS_DETAIL;
    use ada_ring::{ChunkState, DetailMode, OnFull, RawRecord};

    use super::super::details_in_place::tests::{SHAPE, begin, capture};
    use super::super::own_stack::OwnStack;
    use super::*;
    use crate::arch::platform::PLATFORM;
    use crate::install::function_numbers::FunctionNumbers;
    use crate::install::shared_memory::SharedMemory;

    /// The first arguments of the calls that a thread has written, in the order of events; none where there is no detail.
    fn arguments(session: &Session) -> Vec<Option<u64>> {
        let thread = session.threads().next().unwrap();
        let details = thread.detail().unwrap();
        let events = thread.chunks().flat_map(|chunk| chunk.iter().map(Event::from_le_bytes).collect::<Vec<_>>());
        let argument = |event: Event| match event.detail.get().map(|_| details.record(event.detail).unwrap())?.payload()
        {
            Ok(Payload::X86Call(call)) => Some(call.rdi),
            other => panic!("{other:?}"),
        };
        events.map(argument).collect()
    }

    #[test]
    fn each_event_has_its_own_detail_in_whatever_order_it_was_captured() {
        for store in [Store::Raw, Store::Packed] {
            let shared = SharedMemory::new(1, OnFull::Wait, DetailMode::All).unwrap();
            let pool = shared.pool();
            let chunks = ThreadChunks { rings: &shared.rings, pid: ProcessId(0), tid: ThreadId(0), known: None };
            begin(&pool, 0, 0);
            // The fifth event's stub reserved its detail, and was interrupted by two calls before it read the clock; of an
            // event that is lost there is detail too; one has none; and one is still to be written.
            let captured = [100, 101, 104, 102, 103, 105, 107, 900];
            captured.into_iter().enumerate().for_each(|(number, tsc)| capture(&pool, 0, number, tsc));
            let record = |tsc| RawRecord { tsc, function: 0, top_and_kind: HAS_DETAIL };
            let batches = [vec![100, 101, 102, 103, 104, 106, 107], vec![108, 900]];
            let folder = tempfile::tempdir().unwrap();
            let mut writer =
                SessionWriter::create(folder.path(), UNIX_EPOCH, ProcessId(1), PLATFORM, SyncPolicy::Never).unwrap();
            writer.set_store(store);
            let mut thread = writer.thread(ThreadId(1)).unwrap();
            let (mut details, mut figures) = (ThreadDetails::default(), Figures::new(1));
            for times in batches {
                let records: Vec<RawRecord> = times.iter().copied().map(record).collect();
                let events = BatchAsEvents {
                    records: &records,
                    times: &[],
                    clock: Clock::in_nanoseconds(0),
                    not_before: TraceNanos(0),
                    thread: ThreadId(1),
                    own_stack: OwnStack::default(),
                    known: &FunctionNumbers::default(),
                    links: &[],
                };
                let latest = *times.last().unwrap();
                let mut batch = BatchDetails {
                    events: &events,
                    base: thread.next_seq(),
                    latest,
                    is_all: true,
                    details: &mut details,
                    window: None,
                    chunks: &chunks,
                    thread: &mut thread,
                    shape: SHAPE,
                    figures: &mut figures,
                    links: Vec::new(),
                    waits: Vec::new(),
                };
                batch.write().unwrap();
                let links = batch.links;
                thread.append_events(BatchAsEvents { links: &links, ..events }.range(0..records.len())).unwrap();
                details.forget_until(latest);
            }
            writer.finish_thread(thread).unwrap();
            let session = Session::open(writer.finish().unwrap()).unwrap();
            let expected = [Some(100), Some(101), Some(102), Some(103), Some(104), None, Some(107), None, Some(900)];
            assert_eq!(arguments(&session), expected);
            assert_eq!((figures.details.written, figures.details_lost), (7, 2));
            assert_eq!(pool.state(0), ChunkState::Active as u32);
        }
    }
}
