//! A stretch of time as a file for other tools: made by `ada export`, which has its own way through a session.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use ada_event::TraceNanos;

use super::routes::Failure;

/// Formats that go into one file.
const FORMATS: [&str; 7] = ["perfetto", "chrome", "firefox", "speedscope", "heph", "folded", "pprof"];
/// Bytes of an answer.
const MOST_BYTES: u64 = 256 << 20;

/// What begins between two moments, in a format.
pub(super) fn answer(session: &Path, format: &str, start: TraceNanos, end: TraceNanos) -> Result<Vec<u8>, Failure> {
    if !FORMATS.contains(&format) {
        return Err(Failure::Wrong(format!("{format} is none of {}", FORMATS.join(", "))));
    }
    let failed = |error: std::io::Error| Failure::Failed(format!("cannot export: {error}"));
    // This program, also if its file was replaced meanwhile.
    let mut child = Command::new("/proc/self/exe")
        .args(["export", "--to", format, "--output", "-"])
        .args([format!("--since=@{}", start.0), format!("--until=@{}", end.0)])
        .arg("--")
        .arg(session.canonicalize().map_err(failed)?)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let mut bytes = Vec::new();
    let read = child.stdout.take().map(|out| out.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    let is_too_long = bytes.len() as u64 > MOST_BYTES;
    if is_too_long {
        let _ = child.kill();
    }
    let status = child.wait().map_err(failed)?;
    read.transpose().map_err(failed)?;
    if is_too_long {
        let command = format!("ada export --to {format} --since @{} --until @{}", start.0, end.0);
        return Err(Failure::Wrong(format!("that is more than {} MB; `{command}` writes a file", MOST_BYTES >> 20)));
    }
    // 1 says that something of the session is damaged, which the page says too.
    match status.code() {
        Some(0 | 1) => Ok(bytes),
        _ => Err(Failure::Failed(format!("the export ended with {status}"))),
    }
}
