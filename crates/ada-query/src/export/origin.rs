//! Where a session comes from: host, service, version and start.

use std::path::Path;

use ada_event::civil_from_days;
use ada_format::atf::Manifest;
use serde_json::Value;

use crate::trace::{Trace, TraceSession};

/// What a session is filed under in a dataset of a fleet. What is not known is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The machine.
    pub host: Option<String>,
    /// What was recorded.
    pub service: Option<String>,
    /// Its version.
    pub version: Option<String>,
}

impl Origin {
    /// What the manifests say, except where this has something better.
    pub(super) fn or_recorded(&self, trace: &Trace, session: &TraceSession) -> Self {
        let first = first_manifest(trace, session);
        let program = first.and_then(|it| it.modules.first());
        let path = program.map(|it| it.path.as_str()).or_else(|| Some(first?.command_line.first()?.as_str()));
        let file_name = path.and_then(|it| Some(Path::new(it).file_name()?.to_string_lossy().into_owned()));
        let known =
            |told: &Option<String>, recorded: Option<String>| told.clone().or(recorded).filter(|text| !text.is_empty());
        Self {
            host: known(&self.host, first.and_then(|it| Some(it.extra.get("host")?.as_str()?.to_owned()))),
            service: known(&self.service, file_name),
            version: known(&self.version, program.and_then(|it| it.build_id.as_ref()).map(ToString::to_string)),
        }
    }
}

/// When the trace's clock was 0, in nanoseconds of Unix time.
pub(super) fn epoch(trace: &Trace, session: &TraceSession) -> Option<u64> {
    first_manifest(trace, session)?.extra.get("epoch_unix_ns").and_then(Value::as_u64)
}

/// The process that the others of a session descend from: one that nobody who was traced has started.
fn first_manifest<'a>(trace: &'a Trace, session: &TraceSession) -> Option<&'a Manifest> {
    let manifests = || {
        let of_session = trace.processes().iter().filter(|it| trace.session_of(it).name == session.name);
        of_session.filter_map(|it| trace.manifest(it))
    };
    let roots = manifests().filter(|it| it.parent_pid.is_none());
    roots.min_by_key(|it| it.time_start_ns).or_else(|| manifests().min_by_key(|it| it.time_start_ns))
}

/// A moment as folders are named by it, so that texts are in the order of time: `20261117T084500Z`.
pub(super) fn written(unix_nanos: u64) -> String {
    let seconds = unix_nanos / 1_000_000_000;
    let (year, month, day) = civil_from_days(seconds / 86_400);
    let second = seconds % 86_400;
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_in_order_as_texts() {
        assert_eq!(written(1_610_113_734_118_010_000), "20210108T134854Z");
        assert!(written(951_782_399_999_999_999) < written(951_782_400_000_000_000));
    }
}
