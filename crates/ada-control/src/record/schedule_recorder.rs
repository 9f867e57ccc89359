//! Records when threads get a processor and when they lose it.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use ada_event::{ProcessId, ScheduleChange, ScheduleRecord, ThreadId, TraceNanos};
use ada_format::atf::{append_schedule, trim_schedule};
use ada_process::{Clock, ContextSwitches, boot_time};

use crate::options::TraceOptions;
use crate::tracked::Programs;

/// Records that are kept of a process which has no folder yet, and may never get one.
const MOST_WAITING: usize = 1 << 16;

/// Reads the kernel's context switches, and writes them to the folders of their processes.
pub(super) struct ScheduleRecorder {
    switches: ContextSwitches,
    session: PathBuf,
    /// What is still to be written; nothing of a process that has been seen.
    waiting: HashMap<ProcessId, Vec<ScheduleRecord>>,
    /// The newest time of each processor, by its number.
    newest: Vec<TraceNanos>,
    /// Where only the newest part is kept: how much.
    room: Option<RingRoom>,
}

/// When threads ran has this part of a ring, beside what it is for.
const PART: u64 = 16;

/// The room of all processes together, and what each takes.
struct RingRoom {
    most: u64,
    bytes: HashMap<ProcessId, u64>,
}

impl RingRoom {
    /// Lets go of the oldest of all processes where they take more than there is room for.
    fn wrote(&mut self, session: &Path, pid: ProcessId, bytes: u64) -> io::Result<()> {
        *self.bytes.entry(pid).or_default() += bytes;
        if self.bytes.values().sum::<u64>() <= self.most {
            return Ok(());
        }
        for (pid, bytes) in &mut self.bytes {
            // Half of everything, whoever has much of it.
            *bytes = trim_schedule(&process_folder(session, *pid), bytes.saturating_sub(1))?;
        }
        Ok(())
    }
}

fn process_folder(session: &Path, pid: ProcessId) -> PathBuf {
    session.join(format!("pid_{pid}"))
}

impl ScheduleRecorder {
    /// Begins to listen, before the program runs; the reason where that is not possible.
    pub(super) fn begin(pid: ProcessId, session: &Path, options: &TraceOptions) -> Result<Self, String> {
        if !options.schedule {
            return Err("not asked for".to_owned());
        }
        let switches = ContextSwitches::of(pid).map_err(|error| why_not(&error))?;
        Ok(Self {
            switches,
            session: session.to_owned(),
            waiting: HashMap::new(),
            newest: Vec::new(),
            room: options.ring.map(|bytes| RingRoom { most: bytes / PART, bytes: HashMap::new() }),
        })
    }

    /// Records until nothing more is to come.
    pub(super) fn run(mut self, clock: Clock, programs: &Programs) {
        const QUIET: Duration = Duration::from_millis(10);
        const BUSY: Duration = Duration::from_millis(1);
        const MANY: usize = 512;
        loop {
            let has_ended = programs.phase.has_ended();
            let count = self.read(clock);
            match self.write() {
                // Relaxed: the number only has to be about right.
                Ok(bytes) => drop(programs.schedule_bytes.fetch_add(bytes, Ordering::Relaxed)),
                Err(error) => {
                    programs.lock().no_schedule = Some(format!("its file could not be written: {error}"));
                    return;
                }
            }
            if has_ended {
                return;
            }
            std::thread::sleep(if count > MANY { BUSY } else { QUIET });
        }
    }

    fn read(&mut self, clock: Clock) -> usize {
        let Self { switches, waiting, newest, .. } = self;
        // The kernel has another idea of how fast time goes than a clock that was set once.
        let (ours, theirs) = (clock.now().0, boot_time());
        switches.read(|pid, mut record| {
            let cpu = usize::from(record.cpu);
            if newest.len() <= cpu {
                newest.resize(cpu + 1, TraceNanos(0));
            }
            record.time = TraceNanos(record.time.0.wrapping_add(ours).wrapping_sub(theirs)).max(newest[cpu]);
            newest[cpu] = record.time;
            match pid {
                Some(pid) => waiting.entry(pid).or_default().push(record),
                None => waiting.values_mut().for_each(|records| records.push(record)),
            }
        })
    }

    fn write(&mut self) -> io::Result<u64> {
        let mut bytes = 0;
        for (pid, records) in self.waiting.iter_mut().filter(|(_, records)| !records.is_empty()) {
            let folder = process_folder(&self.session, *pid);
            if folder.is_dir() {
                let written = match append_schedule(&folder, records.drain(..)) {
                    // A ring has forgotten the process a moment ago.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    written => written?,
                };
                match &mut self.room {
                    Some(room) => room.wrote(&self.session, *pid, written)?,
                    None => bytes += written,
                }
            } else if records.len() > MOST_WAITING {
                forget(records);
            }
        }
        Ok(bytes)
    }
}

/// Keeps of records only that something is missing.
fn forget(records: &mut Vec<ScheduleRecord>) {
    let times = || records.iter().map(|it| it.time);
    let ends = [(ScheduleChange::LOST_FROM, times().min()), (ScheduleChange::LOST_UNTIL, times().max())];
    *records = ends
        .into_iter()
        .map(|(change, time)| ScheduleRecord { time: time.unwrap_or_default(), thread: ThreadId(0), cpu: 0, change })
        .collect();
}

/// Why the kernel does not tell, in a few words.
fn why_not(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "the kernel does not allow it; `ada doctor` says how to".to_owned(),
        _ => format!("the kernel does not tell: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_forgotten_is_marked() {
        let record = |time| ScheduleRecord { time: TraceNanos(time), cpu: 1, ..ScheduleRecord::default() };
        let mut records = vec![record(5), record(3), record(9)];
        forget(&mut records);
        let kept: Vec<_> = records.iter().map(|it| (it.time.0, it.change)).collect();
        assert_eq!(kept, [(3, ScheduleChange::LOST_FROM), (9, ScheduleChange::LOST_UNTIL)]);
    }
}
