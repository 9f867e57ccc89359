//! The first bytes of an arena, which each program has its own of: the addresses of the agent's entry points, and the
//! switches. Recorder and agent change these, and stubs read them.

use crate::agent_entries::AgentEntries;

/// Where an arena says how many switches it has, as eight bytes.
pub const SWITCH_COUNT_AT: usize = 120;
/// Where the switches start.
pub const SWITCHES_AT: usize = 128;
/// Bytes of a switch: 0 records calls and returns; anything else is the offset of the function's counter, in bytes from the
/// start of a thread's counters, and calls are counted only.
pub const SWITCH_BYTES: usize = 4;

const _: () = assert!(size_of::<AgentEntries>() <= SWITCH_COUNT_AT);
