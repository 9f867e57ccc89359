//! Reads a whole session and checks everything that can be checked without knowing the program.

use ada_event::{DetailSeq, Event, EventSeq, ThreadId};

use super::detail::DetailFile;
use super::finding::FileFindings;
use super::index::IndexFile;
use super::{Finding, HeldRecords, Problem, Process, Session, ThreadDetail, ThreadEvents, ThreadTrace};
use crate::atf::detail::{DetailCheck, DetailShape};
use crate::atf::index::{IndexCheck, IndexShape};
use crate::atf::map::Mapping;
use crate::atf::packed::{Around, EventDecoder, PackedFile, PackedShape};
use crate::atf::{Damage, DetailRecord, DetailView};

/// Bytes of detail that are read before their pages are given back.
const RELEASE_EVERY: usize = 4 << 20;

impl Session {
    /// Checks checksums, times, threads and links of all files, and gives what was found beyond [`Self::findings`].
    /// `progress` is called with how many more bytes were read. Memory stays flat.
    pub fn verify(&self, mut progress: impl FnMut(u64)) -> Vec<Finding> {
        let mut found = Vec::new();
        for process in &self.processes {
            for thread in &process.threads {
                verify_index(thread, &mut found, &mut progress);
                verify_detail(thread, &mut found, &mut progress);
            }
            verify_counts(process, &mut found);
            verify_times(process, &mut found);
        }
        found
    }
}

fn verify_index(thread: &ThreadTrace, list: &mut Vec<Finding>, progress: &mut impl FnMut(u64)) {
    let mut found = FileFindings::new(thread.index_path(), list);
    let mut links = DetailLinks::new(thread);
    let mut feed =
        |check: &mut IndexCheck, first: EventSeq, events: &[[u8; Event::SIZE]], found: &mut FileFindings<'_>| {
            check.go_on_at(first);
            check.feed(events, |damage| found.damage(damage));
            for (seq, event) in (first.0..).zip(events.iter().map(Event::from_le_bytes)) {
                if event.detail != DetailSeq::NONE {
                    let (detail, back) = (event.detail, links.back(event.detail));
                    if back.map(u64::from) != Some(seq) {
                        found.damage(Damage::DetailLink { seq: EventSeq(seq), detail, back });
                    }
                }
            }
            thread.release();
            progress(events.as_flattened().len() as u64);
        };
    match &thread.index {
        IndexFile::Raw { shape, .. } => {
            check_header(thread, shape.header.as_ref().map(|header| header.thread), &mut found);
            let mut check = IndexCheck::new(shape);
            for chunk in thread.chunks() {
                feed(&mut check, chunk.first_seq(), &chunk, &mut found);
            }
            check.finish(shape, true, |damage| found.damage(damage));
        }
        IndexFile::Packed(packed) => {
            let PackedFile { map, shape: blocks } = &*packed.file;
            check_header(thread, blocks.header().map(|header| header.thread), &mut found);
            let (head, tail, has_crc) = parts(blocks.around());
            let shape = IndexShape::around(head, tail, blocks.len());
            let mut check = IndexCheck::new(&shape);
            let (mut decoder, mut events) = (EventDecoder::default(), Vec::new());
            for block in 0..blocks.block_count() {
                match blocks.read_events(map.bytes(), block, &mut decoder, &mut events) {
                    Ok(()) => feed(&mut check, first_of(blocks, block), &events, &mut found),
                    Err(damage) => found.damage(damage),
                }
            }
            check.finish(&shape, has_crc, |damage| found.damage(damage));
        }
    }
}

fn check_header(thread: &ThreadTrace, in_header: Option<ThreadId>, found: &mut FileFindings<'_>) {
    if let Some(header) = in_header.filter(|header| *header != thread.id()) {
        found.damage(Damage::WrongThread { seq: None, found: header, expected: thread.id() });
    }
}

/// What a packed file has of the raw one's bytes, and whether the checksum is among them.
fn parts(around: Option<&Around>) -> (&[u8], &[u8], bool) {
    around.map_or((&[], &[], false), |around| (&around.head, &around.tail, !around.is_crc_left_out))
}

fn first_of(shape: &PackedShape, block: usize) -> EventSeq {
    EventSeq(shape.block_range(block).start)
}

/// Answers where detail records link back to, quickly for those who ask in the order of the file.
struct DetailLinks<'a> {
    view: Option<ThreadDetail<'a>>,
    ahead: Option<HeldRecords<'a>>,
    next: DetailSeq,
}

impl<'a> DetailLinks<'a> {
    fn new(thread: &'a ThreadTrace) -> Self {
        let view = thread.detail();
        let ahead = view.as_ref().map(ThreadDetail::records);
        Self { view, ahead, next: DetailSeq(0) }
    }

    fn back(&mut self, detail: DetailSeq) -> Option<u32> {
        if detail == self.next {
            self.next = DetailSeq(self.next.0.wrapping_add(1));
            let record = self.ahead.as_mut()?.next()?.ok()?;
            if record.position() == u64::from(detail.0) {
                return Some(record.get().index_seq);
            }
        }
        self.view.as_ref()?.record(detail).map(|record| record.get().index_seq)
    }
}

