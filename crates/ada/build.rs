//! Names the commit that is built, for `ada --version`.

use std::process::Command;

fn main() {
    let number = std::env::var("CARGO_PKG_VERSION").expect("cargo sets CARGO_PKG_VERSION");
    println!("cargo::rerun-if-changed=build.rs");
    // Builds for tests do not name it: each commit would compile them again.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let built = if is_release { commit() } else { Some("debug build".to_owned()) };
    // Sources without git's folder have the number alone.
    let version = built.map_or_else(|| number.clone(), |built| format!("{number} ({built})"));
    println!("cargo::rustc-env=ADA_VERSION={version}");
}

/// The commit, and whether the sources differ from it.
fn commit() -> Option<String> {
    const SOURCES: [&str; 3] = ["../../crates", "../../viewer", "../../Cargo.lock"];
    // Each commit and each checkout adds a line to it.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|path| std::fs::exists(path).unwrap_or(false));
    for path in SOURCES.into_iter().chain(log.as_deref()) {
        println!("cargo::rerun-if-changed={path}");
    }
    let name = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(&[&["status", "--porcelain", "--"][..], &SOURCES].concat())?;
    Some(if changes.is_empty() { name } else { format!("{name} with changes") })
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
