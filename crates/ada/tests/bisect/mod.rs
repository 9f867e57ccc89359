//! `ada bisect` on a program that reads its own code, so that exactly the hooks of known functions make a difference.

mod found;
mod quarantine;
mod undecided;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::run::{self, text};
use crate::trace::program::Program;

/// The program, and a cache of its own.
struct Bisecting {
    program: PathBuf,
    cache: TempDir,
}

impl Bisecting {
    fn new() -> Self {
        Self { program: Program::new("summed_text.c").build(), cache: tempfile::tempdir().unwrap() }
    }

    fn ada(&self) -> Command {
        let mut command = run::command();
        command.env("ADA_CACHE_DIR", self.cache.path());
        command
    }

    /// Bisects the program with these arguments.
    fn bisect(&self, options: &[&str], arguments: &[&str]) -> Output {
        self.bisect_with(options, arguments, b"")
    }

    fn bisect_with(&self, options: &[&str], arguments: &[&str], input: &[u8]) -> Output {
        let mut command = self.ada();
        command.arg("bisect").args(options).arg("--").arg(&self.program).args(arguments);
        run::bounded(command, input)
    }

    fn quarantine(&self, options: &[&str]) -> Output {
        let mut command = self.ada();
        command.arg("quarantine").args(options);
        run::bounded(command, b"")
    }
}

/// The functions that were found, by name, each with the line above it that says how many it takes.
fn culprits(output: &Output, program: &Path) -> Vec<(String, String)> {
    let place = format!(" of {}", program.display());
    let mut title = String::new();
    let mut found = Vec::new();
    for line in text(&output.stdout).lines() {
        if line.starts_with("the hooks of ") {
            title = line.to_owned();
        } else if let Some(name) = line.strip_prefix("  ").filter(|it| it.ends_with(&place)) {
            found.push((title.clone(), name.split(' ').next().unwrap_or_default().to_owned()));
        }
    }
    found
}

/// What was printed, for messages.
fn said(output: &Output) -> String {
    format!("{:?}\n{}\n{}", output.status, text(&output.stdout), text(&output.stderr))
}
