//! What hooks cost the program, and keeping that within a budget.
//!
//! The cost of a hook is measured at the start ([`calibrate`]), how often each is run is seen in the drain
//! ([`EventTally`]), and the processor time of the program is known to the kernel. Together these say what share of its
//! time the program spends in hooks. With a budget, the [`Governor`] has the hottest functions counted instead of
//! recorded until their share fits, and recorded again when there is room. Without one nothing is switched, and
//! the summary says what a budget would have switched.

mod agent_time;
mod budget;
mod calibration;
mod cpu_time;
mod governor;
mod hook_samples;
mod lessons;
mod measured_costs;
mod neighbours;
mod stops;
mod unhooking;
mod weights;

pub(crate) use agent_time::AgentTime;
pub use budget::Advice;
pub(crate) use calibration::{Calibrated, calibrate};
pub(crate) use cpu_time::watch_cpu;
pub use governor::Governed;
pub(crate) use governor::{Governor, WholeRun};
pub(crate) use hook_samples::{HookSamples, SampledTime};
pub(crate) use neighbours::Neighbours;
