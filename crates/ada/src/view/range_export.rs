//! A stretch of time as a file for other tools: made by `ada export`, which has its own way through a session.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use ada_event::TraceNanos;
use anyhow::{Context, bail};

/// Formats that go into one file.
const FORMATS: [&str; 7] = ["perfetto", "chrome", "firefox", "speedscope", "heph", "folded", "pprof"];
/// Bytes of an answer.
const MOST_BYTES: u64 = 256 << 20;

/// What begins between two moments, in a format. `lens` has the options that say which functions.
pub(super) fn answer(
    session: &Path,
    format: &str,
    lens: &[String],
    start: TraceNanos,
    end: TraceNanos,
) -> anyhow::Result<Vec<u8>> {
    if !FORMATS.contains(&format) {
        bail!("a format is one of {}", FORMATS.join(", "));
    }
    // This program, also if its file was replaced meanwhile.
    let mut child = Command::new("/proc/self/exe")
        .args(["export", "--to", format, "--output", "-"])
        .args([format!("--since=@{}", start.0), format!("--until=@{}", end.0)])
        .args(lens)
        .arg("--")
        .arg(session.canonicalize().context("cannot find the session")?)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot export")?;
    let mut bytes = Vec::new();
    let read = child.stdout.take().map(|out| out.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    let is_too_long = bytes.len() as u64 > MOST_BYTES;
    if is_too_long {
        let _ = child.kill();
    }
    let status = child.wait().context("cannot export")?;
    read.transpose().context("cannot export")?;
    if is_too_long {
        let command = format!("ada export --to {format} --since @{} --until @{}", start.0, end.0);
        bail!("that is more than {} MB; `{command}` writes a file", MOST_BYTES >> 20);
    }
    // 1 says that something of the session is damaged, which the page says too.
    match status.code() {
        Some(0 | 1) => Ok(bytes),
        _ => bail!("the export ended with {status}"),
    }
}
