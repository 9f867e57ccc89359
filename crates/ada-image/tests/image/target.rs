//! Small programs, built on the spot, and what `nm` says of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use ada_image::{FunctionTable, Image, UnwindTable};

/// A program in a folder of its own, which goes with it.
pub(crate) struct Target {
    folder: tempfile::TempDir,
    path: PathBuf,
}

impl Target {
    /// Builds `tests/programs/SOURCE` with gcc.
    pub(crate) fn build(source: &str, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("target");
        let source = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"))
            .join("tests/programs")
            .join(source);
        run("gcc", |gcc| gcc.arg("-o").arg(&path).arg(source).args(flags));
        Self { folder, path }
    }

    /// Builds assembler text with `tool`.
    pub(crate) fn assemble(tool: &str, text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (path, source) = (folder.path().join("target"), folder.path().join("target.s"));
        std::fs::write(&source, text).unwrap();
        run(tool, |tool| tool.arg("-o").arg(&path).arg(&source));
        Self { folder, path }
    }

    /// A copy that `tool` (strip, objcopy) has changed in place.
    pub(crate) fn changed_by(&self, tool: &str, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("target");
        std::fs::copy(&self.path, &path).unwrap();
        run(tool, |command| command.args(flags).arg(&path));
        Self { folder, path }
    }

    pub(crate) fn stripped(&self) -> Self {
        self.changed_by("strip", &[])
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap()
    }

    /// The function symbols by address, each with its names: what `nm` calls text, weak or indirect.
    pub(crate) fn nm(&self) -> BTreeMap<u64, Vec<String>> {
        let mut symbols = BTreeMap::<u64, Vec<String>>::new();
        for (address, name, kind) in self.symbols() {
            if kind == "FUNC" || kind == "IFUNC" {
                symbols.entry(address).or_default().push(name);
            }
        }
        symbols
    }

    /// The addresses of the labels, by name.
    pub(crate) fn labels(&self) -> BTreeMap<String, u64> {
        self.symbols().into_iter().map(|(address, name, _)| (name, address)).collect()
    }

    fn symbols(&self) -> Vec<(u64, String, String)> {
        let output = run("nm", |nm| nm.args(["--defined-only", "--format=sysv"]).arg(&self.path));
        let mut symbols = Vec::new();
        for line in String::from_utf8(output).unwrap().lines() {
            let fields: Vec<_> = line.split('|').map(str::trim).collect();
            if let [name, address, _class, kind, ..] = fields[..]
                && let Ok(address) = u64::from_str_radix(address, 16)
            {
                symbols.push((address, name.to_owned(), kind.to_owned()));
            }
        }
        symbols
    }
}

/// Runs a tool that must succeed, and returns its output.
pub(crate) fn run(tool: &str, arguments: impl FnOnce(&mut Command) -> &mut Command) -> Vec<u8> {
    let output = arguments(&mut Command::new(tool)).output().unwrap_or_else(|error| panic!("{tool}: {error}"));
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// All functions of an image without further files.
pub(crate) fn discover(bytes: &[u8]) -> FunctionTable {
    let image = Image::parse(bytes).unwrap();
    FunctionTable::discover(&image, &UnwindTable::parse(&image), &[])
}

/// The image as `sstrip` leaves it: no section headers.
pub(crate) fn without_section_headers(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[0x28..0x30].fill(0);
    bytes[0x3c..0x40].fill(0);
    bytes
}

/// A library of the system, by the name that programs ask for.
pub(crate) fn system_library(name: &str) -> Vec<u8> {
    let output = run("gcc", |gcc| gcc.arg(format!("-print-file-name={name}")));
    let path = String::from_utf8(output).unwrap();
    std::fs::read(path.trim()).unwrap_or_else(|error| panic!("{path}: {error}"))
}
