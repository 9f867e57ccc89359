//! The ada that is measured, and the traces that it makes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;

use super::call_profile::CallProfile;
use super::child::{self, Finished};
use super::summary::Summary;

/// Builds ada as users have it. Gives the executable and cargo's target folder.
pub(super) fn build(root: &Path) -> anyhow::Result<(PathBuf, PathBuf)> {
    let ada = build_executable(root, &["--package", "ada"])?;
    let target = ada.ancestors().nth(2).context("the executable is in no target folder")?.to_owned();
    Ok((ada, target))
}

/// Builds what cargo's options name, optimised.
pub(super) fn build_executable(root: &Path, options: &[&str]) -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root)
        .args(["build", "--release", "--message-format", "json-render-diagnostics"])
        .args(options)
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    anyhow::ensure!(output.status.success(), "{} does not build", options.join(" "));
    executable(&String::from_utf8_lossy(&output.stdout)).context("cargo names no executable")
}

/// The executable in what cargo says of a build, a JSON object a line.
fn executable(messages: &str) -> Option<PathBuf> {
    let parsed = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    parsed.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back()
}

/// How to run ada.
pub(super) struct Ada {
    path: PathBuf,
    traces: PathBuf,
    pub(super) version: String,
    /// Whether it can keep plans from one start to the next.
    pub(super) has_plan_cache: bool,
}

impl Ada {
    pub(super) fn new(path: PathBuf, traces: PathBuf) -> anyhow::Result<Self> {
        let say = |arguments: &[&str]| {
            let output = Command::new(&path).args(arguments).output();
            let output = output.with_context(|| format!("cannot run {}", path.display()))?;
            anyhow::Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let version = say(&["--version"])?;
        let has_plan_cache = say(&["trace", "--help"])?.contains("--no-plan-cache");
        fs::create_dir_all(&traces).with_context(|| format!("cannot make {}", traces.display()))?;
        Ok(Self { path, traces, version, has_plan_cache })
    }

    /// The executable.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where traces go.
    pub(super) fn traces(&self) -> &Path {
        &self.traces
    }

    /// Traces a command to its end.
    pub(super) fn trace(&self, options: &[String], command: &[OsString], keep: bool) -> anyhow::Result<Trace> {
        self.trace_with_cache(options, command, keep, None)
    }

    /// Traces a command to its end, with the plans of earlier starts in a folder.
    pub(super) fn trace_with_cache(
        &self,
        options: &[String],
        command: &[OsString],
        keep: bool,
        cache: Option<&Path>,
    ) -> anyhow::Result<Trace> {
        let mut ada = Command::new(&self.path);
        ada.arg("trace").arg("--output").arg(&self.traces).args(options);
        match cache {
            Some(folder) => drop(ada.env("ADA_CACHE_DIR", folder)),
            None if self.has_plan_cache => drop(ada.arg("--no-plan-cache")),
            None => {}
        }
        ada.arg("--").args(command);
        let finished = child::run(&mut ada, &self.traces, keep)?;
        let program = command.first().map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
        let Some(summary) = Summary::parse(&finished.stderr) else {
            anyhow::bail!("{program} was not traced: {}", finished.stderr.trim());
        };
        let manifest = first_manifest(&summary.session)?;
        Ok(Trace { finished, summary, manifest })
    }
}

/// The manifest of the process that was started: of all processes only its processor time is known.
fn first_manifest(session: &Path) -> anyhow::Result<Value> {
    for entry in fs::read_dir(session).with_context(|| format!("cannot read {}", session.display()))? {
        let path = entry?.path().join("manifest.json");
        if let Ok(bytes) = fs::read(&path) {
            let manifest: Value =
                serde_json::from_slice(&bytes).with_context(|| format!("{} is damaged", path.display()))?;
            if manifest.get("cpu_user_ns").is_some() {
                return Ok(manifest);
            }
        }
    }
    anyhow::bail!("no manifest in {} has the program's end", session.display())
}

/// A finished trace. Its files go when it does: they are large.
pub(super) struct Trace {
    pub(super) finished: Finished,
    pub(super) summary: Summary,
    pub(super) manifest: Value,
}

impl Trace {
    /// Processor time of the program alone.
    pub(super) fn program_cpu(&self) -> anyhow::Result<Duration> {
        let nanoseconds = |name: &str| self.manifest[name].as_u64();
        let total = nanoseconds("cpu_user_ns").zip(nanoseconds("cpu_system_ns")).map(|(user, system)| user + system);
        Ok(Duration::from_nanos(total.context("the manifest has no processor time")?))
    }

    /// Processor time of ada alone.
    pub(super) fn ada_cpu(&self) -> anyhow::Result<Duration> {
        Ok(self.finished.cpu.saturating_sub(self.program_cpu()?))
    }

    pub(super) fn bytes_on_disk(&self) -> u64 {
        size_of_tree(&self.summary.session)
    }

    pub(super) fn profile(&self) -> anyhow::Result<CallProfile> {
        CallProfile::of(&self.summary.session)
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.summary.session);
    }
}

fn size_of_tree(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of_tree(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_names_the_executable() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
            {\"reason\":\"compiler-artifact\",\"executable\":\"/t/release/ada\"}\n\
            {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages), Some(PathBuf::from("/t/release/ada")));
        assert_eq!(executable("not json"), None);
    }

    #[test]
    fn the_manifest_of_the_first_process_is_the_one_with_a_time() {
        let session = std::env::temp_dir().join(format!("xtask-session-{}", std::process::id()));
        for (process, text) in [("pid_1", r#"{"pid": 1}"#), ("pid_2", r#"{"pid": 2, "cpu_user_ns": 70000}"#)] {
            fs::create_dir_all(session.join(process)).unwrap();
            fs::write(session.join(process).join("manifest.json"), text).unwrap();
        }
        assert_eq!(first_manifest(&session).unwrap()["pid"], 2);
        assert_eq!(size_of_tree(&session), 10 + 32);
        fs::remove_dir_all(session.join("pid_2")).unwrap();
        assert!(first_manifest(&session).is_err());
        fs::remove_dir_all(&session).unwrap();
    }
}
