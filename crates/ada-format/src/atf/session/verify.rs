//! Reads a whole session and checks everything that can be checked without knowing the program.

use ada_event::{Event, EventSeq, TraceNanos};

use super::finding::FileFindings;
use super::{Finding, Problem, Process, Session, ThreadTrace};
use crate::atf::detail::{DetailCheck, DetailShape};
use crate::atf::index::IndexCheck;
use crate::atf::map::Mapping;
use crate::atf::{Damage, DetailRecord, DetailView, Records};

/// Bytes of detail that are read before their pages are given back.
const RELEASE_EVERY: usize = 4 << 20;

impl Session {
    /// Checks checksums, times, threads and links of all files, and gives what was found beyond [`Self::findings`].
    /// `progress` hears how many more bytes were read. Memory stays flat.
    pub fn verify(&self, mut progress: impl FnMut(u64)) -> Vec<Finding> {
        let mut found = Vec::new();
        for process in &self.processes {
            for thread in &process.threads {
                verify_index(thread, &mut found, &mut progress);
                if let Some((map, shape)) = &thread.detail {
                    verify_detail(thread, map, shape, &mut found, &mut progress);
                }
            }
            verify_counts(process, &mut found);
            verify_times(process, &mut found);
        }
        found
    }
}

fn verify_index(thread: &ThreadTrace, list: &mut Vec<Finding>, progress: &mut impl FnMut(u64)) {
    let shape = &thread.index_shape;
    let mut found = FileFindings::new(&thread.path().join("index.atf"), list);
    if let Some(header) = shape.header.as_ref().filter(|header| header.thread != thread.id()) {
        found.damage(Damage::WrongThread { seq: None, found: header.thread, expected: thread.id() });
    }
    let mut check = IndexCheck::new(shape);
    let mut links = DetailLinks::new(thread);
    let mut chunks = thread.chunks();
    loop {
        let first = chunks.next_seq().0;
        let Some(chunk) = chunks.next() else { break };
        check.feed(chunk, |damage| found.damage(damage));
        for (seq, event) in (first..).zip(chunk.iter().map(Event::from_le_bytes)) {
            if let Some(detail) = event.detail.get() {
                let back = links.back(detail);
                if back.map(u64::from) != Some(seq) {
                    found.damage(Damage::DetailLink { seq: EventSeq(seq), detail, back });
                }
            }
        }
        links.release();
        progress(chunk.as_flattened().len() as u64);
    }
    check.finish(shape, |damage| found.damage(damage));
}

/// Answers where detail records link back to, quickly for those who ask in the order of the file.
struct DetailLinks<'a> {
    map: Option<&'a Mapping>,
    view: Option<DetailView<'a>>,
    ahead: Option<Records<'a>>,
    next: u32,
}

impl<'a> DetailLinks<'a> {
    fn new(thread: &'a ThreadTrace) -> Self {
        let view = thread.detail();
        let ahead = view.as_ref().map(DetailView::records);
        Self { map: thread.detail.as_ref().map(|(map, _)| map), view, ahead, next: 0 }
    }

    fn back(&mut self, detail: u32) -> Option<u32> {
        if detail == self.next {
            self.next = self.next.wrapping_add(1);
            return self.ahead.as_mut()?.next()?.ok().map(|record| record.index_seq);
        }
        self.view.as_ref()?.record(detail).map(|record| record.index_seq)
    }

    fn release(&self) {
        if let Some(map) = self.map {
            map.release(0..map.bytes().len());
        }
    }
}

fn verify_detail(
    thread: &ThreadTrace,
    map: &Mapping,
    shape: &DetailShape,
    list: &mut Vec<Finding>,
    progress: &mut impl FnMut(u64),
) {
    let mut found = FileFindings::new(&thread.path().join("detail.atf"), list);
    if let Some(header) = shape.header.as_ref().filter(|header| header.thread != thread.id()) {
        found.damage(Damage::WrongThread { seq: None, found: header.thread, expected: thread.id() });
    }
    let index = thread.index();
    let event_of = |detail: u32, record: &DetailRecord<'_>| {
        index.event(record.event_seq()).filter(|event| event.detail.get() == Some(detail))
    };
    let mut check = DetailCheck::new(shape);
    let mut records = DetailView::mapped(map, shape.clone()).records();
    let mut read = shape.records.start;
    for detail in 0.. {
        match records.next() {
            Some(Ok(record)) => {
                match event_of(detail, &record) {
                    None => found.damage(Damage::IndexLink { detail, seq: record.event_seq() }),
                    Some(event) if event.timestamp != record.timestamp => {
                        let (time, event) = (record.timestamp, event.timestamp);
                        found.damage(Damage::DetailTime { detail, time, event });
                    }
                    Some(_) => {}
                }
                if let Err(error) = check.feed(&record, |damage| found.damage(damage)) {
                    found.push(Problem::Corrupt(error));
                }
            }
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
    check.finish(shape, |damage| found.damage(damage));
    thread.release();
}

/// Compares a manifest's numbers of events with the threads'.
fn verify_counts(process: &Process, list: &mut Vec<Finding>) {
    let Some(manifest) = process.manifest.as_ref().filter(|manifest| manifest.finished != Some(false)) else { return };
    for entry in &manifest.threads {
        let thread = process.threads.iter().find(|thread| thread.id().0 == entry.id);
        if let (Some(listed), Some(found)) = (entry.event_count, thread.map(ThreadTrace::event_count))
            && listed != found
        {
            let path = process.path.join(format!("thread_{}", entry.id)).join("index.atf");
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
    let stored = (TraceNanos(manifest.time_start_ns), TraceNanos(manifest.time_end_ns));
    if actual.0 < stored.0 || actual.1 > stored.1 {
        let path = process.path.join("manifest.json");
        list.push(Finding { path, problem: Problem::Damage(Damage::TimeRange { stored, actual }) });
    }
}
