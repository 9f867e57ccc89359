//! Frida, from PyPI, in a folder of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::apt;
use crate::bench::Bench;
use crate::bench::child::{self, Finished};

/// An installed Frida.
pub(crate) struct Frida {
    pub(crate) version: String,
    python: PathBuf,
    driver: PathBuf,
}

impl Frida {
    /// Looks for Frida in ada's cache folder, and installs it there if that is allowed.
    pub(crate) fn find(bench: &Bench) -> anyhow::Result<Self> {
        let environment = cache_folder().context("neither ADA_CACHE nor HOME is set")?.join("frida");
        let python = environment.join("bin/python");
        let driver = bench.sources.join("frida_leaf.py");
        if let Some(version) = version(&python) {
            return Ok(Self { version, python, driver });
        }
        anyhow::ensure!(bench.may_install, "it is not installed, and --no-install was given");
        eprintln!("xtask: installing Frida into {}", environment.display());
        let make = || {
            let mut make = Command::new("python3");
            make.args(["-m", "venv", "--clear"]).arg(&environment);
            child::run(&mut make, &bench.scratch, true)?.succeeded("python3 -m venv")
        };
        // Debian's python3 cannot do it without another package.
        make().or_else(|_| apt::install(bench, "python3-venv").and_then(|()| make()))?;
        let mut install = Command::new(&python);
        child::run(install.args(["-m", "pip", "install", "--quiet", "frida"]), &bench.scratch, true)?
            .succeeded("pip install frida")?;
        Ok(Self { version: version(&python).context("pip has installed it, and it does not run")?, python, driver })
    }

    /// Runs a command with the Interceptor on `leaf`, and empty callbacks in C.
    pub(crate) fn trace(&self, bench: &Bench, command: &[OsString]) -> anyhow::Result<Finished> {
        let mut frida = Command::new(&self.python);
        frida.arg(&self.driver).args(command);
        let finished = child::run(&mut frida, &bench.scratch, true)?.succeeded("Frida")?;
        anyhow::ensure!(finished.stderr.is_empty(), "Frida says: {}", finished.stderr.trim());
        Ok(finished)
    }
}

fn version(python: &Path) -> Option<String> {
    let output = Command::new(python).args(["-c", "import frida; print(frida.__version__)"]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Where scripts/env keeps downloads too.
fn cache_folder() -> Option<PathBuf> {
    let from = |name: &str| std::env::var_os(name).map(PathBuf::from);
    from("ADA_CACHE")
        .or_else(|| Some(from("XDG_CACHE_HOME")?.join("ada")))
        .or_else(|| Some(from("HOME")?.join(".cache/ada")))
}
