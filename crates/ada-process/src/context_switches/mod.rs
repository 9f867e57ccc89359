//! When threads run: the context switches of processes, as the kernel reports them to whoever may ask.
//!
//! Each thread has an event for each processor, which threads and processes that it makes inherit. The records of a processor
//! go to one ring. Nothing happens in the threads' own code.

mod attributes;
mod record;
mod ring;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use ada_event::{ProcessId, ScheduleChange, ScheduleRecord, ThreadId, TraceNanos};

use self::attributes::{open_event, redirect};
use self::record::Record;
use self::ring::Ring;
use crate::clock::boot_time;
use crate::procfs::ProcessDir;

/// More descriptors than this are too many for what they tell.
const MOST_EVENTS: usize = 1 << 14;

/// The context switches of a process and of all that it makes.
pub struct ContextSwitches {
    processors: Vec<Processor>,
    /// Events of further threads, whose records go to the processors' rings.
    _others: Vec<OwnedFd>,
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
        let now = TraceNanos(boot_time());
        let mut switches = Self { processors: Vec::new(), _others: Vec::new(), watched: Vec::new(), pid };
        let mut seen = HashSet::new();
        // A thread that a new one has made before that had its events is in the next list.
        loop {
            let new: Vec<ThreadId> = ProcessDir::of(pid).threads()?.into_iter().filter(|it| seen.insert(*it)).collect();
            if new.is_empty() {
                break;
            }
            for thread in new {
                match switches.watch(thread, now) {
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    watched => watched?,
                }
            }
        }
        if switches.processors.is_empty() {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(switches)
    }

    fn watch(&mut self, thread: ThreadId, now: TraceNanos) -> io::Result<()> {
        if self.processors.is_empty() {
            let mut processors = Vec::new();
            for number in online_processors() {
                match open_event(thread, number) {
                    Ok(event) => processors.push(Processor { number, ring: Ring::map(event)?, last: now }),
                    // It was switched off meanwhile.
                    Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                    Err(error) => return Err(error),
                }
            }
            self.processors = processors;
        } else {
            if self._others.len() + self.processors.len() > MOST_EVENTS {
                return Err(io::Error::other("it has too many threads"));
            }
            for processor in &self.processors {
                let event = open_event(thread, processor.number)?;
                redirect(&event, processor.ring.event())?;
                self._others.push(event);
            }
        }
        self.watched.push(thread);
        Ok(())
    }

    /// Gives what the kernel has reported since the last time, each processor's in its order. What was lost is of all processes.
    pub fn read(&mut self, mut give: impl FnMut(Option<ProcessId>, ScheduleRecord)) {
        for thread in self.watched.drain(..) {
            let time = self.processors.first().map(|it| it.last).unwrap_or_default();
            give(Some(self.pid), ScheduleRecord { time, thread, cpu: 0, change: ScheduleChange::WATCHED });
        }
        for processor in &mut self.processors {
            let (cpu, last) = (processor.number, &mut processor.last);
            processor.ring.read(|kind, flags, body| {
                let Some((record, time)) = Record::parse(kind, flags, body) else { return };
                let lost_from = std::mem::replace(last, time);
                let thread = ThreadId(0);
                match record {
                    Record::Change { pid, thread, change } => {
                        give(Some(pid), ScheduleRecord { time, thread, cpu, change });
                    }
                    Record::Lost => {
                        let from = ScheduleChange::LOST_FROM;
                        give(None, ScheduleRecord { time: lost_from, thread, cpu, change: from });
                        give(None, ScheduleRecord { time, thread, cpu, change: ScheduleChange::LOST_UNTIL });
                    }
                }
            });
        }
    }
}

/// The numbers of the processors that are switched on.
fn online_processors() -> Vec<u16> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_else(|_| "0".to_owned());
    processors_in(&text)
}

/// Numbers as the kernel lists them: `0-3,8`.
fn processors_in(list: &str) -> Vec<u16> {
    let number = |text: &str| text.trim().parse::<u16>().ok();
    let range = |part: &str| match part.split_once('-') {
        Some((first, last)) => Some(number(first)?..=number(last)?),
        None => number(part).map(|it| it..=it),
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::this_process::this_process;

    #[test]
    fn processors_are_listed_in_ranges() {
        assert_eq!(processors_in("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(processors_in("7"), [7]);
        assert!(processors_in("").is_empty() && processors_in("x-3").is_empty());
    }

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
