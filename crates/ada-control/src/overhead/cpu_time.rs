//! Processor time of other processes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;
use std::time::Duration;

use ada_event::ProcessId;
use ada_process::cpu_time_of;

use crate::drain::event_tally::SharedTally;
use crate::overhead::HookSamples;
use crate::tracked::Programs;

/// Adds up what the processes of a session have used, those that end meanwhile included as far as they were seen.
#[derive(Default)]
pub(super) struct CpuTimes {
    /// What each has used in all by the last look, and how much of that was seen.
    processes: HashMap<ProcessId, (Duration, Duration)>,
    total: Duration,
}

impl CpuTimes {
    /// What has been used so far.
    pub(super) fn look(&mut self, processes: &BTreeSet<ProcessId>) -> Duration {
        for &process in processes {
            let Some(now) = cpu_time_of(process) else { continue };
            // The first look at a process has what it used before it was traced.
            let (before, seen) = self.processes.entry(process).or_insert((now, Duration::ZERO));
            let new = now.saturating_sub(*before);
            *before = now;
            *seen += new;
            self.total += new;
        }
        self.total
    }

    /// The process that was seen to use most.
    pub(super) fn busiest(&self) -> Option<ProcessId> {
        self.processes.iter().max_by_key(|(_, (_, seen))| *seen).map(|(pid, _)| *pid)
    }
}

/// The processor time that the recorded processes were seen to use. Has them sampled meanwhile.
pub(crate) fn watch_cpu(programs: &Programs, tally: &SharedTally, samples: &Mutex<HookSamples>) -> Duration {
    const EVERY: Duration = Duration::from_millis(50);
    const WAITS_A_LOOK: u64 = 4;
    let (mut cpu, mut used) = (CpuTimes::default(), Duration::ZERO);
    for waits in 0_u64.. {
        if programs.phase.has_ended() {
            break;
        }
        let processes = tally.lock().expect("nobody panics with the lock").processes().clone();
        samples.lock().expect("nobody panics with the lock").look(programs, &processes);
        if waits % WAITS_A_LOOK == 0 {
            used = cpu.look(&processes);
        }
        std::thread::sleep(EVERY);
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_process::this_process;

    #[test]
    fn work_is_seen() {
        let own = BTreeSet::from([this_process()]);
        let mut times = CpuTimes::default();
        assert_eq!(times.look(&own), Duration::ZERO);
        while times.look(&own) < Duration::from_millis(5) {}
    }
}
