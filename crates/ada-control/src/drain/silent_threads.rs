//! Threads that were in calls when their process was attached to, and have recorded nothing since.

use ada_event::{DetailSeq, Event, EventKind, ProcessId, ThreadId};

use super::Drain;
use super::session::SessionFiles;
use crate::error::ControlError;
use crate::install::open_frames::OpenFrame;
use crate::tracked::Attached;

impl Drain {
    /// Writes the calls that such threads are still in, as of the attach. Others have recorded theirs themselves.
    pub(crate) fn write_silent_threads(&mut self, pid: ProcessId, attached: &Attached, files: &mut SessionFiles) {
        for frames in attached.open_frames.chunk_by(|left, right| left.tid == right.tid) {
            let tid = frames[0].tid;
            if files.has_heard_of(pid, tid) || self.failure.is_some() {
                continue;
            }
            match write(pid, tid, frames, attached, files) {
                Ok(()) => self.writer.figures.events += frames.len() as u64,
                Err(error) => self.fail(error),
            }
        }
    }
}

fn write(
    pid: ProcessId,
    tid: ThreadId,
    frames: &[OpenFrame],
    attached: &Attached,
    files: &mut SessionFiles,
) -> Result<(), ControlError> {
    files.take_room((frames.len() * Event::SIZE) as u64)?;
    let thread = files.thread(pid, tid)?;
    thread.entry_mut().tid = Some(tid);
    let id = thread.thread();
    let events = frames.iter().zip(0..).map(|(frame, depth)| Event {
        timestamp: attached.time.unwrap_or_default(),
        function: frame.function,
        thread: id,
        kind: EventKind::CALL,
        depth,
        detail: DetailSeq::NONE,
    });
    Ok(thread.append_events(events)?)
}
