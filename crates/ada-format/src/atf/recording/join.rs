//! Appends what one recording has of a thread to the files of another: links are moved with what they link.

use std::ops::Range;

use ada_event::{DetailSeq, Event};

use super::ThreadWriter;
use crate::atf::WriteError;
use crate::atf::detail::encode_header;
use crate::atf::layout::RECORD_HEADER_SIZE;
use crate::atf::session::{ThreadDetail, ThreadTrace};

/// Records are gathered to pieces of about this size.
const PIECE: usize = 64 << 10;

impl ThreadWriter {
    /// Appends all events of a recorded thread, with their detail. Of a damaged trace, what can be read: what comes behind
    /// a block that cannot moves up, and links with it. Detail whose event is lost is left out.
    pub fn append_thread(&mut self, trace: &ThreadTrace) -> Result<(), WriteError> {
        let details = match trace.detail() {
            Some(view) => {
                let mut events = Moved::default();
                for chunk in trace.chunks() {
                    events.add(chunk.first_seq().0, chunk.len() as u64, self.next_seq().0);
                }
                self.append_details(&view, &events)?
            }
            None => Moved::default(),
        };
        let mut piece = Vec::new();
        for events in trace.chunks() {
            piece.clear();
            for event in &*events {
                let event = Event::from_le_bytes(event);
                let detail = event.detail.get().and_then(|seq| details.position_of(seq.into()));
                let detail = detail.and_then(|seq| u32::try_from(seq).ok()).map_or(DetailSeq::NONE, DetailSeq);
                let event = Event { detail, thread: self.thread(), ..event };
                piece.extend_from_slice(&event.to_le_bytes());
            }
            self.append_raw(&piece)?;
        }
        Ok(())
    }

    /// Gives where the records went.
    fn append_details(&mut self, view: &ThreadDetail<'_>, events: &Moved) -> Result<Moved, WriteError> {
        let first = self.detail_count();
        let (mut piece, mut moved) = (Vec::with_capacity(PIECE), Moved::default());
        for held in view.records().map_while(Result::ok) {
            let record = held.get();
            let Some(position) = events.position_of(record.index_seq.into()) else { continue };
            let link = u32::try_from(position).map_err(|_| WriteError::LinkOverflow { position })?;
            let length = (RECORD_HEADER_SIZE + record.bytes.len()) as u32;
            piece.extend_from_slice(&encode_header(length, record.kind, link, self.thread(), record.timestamp));
            piece.extend_from_slice(record.bytes);
            moved.add(held.position(), 1, first);
            if piece.len() >= PIECE {
                self.append_raw_detail(&piece)?;
                piece.clear();
            }
        }
        if !piece.is_empty() {
            self.append_raw_detail(&piece)?;
        }
        Ok(moved)
    }
}

/// Where the positions of one file are in another, to which all that can be read was appended.
#[derive(Default)]
struct Moved {
    /// Positions that follow each other in both files, and where the first of them went.
    stretches: Vec<(Range<u64>, u64)>,
    end: u64,
}

impl Moved {
    /// So many more follow, from this position on. `first` is where the first of all went.
    fn add(&mut self, position: u64, count: u64, first: u64) {
        let to = if self.stretches.is_empty() { first } else { self.end };
        self.end = to + count;
        match self.stretches.last_mut() {
            Some((last, _)) if last.end == position => last.end += count,
            _ => self.stretches.push((position..position + count, to)),
        }
    }