fn verify_detail(thread: &ThreadTrace, list: &mut Vec<Finding>, progress: &mut impl FnMut(u64)) {
    let Some(file) = &thread.detail else { return };
    let path = thread.detail_path();
    let mut found = FileFindings::new(path, list);
    let index = thread.index();
    match file {
        DetailFile::Raw { map, shape } => {
            check_header(thread, shape.header.as_ref().map(|header| header.thread), &mut found);
            verify_raw_detail(thread, &index, (map, shape), &mut found, progress);
        }
        DetailFile::Packed(packed) => {
            check_header(thread, packed.shape.header().map(|header| header.thread), &mut found);
            let (head, tail, has_crc) = parts(packed.shape.around());
            let shape = DetailShape::around(head, tail, file.record_bytes());
            let mut check = DetailCheck::new(&shape);
            for block in 0..packed.shape.block_count() {
                let read = match packed.shape.read_records(packed.map.bytes(), block) {
                    Ok(read) => read,
                    Err(damage) => {
                        found.damage(damage);
                        continue;
                    }
                };
                check.go_on_at(read.first);
                for (record, position) in read.records(packed.arch()).zip(read.first..) {
                    check_record(&index, position, &record, &mut check, &mut found);
                }
                check.bytes(&read.bytes);
                progress(read.bytes.len() as u64);
                thread.release();
            }
            check.finish(&shape, has_crc, |damage| found.damage(damage));
        }
    }
    thread.release();
}

/// Compares a record with its event, and its payload with itself.
fn check_record(
    index: &ThreadEvents<'_>,
    position: u64,
    record: &DetailRecord<'_>,
    check: &mut DetailCheck,
    found: &mut FileFindings<'_>,
) {
    // Links have 32 bits; no event links to a record beyond them.
    let detail = u32::try_from(position).map_or(DetailSeq::NONE, DetailSeq);
    let is_linked = |event: &Event| detail != DetailSeq::NONE && event.detail == detail;
    let event = index.event(record.event_seq()).filter(is_linked);
    match event {
        None => found.damage(Damage::IndexLink { detail, seq: record.event_seq() }),
        Some(event) if event.timestamp != record.timestamp => {
            let (time, event) = (record.timestamp, event.timestamp);
            found.damage(Damage::DetailTime { detail, time, event });
        }
        Some(_) => {}
    }
    if let Err(error) = check.feed(record, |damage| found.damage(damage)) {
        found.push(Problem::Corrupt(error));
    }
}

fn verify_raw_detail(
    thread: &ThreadTrace,
    index: &ThreadEvents<'_>,
    (map, shape): (&Mapping, &DetailShape),
    found: &mut FileFindings<'_>,
    progress: &mut impl FnMut(u64),
) {
    let mut check = DetailCheck::new(shape);
    let mut records = DetailView::mapped(map, shape.clone()).records();
    let mut read = shape.records.start;
    for position in 0.. {
        match records.next() {
            Some(Ok(record)) => check_record(index, position, &record, &mut check, found),
            Some(Err(error)) => found.push(Problem::Corrupt(error)),
            None => break,
        }
        if records.offset() - read >= RELEASE_EVERY {
            check.bytes(&map.bytes()[read..records.offset()]);
            progress((records.offset() - read) as u64);
            read = records.offset();
            thread.release();
        }
    }
    // What follows a record that cannot be read is in the checksum all the same.
    check.bytes(&map.bytes()[read..shape.records.end]);
    check.finish(shape, true, |damage| found.damage(damage));
}

/// Compares a manifest's numbers of events with the threads'.
fn verify_counts(process: &Process, list: &mut Vec<Finding>) {
    let Some(manifest) = process.manifest.as_ref().filter(|manifest| manifest.finished != Some(false)) else { return };
    for entry in &manifest.threads {
        let thread = process.threads.iter().find(|thread| thread.id() == entry.id);
        if let (Some(listed), Some(found)) = (entry.event_count, thread.map(ThreadTrace::event_count))
            && listed != found
        {
            let path = thread.map_or_else(|| process.path.clone(), |thread| thread.index_path().to_owned());
            list.push(Finding { path, problem: Problem::Damage(Damage::EventCount { listed, found }) });
        }
    }
}

/// Compares a manifest's time range with the threads'. A wider range is fine: a process lives before its first call.
fn verify_times(process: &Process, list: &mut Vec<Finding>) {
    let Some(manifest) = process.manifest.as_ref().filter(|manifest| manifest.finished != Some(false)) else { return };
    let ends = process.threads.iter().filter_map(|thread| {
        let events = thread.index().events();
        Some((events.clone().next()?.timestamp, events.clone().next_back()?.timestamp))
    });
    let Some(actual) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { return };
    let stored = (manifest.time_start_ns, manifest.time_end_ns);
    if actual.0 < stored.0 || actual.1 > stored.1 {
        let path = process.path.join("manifest.json");
        list.push(Finding { path, problem: Problem::Damage(Damage::TimeRange { stored, actual }) });
    }
}
