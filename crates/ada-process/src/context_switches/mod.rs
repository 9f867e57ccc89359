//! When threads run: the context switches of processes, as the kernel reports them to whoever may ask.
//!
//! Administrators are told of the whole machine: an event for each processor, and what is not of the family is dropped. Others
//! have an event for each thread and processor, which threads and processes that it makes inherit: a new thread costs its maker
//! about a microsecond for each processor then. The records of a processor go to one ring. Nothing happens in the threads' own
//! code.

mod family;
mod record;

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;

use ada_event::{ProcessId, ScheduleChange, ScheduleRecord, ThreadId, TraceNanos};

use self::family::Family;
use self::record::Record;
use crate::clock::boot_time;
use crate::perf_events::{Ring, Wanted, Whose, open_event, open_on_processors, redirect};
use crate::procfs::ProcessDir;

/// More descriptors than this are too many for what they tell.
const MOST_EVENTS: usize = 1 << 14;

/// The context switches of a process and of all that it makes.
pub struct ContextSwitches {
    processors: Vec<Processor>,
    /// Events of further threads, whose records go to the processors' rings.
    _others: Vec<OwnedFd>,
    /// Whose records are wanted, where there are those of the whole machine.
    family: Option<Family>,
    /// The threads that there were.
    watched: Vec<ThreadId>,
    pid: ProcessId,
}

struct Processor {
    number: u16,
    ring: Ring,
    /// The newest record's time: where the next one is reported as lost, it was lost after this.
    last: TraceNanos,
}

impl ContextSwitches {
    /// Asks for those of a process from now on.
    pub fn of(pid: ProcessId) -> io::Result<Self> {
        match Self::of_machine(pid) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Self::of_threads(pid),
            switches => switches,
        }
    }

    fn of_machine(pid: ProcessId) -> io::Result<Self> {
        let processors = open_processors(Whose::Everybody)?;
        let watched = ProcessDir::of(pid).threads()?;
        Ok(Self { processors, _others: Vec::new(), family: Some(Family::of(pid)), watched, pid })
    }

    fn of_threads(pid: ProcessId) -> io::Result<Self> {
        let mut processors = Vec::new();
        let (mut others, mut watched) = (Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        // A thread that a new one has made before that had its events is in the next list.
        loop {
            let new: Vec<ThreadId> = ProcessDir::of(pid).threads()?.into_iter().filter(|it| seen.insert(*it)).collect();
            if new.is_empty() {
                break;
            }
            for thread in new {
                match watch(thread, &mut processors, &mut others) {
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    result => {
                        result?;
                        watched.push(thread);
                    }
                }
            }
        }
        if processors.is_empty() {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(Self { processors, _others: others, family: None, watched, pid })
    }

    /// Gives what the kernel has reported since the last time, each processor's in its order, and says how many records there
    /// were, given or not. What was lost is of all processes.
    pub fn read(&mut self, mut give: impl FnMut(Option<ProcessId>, ScheduleRecord)) -> usize {
        for thread in self.watched.drain(..) {
            let time = self.processors.first().map(|it| it.last).unwrap_or_default();
            give(Some(self.pid), ScheduleRecord { time, thread, cpu: 0, change: ScheduleChange::WATCHED });
        }
        let mut new = Vec::new();
        let family = &mut self.family;
        for processor in &mut self.processors {
            processor.read(|pid, record, maker| {
                if let (Some(family), Some(pid), Some(maker)) = (family.as_mut(), pid, maker)
                    && pid != maker
                {
                    family.made(pid, maker);
                }
                new.push((pid, record));
            });
        }
        let count = new.len();
        match family {
            None => new.into_iter().for_each(|(pid, record)| give(pid, record)),
            Some(family) => family.sort_out(new.into_iter(), give),
        }
        count
    }
}

impl Processor {
    /// Gives each new record, of its process or of all, and who made it where it is the first one of a process or thread.
    fn read(&mut self, mut give: impl FnMut(Option<ProcessId>, ScheduleRecord, Option<ProcessId>)) {
        let (cpu, last) = (self.number, &mut self.last);
        self.ring.read(|kind, flags, body| {
            let Some((record, time)) = Record::parse(kind, flags, body) else { return };
            let lost_from = std::mem::replace(last, time);
            match record {
                Record::Change { pid, thread, change } => {
                    give(Some(pid), ScheduleRecord { time, thread, cpu, change }, None);
                }
                Record::Made { pid, thread, by } => {
                    let change = ScheduleChange::MADE;
                    give(Some(pid), ScheduleRecord { time, thread, cpu, change }, Some(by));
                }
                Record::Lost => {
                    let ends = [(lost_from, ScheduleChange::LOST_FROM), (time, ScheduleChange::LOST_UNTIL)];
                    for (time, change) in ends {
                        give(None, ScheduleRecord { time, thread: ThreadId(0), cpu, change }, None);
                    }
                }
            }
        });
    }
}

/// Has a thread watched on all processors.
fn watch(thread: ThreadId, processors: &mut Vec<Processor>, others: &mut Vec<OwnedFd>) -> io::Result<()> {
    if processors.is_empty() {
        *processors = open_processors(Whose::Thread(thread))?;
        return Ok(());
    }
    if others.len() + processors.len() > MOST_EVENTS {
        return Err(io::Error::other("it has too many threads"));
    }
    for processor in processors {
        let event = open_event(Wanted::Switches, Whose::Thread(thread), processor.number)?;
        redirect(&event, processor.ring.event())?;
        others.push(event);
    }
    Ok(())
}

/// An event with its ring on each processor that is switched on.
fn open_processors(whose: Whose) -> io::Result<Vec<Processor>> {
    let now = TraceNanos(boot_time());
    let rings = open_on_processors(Wanted::Switches, whose)?;
    Ok(rings.into_iter().map(|(number, ring)| Processor { number, ring, last: now }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::this_process::this_process;

    #[test]
    fn a_thread_that_sleeps_leaves_its_processor() {
        // Where the kernel does not tell, there is nothing to be read.
        let Ok(mut switches) = ContextSwitches::of(this_process()) else { return };
        let mut records = Vec::new();
        let thread = std::thread::spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            ThreadId(rustix::thread::gettid().as_raw_pid().cast_unsigned())
        });
        let thread = thread.join().expect("it only sleeps");
        // What a processor's ring has of a thread that has ended is there at once; other tests may take the ring's room.
        switches.read(|pid, record| records.push((pid, record)));
        let of_it: Vec<ScheduleRecord> = records
            .iter()
            .filter(|(pid, it)| *pid == Some(this_process()) && it.thread == thread)
            .map(|it| it.1)
            .collect();
        let has = |change| of_it.iter().any(|it| it.change == change);
        assert!(records.iter().any(|(_, it)| it.change == ScheduleChange::WATCHED));
        let is_lost = records.iter().any(|(_, it)| it.change == ScheduleChange::LOST_FROM);
        // It may be preempted on its way to sleep, for longer than it wants to.
        let has_left = has(ScheduleChange::SLEEPS) || has(ScheduleChange::PREEMPTED);
        let is_whole = has(ScheduleChange::MADE) && has(ScheduleChange::RUNS) && has_left;
        assert!(is_lost || is_whole, "{of_it:?}");
    }
}