    fn position_of(&self, position: u64) -> Option<u64> {
        let behind = self.stretches.partition_point(|(from, _)| from.start <= position);
        let (from, to) = self.stretches.get(behind.checked_sub(1)?)?;
        from.contains(&position).then(|| to + (position - from.start))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::SystemTime;

    use ada_event::{EventKind, FunctionId, ModuleId, ProcessId, ThreadId, TraceNanos};

    use crate::atf::{DetailType, Payload, Platform, Session, SessionWriter, Store, SyncPolicy, ThreadWriter};

    use super::*;

    fn session(output: &Path) -> SessionWriter {
        SessionWriter::create(output, SystemTime::UNIX_EPOCH, ProcessId(7), Platform::LINUX_X86_64, SyncPolicy::Never)
            .unwrap()
    }

    /// Every third event has detail that says which one it is.
    fn append(writer: &mut ThreadWriter, times: Range<u64>) {
        for time in times {
            let function = FunctionId::new(ModuleId(1), time as u32);
            let event = Event {
                timestamp: TraceNanos(time),
                function,
                thread: writer.thread(),
                kind: EventKind::CALL,
                ..Event::default()
            };
            if time % 3 == 0 {
                let bytes = vec![time as u8; 1 + time as usize % 11];
                let payload = Payload::Unknown { kind: DetailType(16), bytes: &bytes };
                writer.append_with_detail(&event, &payload).unwrap();
            } else {
                writer.append(&event).unwrap();
            }
        }
    }

    #[test]
    fn pieces_joined_are_as_if_they_had_been_written_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let [whole, pieces, joined] = ["whole", "pieces", "joined"].map(|name| folder.path().join(name));
        let thread = ThreadId(9);
        let mut at_once = session(&whole);
        let mut writer = at_once.thread(thread).unwrap();
        append(&mut writer, 10..9000);
        at_once.finish_thread(writer).unwrap();
        let mut target = session(&joined);
        let mut joining = target.thread(thread).unwrap();
        for times in [10..11, 11..4000, 4000..4001, 4001..9000] {
            let mut piece = session(&pieces);
            let mut writer = piece.thread(thread).unwrap();
            append(&mut writer, times);
            piece.finish_thread(writer).unwrap();
            let path = piece.finish().unwrap();
            let read = Session::open(&path).unwrap();
            joining.append_thread(read.threads().next().unwrap()).unwrap();
        }
        target.finish_thread(joining).unwrap();
        let [at_once, target] = [at_once, target].map(|writer| writer.finish().unwrap().join("pid_7/thread_9"));
        for file in ["index.atf", "detail.atf"] {
            assert!(std::fs::read(at_once.join(file)).unwrap() == std::fs::read(target.join(file)).unwrap(), "{file}");
        }
    }

    #[test]
    fn links_stay_right_behind_blocks_that_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let thread = ThreadId(9);
        let mut piece = session(&folder.path().join("pieces"));
        piece.set_store(Store::Packed);
        let mut writer = piece.thread(thread).unwrap();
        // Several blocks of events, and of detail.
        append(&mut writer, 100..60_000);
        piece.finish_thread(writer).unwrap();
        let path = piece.finish().unwrap();
        // The first block of each, and another one of events, whose detail can be read.
        for (name, positions) in [("index.atp", &[(0, 1), (2, 3)][..]), ("detail.atp", &[(0, 1)])] {
            let file = path.join("pid_7/thread_9").join(name);
            let mut bytes = std::fs::read(&file).unwrap();
            for (numerator, denominator) in positions {
                let at = 200 + bytes.len() * numerator / denominator;
                bytes[at] ^= 1;
            }
            std::fs::write(&file, bytes).unwrap();
        }
        let damaged = Session::open(&path).unwrap();
        let damaged = damaged.threads().next().unwrap();
        let mut target = session(&folder.path().join("joined"));
        let mut joining = target.thread(thread).unwrap();
        append(&mut joining, 0..100);
        joining.append_thread(damaged).unwrap();
        append(&mut joining, 60_000..60_100);
        target.finish_thread(joining).unwrap();
        let joined = Session::open(target.finish().unwrap()).unwrap();
        let found = joined.verify(|_| ());
        assert!(found.is_empty(), "{found:?}");
        let joined = joined.threads().next().unwrap();
        let (index, detail) = (joined.index(), joined.detail().unwrap());
        let readable = damaged.index().events().count() as u64;
        assert!(readable < damaged.index().len());
        assert_eq!(index.len(), 200 + readable);
        let mut linked = 0;
        for (seq, event) in (0_u64..).zip(index.events()).filter(|(_, event)| event.detail != DetailSeq::NONE) {
            let record = detail.record(event.detail).unwrap();
            assert_eq!((record.event_seq().0, record.get().timestamp), (seq, event.timestamp));
            linked += 1;
        }
        assert_eq!(linked, detail.len(), "no detail without its event");
        let records = damaged.detail().unwrap().records().map_while(Result::ok);
        let links: Vec<_> = records.map(|record| record.event_seq()).collect();
        let damaged = damaged.index();
        let kept = links.iter().filter(|&&seq| damaged.event(seq).is_some()).count();
        assert!(kept > 1000 && kept < links.len() && links.len() < 20_000, "{kept} of {}", links.len());
        assert_eq!(linked, 34 + kept as u64 + 34);
    }

    #[test]
    fn positions_move_by_what_is_missing_before_them() {
        let mut moved = Moved::default();
        moved.add(5, 10, 100);
        moved.add(15, 1, 100);
        moved.add(20, 2, 100);
        let positions = [4, 5, 15, 16, 19, 20, 21, 22].map(|position| moved.position_of(position));
        assert_eq!(positions, [None, Some(100), Some(110), None, None, Some(111), Some(112), None]);
        assert_eq!(Moved::default().position_of(0), None);
    }
}
