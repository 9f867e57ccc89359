//! `manifest.json`: what a process's trace consists of, and what is known of the process.
//!
//! Other readers expect `threads` (each with `id` and `has_detail`), `time_start_ns` and `time_end_ns`, and ignore
//! the rest; so a manifest with only these is a good one. Fields that this version does not know are kept at each
//! level and written back.

mod crash;
mod gap;
mod hook_cost;
mod module;
mod open_calls;
mod switch;

pub use crash::Crash;
pub use gap::Gap;
pub use hook_cost::HookCost;
pub use module::{BuildId, Coverage, HexAddr, Module};
pub use open_calls::OpenCalls;
pub use switch::Switch;

use std::collections::BTreeMap;

use ada_event::{ProcessId, ThreadId, TraceNanos};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{AtfError, Platform};

/// The newest `format_version` that is known here.
pub const MANIFEST_VERSION: u32 = 1;

/// A process's manifest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`MANIFEST_VERSION`]; 0 where a manifest does not say. Additions do not change it, a new meaning does.
    #[serde(default)]
    pub format_version: u32,
    /// Whether the writer got to its end; absent in manifests that others wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<bool>,
    /// The threads, each in its folder `thread_<id>`.
    pub threads: Vec<ThreadEntry>,
    /// The earliest event's time.
    pub time_start_ns: TraceNanos,
    /// The latest event's time.
    pub time_end_ns: TraceNanos,
    /// The operating system: a name of [`super::Os`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    /// The architecture: a name of [`super::Arch`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// The clock: a name of [`super::Clock`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// The program and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command_line: Vec<String>,
    /// The process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<ProcessId>,
    /// The process that started it, if that is traced too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_pid: Option<ProcessId>,
    /// Whether it ran already when the recording began.
    #[serde(default, skip_serializing_if = "is_false")]
    pub attached: bool,
    /// How the process ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// Processor time that it and the children it waited for spent in their own code, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_user_ns: Option<u64>,
    /// The same in the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_system_ns: Option<u64>,
    /// The images that were loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<Module>,
    /// What went through each lane of the rings: `index`, `detail`, `probe`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lanes: BTreeMap<String, LaneFigures>,
    /// Events that were lost, by lane and reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drops: Vec<Drops>,
    /// Where in the threads' events some are missing, or where a thread had to wait to record one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
    /// The pool of pieces of the rings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolFigures>,
    /// The windows in which detail was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<Window>,
    /// What a hook costs, where it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook_cost_ns: Option<HookCost>,
    /// The share of the program's time that hooks may take, where one was set: 0.1 is ten percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_overhead: Option<f64>,
    /// Processor time, of all traced processes, during which hooks took more than one and a half times
    /// this share by the recorder's estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_budget_ns: Option<u64>,
    /// When the process's hooks were removed: nothing is recorded of it afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unhooked_ns: Option<TraceNanos>,
    /// How long the process waited until programs that it ran were hooked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waited_for_hooks_ns: u64,
    /// The times in which functions were not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<Switch>,
    /// The times in which functions were recorded without their values, though these can be captured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub value_switches: Vec<Switch>,
    /// What a recording that keeps only its newest part has let go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring: Option<RingFigures>,
    /// Fatal signals that hit the process's threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crashes: Vec<Crash>,
    /// What each thread was doing when ada attached to the process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_calls: Vec<OpenCalls>,
    /// What could not be recorded and why: sentences, or objects with more to say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Value>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A thread of the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadEntry {
    /// The thread's id, and the number in its folder's name.
    pub id: ThreadId,
    /// Whether it has a detail file.
    pub has_detail: bool,
    /// How many events its index file has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_count: Option<u64>,
    /// The kernel's id of the thread. Ids are used again: threads of one id at different times have different `id`s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<ThreadId>,
    /// The thread's handle, its `pthread_t`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<HexAddr>,
    /// The thread's name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What was in the thread's descriptor when it, or its process, was about to end: what it ended with, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_value: Option<HexAddr>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// How a process ended: `code` or `signal`, or neither where that is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Exit {
    /// The exit code, if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal, if one killed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whose word that is: `wait`, `kernel`, `exit_call`, `crash` or `nobody`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_by: Option<String>,
    /// When it was last seen to run, a few milliseconds before its end: what a signal kills need not have recorded anything for long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alive_ns: Option<TraceNanos>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What went through a lane of the rings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LaneFigures {
    /// Records that were written to files.
    pub written: u64,
    /// Their bytes in the files.
    pub bytes: u64,
    /// Full pieces of the ring that were handed over.
    pub dumps: u64,
    /// Time from the event to the operating system's hands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<LatencyFigures>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The pool of pieces that all lanes share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PoolFigures {
    /// How many pieces there are.
    pub pieces: u64,
    /// The fewest that were free at one time.
    pub low_water: u64,
    /// How often a thread found none free.
    pub exhausted: u64,
    /// How long threads waited for one.
    pub waited_ns: u64,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A recording that keeps only its newest part on disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RingFigures {
    /// How many bytes of events and detail it keeps at most.
    pub limit_bytes: u64,
    /// How many events of the process were let go: calls may have begun before the first event.
    pub let_go_events: u64,
    /// When the first of them happened; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub let_go_start_ns: Option<TraceNanos>,
    /// When the last of them happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub let_go_end_ns: Option<TraceNanos>,
    /// In the first process's manifest: how many processes had ended, and nothing of them was kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gone_processes: u64,
    /// How many events these had.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gone_events: u64,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The time within which half, 95 and 99 of a hundred were done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyFigures {
    /// Half.
    pub p50: u64,
    /// 95 of a hundred.
    pub p95: u64,
    /// 99 of a hundred.
    pub p99: u64,
}

