//! Scripts in the Python that `scripts/setup` has made.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where `scripts/setup` keeps what tests download.
fn cache() -> PathBuf {
    std::env::var_os("ADA_CACHE").map(PathBuf::from).unwrap_or_else(|| {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let home = || PathBuf::from(std::env::var_os("HOME").expect("there is a home")).join(".cache");
        cache.unwrap_or_else(home).join("ada")
    })
}

/// A file of a package from npm.
#[allow(dead_code, reason = "one test target uses it")]
pub(crate) fn node_module(path: &str) -> PathBuf {
    let file = cache().join("node/node_modules").join(path);
    assert!(file.exists(), "{} is missing; scripts/setup makes it", file.display());
    file
}

/// Runs a script of `tests/python/` and gives what it printed.
pub(crate) fn script(name: &str, arguments: &[&Path]) -> String {
    let python = cache().join("python/bin/python");
    assert!(python.exists(), "{} is missing; scripts/setup makes it", python.display());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python").join(name);
    let output = Command::new(python).arg(path).args(arguments).output().expect("python starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{name}:\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}
