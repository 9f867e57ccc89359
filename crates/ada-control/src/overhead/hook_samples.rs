//! How much of a program's time is spent in ada's code, by samples of what its threads execute.
//!
//! A calibration knows what a hook costs where everything is in the processor's caches. Samples are taken in the program itself. They
//! do not tell all: hooks also push the program's own code and data out of the caches.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::time::{Duration, Instant};

use ada_event::{ProcessId, RuntimeAddr};
use ada_process::{InstructionSamples, maps};

use crate::tracked::Programs;

/// How old what is known of a process's code may be: libraries come later.
const GOOD_FOR: Duration = Duration::from_millis(250);

/// Samples of a session's processes.
pub(crate) struct HookSamples {
    /// None where the kernel does not tell.
    samples: Option<InstructionSamples>,
    code: HashMap<ProcessId, HookCode>,
    sampled: SampledTime,
}

/// How much time samples stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SampledTime {
    pub(crate) samples_in_hooks: u64,
    pub(crate) samples: u64,
}

/// Where ada's code lies in a process.
struct HookCode {
    /// How many programs the process had run by then.
    programs: usize,
    read: Instant,
    ranges: Vec<Range<RuntimeAddr>>,
}

impl SampledTime {
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            samples_in_hooks: self.samples_in_hooks.saturating_sub(before.samples_in_hooks),
            samples: self.samples.saturating_sub(before.samples),
        }
    }

    /// Of so much time, how much was spent in hooks; none where nothing was sampled.
    pub(crate) fn in_hooks_of(self, time: Duration) -> Option<f64> {
        let share = self.samples_in_hooks as f64 / self.samples.max(1) as f64;
        (self.samples > 0).then_some(share * time.as_nanos() as f64)
    }
}

impl HookSamples {
    /// Begins to sample.
    pub(crate) fn begin() -> Self {
        Self { samples: InstructionSamples::of_machine().ok(), code: HashMap::new(), sampled: SampledTime::default() }
    }

    /// What was sampled of these processes so far.
    pub(crate) fn look(&mut self, programs: &Programs, processes: &BTreeSet<ProcessId>) -> SampledTime {
        let Self { samples, code, sampled } = self;
        let Some(samples) = samples else { return *sampled };
        let mut new = Vec::new();
        samples.read(|sample| {
            if processes.contains(&sample.pid) {
                new.push(sample);
            }
        });
        let Some(memfd) = programs.switches.memfd().filter(|_| !new.is_empty()) else { return *sampled };
        let run: HashMap<ProcessId, usize> = {
            let hooked = programs.lock();
            let programs_of = |pid: ProcessId| hooked.processes.get(&pid).map_or(0, |facts| facts.programs.len());
            new.iter().map(|sample| (sample.pid, programs_of(sample.pid))).collect()
        };
        for sample in new {
            let programs = run.get(&sample.pid).copied().unwrap_or_default();
            let is_known = |code: &HookCode| code.programs == programs && code.read.elapsed() < GOOD_FOR;
            if !code.get(&sample.pid).is_some_and(is_known) {
                // One that is gone has left its samples, and has what it had.
                if let Ok(mappings) = maps::of_process(sample.pid) {
                    let its = mappings.iter().filter(|it| it.executable && memfd.is_mapped_by(it));
                    let ranges = its.map(|it| it.start..it.end).collect();
                    code.insert(sample.pid, HookCode { programs, read: Instant::now(), ranges });
                }
            }
            let Some(code) = code.get(&sample.pid) else { continue };
            sampled.samples += 1;
            sampled.samples_in_hooks += u64::from(code.ranges.iter().any(|range| range.contains(&sample.instruction)));
        }
        *sampled
    }
}
