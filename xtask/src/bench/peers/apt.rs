//! Debian packages that a peer needs.

use std::process::Command;

use crate::bench::Bench;
use crate::bench::child;

/// Installs a package, unless that is not wanted.
pub(in crate::bench) fn install(bench: &Bench, package: &str) -> anyhow::Result<()> {
    anyhow::ensure!(bench.may_install, "{package} is not installed, and --no-install was given");
    eprintln!("xtask: installing {package}");
    let mut install = Command::new("apt-get");
    // SAFETY: the call cannot fail and touches no memory.
    if unsafe { libc::geteuid() } != 0 {
        install = Command::new("sudo");
        install.args(["-n", "apt-get"]);
    }
    install.args(["install", "-y", "-qq", "--no-install-recommends", package]);
    install.env("DEBIAN_FRONTEND", "noninteractive");
    child::run(&mut install, &bench.scratch, false)?.succeeded(&format!("apt-get install {package}"))?;
    Ok(())
}
