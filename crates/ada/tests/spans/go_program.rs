//! Programs of Go, by all compilers that there are.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::run;

/// Debian's own Go, and the newest that `scripts/setup` brings, unless it was told to do without.
pub(crate) fn compilers() -> Vec<PathBuf> {
    if std::env::var_os("ADA_WITHOUT_SWIFT").is_some() {
        return vec![PathBuf::from("go")];
    }
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(|| home.join(".cache"), PathBuf::from).join("ada");
    let cache = std::env::var_os("ADA_CACHE").map_or(cache, PathBuf::from);
    vec![PathBuf::from("go"), cache.join("go-1.24/usr/lib/go-1.24/bin/go")]
}

/// Builds a program of `tests/runtimes` in a folder.
pub(crate) fn build(go: &Path, source: &str, flags: &[&str], folder: &TempDir) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/runtimes").join(source);
    let program = folder.path().join("program");
    let mut command = Command::new(go);
    command.arg("build").args(flags).arg("-o").arg(&program).arg(source).env("GOTOOLCHAIN", "local");
    let output = command.output().unwrap_or_else(|error| panic!("{}: {error}", go.display()));
    assert!(output.status.success(), "{}", run::text(&output.stderr));
    program
}
