//! uftrace, from Debian.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;

use super::apt;
use crate::bench::Bench;
use crate::bench::child::{self, Finished};

/// An installed uftrace.
pub(crate) struct Uftrace {
    pub(crate) version: String,
    data: PathBuf,
}

impl Uftrace {
    /// Looks for uftrace, and installs it if that is allowed.
    pub(crate) fn find(bench: &Bench) -> anyhow::Result<Self> {
        let data = bench.scratch.join("uftrace.data");
        if let Some(version) = version() {
            return Ok(Self { version, data });
        }
        apt::install(bench, "uftrace")?;
        Ok(Self { version: version().context("apt-get has installed it, and it does not run")?, data })
    }

    /// Runs a command with every function of its program patched.
    pub(crate) fn trace(&self, bench: &Bench, command: &[OsString]) -> anyhow::Result<Finished> {
        let mut uftrace = Command::new("uftrace");
        uftrace.args(["record", "-P", ".", "-d"]).arg(&self.data).args(command);
        let finished = child::run(&mut uftrace, &bench.scratch, true);
        let _ = fs::remove_dir_all(&self.data);
        finished?.succeeded("uftrace")
    }
}

fn version() -> Option<String> {
    let output = Command::new("uftrace").arg("--version").output().ok()?;
    // `uftrace v0.13 ( x86_64 dwarf … )`
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then(|| text.split_whitespace().nth(1).unwrap_or("").to_owned())
}
