//! Appends what one recording has of a thread to the files of another: links are moved with what they link.

use ada_event::{DetailSeq, Event};

use super::ThreadWriter;
use crate::atf::WriteError;
use crate::atf::detail::encode_header;
use crate::atf::layout::RECORD_HEADER_SIZE;
use crate::atf::session::{ThreadDetail, ThreadTrace};

/// Records are gathered to pieces of about this size.
const PIECE: usize = 64 << 10;

impl ThreadWriter {
    /// Appends all events of a recorded thread, with their detail. Of a damaged trace, what can be read.
    pub fn append_thread(&mut self, trace: &ThreadTrace) -> Result<(), WriteError> {
        let first_detail = self.detail_count();
        let details = match trace.detail() {
            Some(view) => self.append_details(&view, self.next_seq().0)?,
            None => 0,
        };
        let moved = |detail: DetailSeq| match detail.0.checked_add(first_detail as u32) {
            Some(seq) if u64::from(detail.0) < details => DetailSeq(seq),
            _ => DetailSeq::NONE,
        };
        let mut piece = Vec::new();
        for events in trace.chunks() {
            piece.clear();
            for event in &*events {
                let event = Event::from_le_bytes(event);
                let event = Event { detail: moved(event.detail), thread: self.thread(), ..event };
                piece.extend_from_slice(&event.to_le_bytes());
            }
            self.append_raw(&piece)?;
        }
        Ok(())
    }

    /// Gives how many records could be read.
    fn append_details(&mut self, view: &ThreadDetail<'_>, first_event: u64) -> Result<u64, WriteError> {
        let (mut piece, mut count) = (Vec::with_capacity(PIECE), 0);
        for held in view.records().map_while(Result::ok) {
            let record = held.get();
            let position = first_event + u64::from(record.index_seq);
            let link = u32::try_from(position).map_err(|_| WriteError::LinkOverflow { position })?;
            let length = (RECORD_HEADER_SIZE + record.bytes.len()) as u32;
            piece.extend_from_slice(&encode_header(length, record.kind, link, self.thread(), record.timestamp));
            piece.extend_from_slice(record.bytes);
            count += 1;
            if piece.len() >= PIECE {
                self.append_raw_detail(&piece)?;
                piece.clear();
            }
        }
        if !piece.is_empty() {
            self.append_raw_detail(&piece)?;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::SystemTime;

    use ada_event::{EventKind, FunctionId, ModuleId, ThreadId, TraceNanos};

    use crate::atf::{DetailType, Payload, Platform, Session, SessionWriter, SyncPolicy, ThreadWriter};

    use super::*;

    fn session(output: &Path) -> SessionWriter {
        SessionWriter::create(output, SystemTime::UNIX_EPOCH, 7, Platform::LINUX_X86_64, SyncPolicy::Never).unwrap()
    }

    /// Every third event has detail that says which one it is.
    fn append(writer: &mut ThreadWriter, times: std::ops::Range<u64>) {
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
}