/// Events of one lane that were lost for one reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drops {
    /// `index`, `detail`, or a newer lane.
    pub lane: String,
    /// `ring_full`, `encoder_lag`, `disk_slow`, `pool_exhausted`, `memory_limit`, or a newer reason.
    pub reason: String,
    /// How many.
    pub count: u64,
    /// How many of them are missing where no [`Gap`] says so; absent where that was not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unplaced: Option<u64>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A span of time in which detail was written, with its real bounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// What opened it.
    pub trigger: String,
    /// Where it begins, pre-roll included.
    pub start_ns: TraceNanos,
    /// Where it ends, post-roll included.
    pub end_ns: TraceNanos,
    /// The thread whose detail was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// When it was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger_ns: Option<TraceNanos>,
    /// How many events have detail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<u64>,
    /// How many would have it, had it not been overwritten before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// How often each trigger fired within it: windows that overlap are one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub triggers: BTreeMap<String, u64>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Manifest {
    /// What a session has while it is being written, so that it is readable if it never is finished.
    pub fn begun(platform: Platform, pid: ProcessId) -> Self {
        Self {
            format_version: MANIFEST_VERSION,
            finished: Some(false),
            os: Some(platform.os.to_string()),
            arch: Some(platform.arch.to_string()),
            clock: Some(platform.clock.to_string()),
            pid: Some(pid),
            ..Self::default()
        }
    }

    /// Reads a manifest.
    pub fn parse(bytes: &[u8]) -> Result<Self, AtfError> {
        let manifest: Self = serde_json::from_slice(bytes).map_err(|error| AtfError::Manifest {
            offset: offset_of(bytes, error.line(), error.column()),
            line: error.line(),
            column: error.column(),
            reason: without_position(&error),
        })?;
        match manifest.format_version {
            0..=MANIFEST_VERSION => Ok(manifest),
            found => Err(AtfError::ManifestVersion { found, known: MANIFEST_VERSION }),
        }
    }

    /// The manifest as a file holds it: for people too.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = serde_json::to_vec_pretty(self).expect("strings, numbers and lists have a JSON form");
        json.push(b'\n');
        json
    }
}

/// The byte that a line and a column, both from 1, mean.
fn offset_of(bytes: &[u8], line: usize, column: usize) -> u64 {
    let before: usize =
        bytes.split_inclusive(|&byte| byte == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    (before + column.saturating_sub(1)).min(bytes.len()) as u64
}

/// The error's words; the position has a field of its own.
fn without_position(error: &serde_json::Error) -> String {
    let words = error.to_string();
    words.rsplit_once(" at line ").map_or(words.as_str(), |(reason, _)| reason).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_names_are_enough() {
        let json = br#"{"threads": [{"id": 0, "has_detail": true}], "time_start_ns": 5, "time_end_ns": 9}"#;
        let manifest = Manifest::parse(json).unwrap();
        assert!(manifest.threads[0].has_detail);
        assert_eq!((manifest.format_version, manifest.finished), (0, None));
    }

    #[test]
    fn unknown_fields_are_kept_at_each_level() {
        let json = serde_json::json!({
            "format_version": 1,
            "threads": [{"id": 1, "has_detail": false, "colour": "red"}],
            "time_start_ns": 1, "time_end_ns": 2,
            "exit": {"signal": 11, "core": true},
            "modules": [{"module_id": 3, "path": "/bin/x", "load_base": "0x7f0000001000", "build_id": "00ff",
                         "coverage": {"found": 9, "hooked": 8, "entry_only": 0, "skipped": {"too_short": 1}, "new": 1},
                         "future": {"a": [1, 2]}}],
            "drops": [{"lane": "detail", "reason": "ring_full", "count": 7, "unplaced": 1, "since": 1}],
            "gaps": [{"thread": 1, "time_ns": 2, "lost": 3, "waited_ns": 4, "why": "disk"}],
            "windows": [{"trigger": "crash", "start_ns": 1, "end_ns": 2, "id": 4}],
            "crashes": [{"thread": 1, "time_ns": 2, "signal": 11, "code": 1, "address": "0x10", "depth": 3,
                         "registers": {"rip": "0x401000"}, "frames": ["1:5", "1:0"], "core": "core.17"}],
            "limits": ["no debug files", {"symbol": "swift_task_create"}],
            "host": {"name": "here"},
        });
        let manifest = Manifest::parse(json.to_string().as_bytes()).unwrap();
        let again: Value = serde_json::from_slice(&manifest.to_json()).unwrap();
        assert_eq!(again, json);
    }

    #[test]
    fn unknown_fractions_do_not_drift_when_they_are_written_again() {
        let json = br#"{"threads":[],"time_start_ns":0,"time_end_ns":0,"x":1.52222222222222222222222222222222222}"#;
        let manifest = Manifest::parse(json).unwrap();
        assert_eq!(Manifest::parse(&manifest.to_json()), Ok(manifest));
    }

    #[test]
    fn bad_json_is_an_error_with_its_offset() {
        let error = Manifest::parse(b"{\n  \"threads\": 7}").unwrap_err();
        let AtfError::Manifest { offset, line, column, reason } = error else { panic!("{error}") };
        assert_eq!((offset, line, column), (15, 2, 14));
        assert!(reason.contains("expected a sequence"), "{reason}");
        assert!(matches!(Manifest::parse(b""), Err(AtfError::Manifest { offset: 0, .. })));
    }

    #[test]
    fn a_newer_version_is_refused() {
        let json = br#"{"format_version": 2, "threads": [], "time_start_ns": 0, "time_end_ns": 0}"#;
        assert_eq!(Manifest::parse(json), Err(AtfError::ManifestVersion { found: 2, known: 1 }));
    }
}
