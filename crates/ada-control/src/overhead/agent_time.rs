//! What the agent takes of a program's time, by its own count. Which calls go through it depends on the program: those of a Go
//! program do whenever it goes from one goroutine to another.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ada_process::Clock;

use super::weights::{best_ns, way_into_agent};
use crate::install::rings::Rings;

/// Reads the count.
pub(crate) struct AgentTime {
    rings: Arc<Rings>,
    ns_per_tick: f64,
    /// What lies around the agent's own code, for each call of it, and is not in its count.
    way_ns: f64,
}

impl AgentTime {
    pub(crate) fn new(rings: Arc<Rings>, clock: Clock) -> Self {
        let second = Duration::from_secs(1);
        let ns_per_tick = second.as_nanos() as f64 / clock.ticks(second).max(1) as f64;
        Self { rings, ns_per_tick, way_ns: best_ns(way_into_agent) }
    }

    /// Nanoseconds so far, in all processes.
    pub(crate) fn so_far(&self) -> f64 {
        let calls = self.rings.sum(|pool| pool.control().agent_time.calls.load(Ordering::Relaxed)) as f64;
        let ticks = self.rings.sum(|pool| pool.control().agent_time.ticks.load(Ordering::Relaxed)) as f64;
        ticks * self.ns_per_tick + calls * self.way_ns
    }
}
