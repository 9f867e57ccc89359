//! The benchmark's own programs, compiled.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;

use super::Bench;

/// Compiles `bench/NAME.c`. The symbols are exported, so that peers find `leaf` by its name.
pub(super) fn compile(bench: &Bench, name: &str) -> anyhow::Result<PathBuf> {
    let program = bench.scratch.join(name);
    let source = bench.sources.join(name).with_extension("c");
    let status = Command::new("gcc")
        .args(["-O2", "-rdynamic", "-o"])
        .arg(&program)
        .arg(&source)
        .status()
        .context("cannot run gcc; apt-get install gcc libc6-dev")?;
    anyhow::ensure!(status.success(), "{} does not compile", source.display());
    Ok(program)
}

/// A command line of words.
pub(super) fn command<Word: Into<OsString>>(words: impl IntoIterator<Item = Word>) -> Vec<OsString> {
    words.into_iter().map(Into::into).collect()
}
