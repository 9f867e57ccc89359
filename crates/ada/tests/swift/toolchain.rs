//! The programs of `tests/swift/`, compiled where Swift is, once per content.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// How a program is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Build {
    /// Not optimised.
    Debug,
    /// Optimised.
    Release,
    /// Optimised, with the runtimes inside.
    Static,
    /// Optimised, and without its own symbols.
    Stripped,
    /// Optimised, with the runtimes inside, and without any symbols.
    StaticStripped,
}

fn clone() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the clone is there")
}

/// A command that will run in the tree with Swift.
pub(crate) fn in_swift() -> Command {
    let mut command = Command::new(clone().join("scripts/swift-env"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is within the target folder");
    command.env("CARGO_TARGET_DIR", target).env("ADA_BINARY", env!("CARGO_BIN_EXE_ada")).current_dir(clone());
    command
}

/// The compiler and its options.
fn compiler(source: &str, build: Build) -> Vec<String> {
    let (stem, ending) = source.split_once('.').expect("a source has an ending");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    if ending == "c" {
        const SWIFT: &str = "/usr/libexec/swift";
        let level = if build == Build::Debug { "-O0" } else { "-O2" };
        return words(&format!(
            "{SWIFT}/bin/clang -fblocks {level} -I{SWIFT}/lib/swift -L{SWIFT}/lib/swift/linux \
             -Wl,-rpath,{SWIFT}/lib/swift/linux -ldispatch -lBlocksRuntime"
        ));
    }
    let level = if build == Build::Debug { "-Onone -g -Xlinker --build-id" } else { "-O" };
    let runtime = if matches!(build, Build::Static | Build::StaticStripped) { "-static-stdlib" } else { "" };
    words(&format!("swiftc -parse-as-library -suppress-warnings -module-name {stem} {level} {runtime}"))
}

/// The finished program.
pub(crate) fn build(source: &str, build: Build) -> PathBuf {
    let path = clone().join("tests/swift").join(source);
    let content = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let compiler = compiler(source, build);
    let mut hasher = DefaultHasher::new();
    (&compiler, build, content).hash(&mut hasher);
    let stem = source.split('.').next().expect("a split has a first part");
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("swift").join(format!("{:016x}", hasher.finish()));
    let program = kept.join(stem);
    if program.exists() {
        return program;
    }
    fs::create_dir_all(&kept).unwrap();
    // Tests that want the same program at once each make it; the first one to finish puts it there.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let unfinished = kept.join(format!("{stem}.{}.{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    finish(in_swift().args(compiler).arg("-o").arg(&unfinished).arg(&path));
    if matches!(build, Build::Stripped | Build::StaticStripped) {
        finish(in_swift().arg("strip").arg(&unfinished));
    }
    fs::rename(&unfinished, &program).unwrap();
    program
}

fn finish(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
}
