//! A fatal signal in a manifest: where it hit, and what was under way.

use std::collections::BTreeMap;

use ada_event::{ProcessId, ThreadId, TraceNanos};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::HexAddr;

/// One fatal signal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Crash {
    /// The thread, as in `threads`.
    pub thread: ThreadId,
    /// The kernel's id of the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<ThreadId>,
    /// When it hit.
    pub time_ns: TraceNanos,
    /// The signal.
    pub signal: i32,
    /// The kernel's `si_code`: positive for a fault, 0 and below for a signal that was sent.
    pub code: i32,
    /// The address of a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<HexAddr>,
    /// The process that sent the signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_pid: Option<ProcessId>,
    /// The general registers where it hit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub registers: BTreeMap<String, HexAddr>,
    /// Functions of the open frames, newest first, as `module:symbol`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<String>,
    /// How many frames were open: there may be more than are listed.
    #[serde(default)]
    pub depth: u64,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
