//! The tiny programs: compiled once per content, kept between test runs.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// How to make an executable or a library from a source of `tests/programs/`.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Program {
    source: &'static str,
    compiler: &'static str,
    flags: Vec<String>,
    strip: bool,
}

impl Program {
    /// Optimised, by the compiler for the file's ending. Calls stay calls: without the flag, gcc makes loops of
    /// recursion and jumps of last calls.
    pub(crate) fn new(source: &'static str) -> Self {
        let (compiler, flags): (_, &[&str]) = match source.rsplit('.').next() {
            Some("rs") => ("rustc", &["--edition=2024", "-Copt-level=2", "-Cdebuginfo=0"]),
            Some("cpp") => ("g++", &["-std=c++17", "-O2", "-fno-optimize-sibling-calls"]),
            _ => ("gcc", &["-O2", "-fno-optimize-sibling-calls"]),
        };
        Self { source, compiler, flags: flags.iter().map(|&flag| flag.into()).collect(), strip: false }
    }

    /// With another compiler.
    pub(crate) fn compiler(mut self, compiler: &'static str) -> Self {
        self.compiler = compiler;
        self
    }

    /// With these flags behind the others.
    pub(crate) fn flags(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().map(|&flag| flag.to_owned()));
        self
    }

    /// Without any symbol.
    pub(crate) fn stripped(mut self) -> Self {
        self.strip = true;
        self
    }

    /// The finished file.
    pub(crate) fn build(&self) -> PathBuf {
        let source = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"))
            .join("../../tests/programs")
            .join(self.source);
        let content = fs::read(&source).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
        let mut hasher = DefaultHasher::new();
        // Debug information names the source: that of another checkout may be gone.
        (self, content, &source).hash(&mut hasher);
        let stem = self.source.split('.').next().expect("a split has a first part");
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs").join(format!("{:016x}", hasher.finish()));
        let path = kept.join(stem);
        if !path.exists() {
            fs::create_dir_all(&kept).unwrap();
            // Tests that want the same program at once each make it. The first one to finish puts it there, and none
            // replaces it: another test may be running it by then.
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let unfinished = kept.join(format!("{stem}.{}.{number}", std::process::id()));
            run(Command::new(self.compiler).arg("-o").arg(&unfinished).arg(&source).args(&self.flags));
            if self.strip {
                run(Command::new("strip").arg(&unfinished));
            }
            if let Err(error) = fs::hard_link(&unfinished, &path) {
                assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists, "{error}");
            }
            fs::remove_file(&unfinished).unwrap();
        }
        path
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; scripts/setup installs it"));
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
}
