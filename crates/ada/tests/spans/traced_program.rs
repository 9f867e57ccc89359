//! A traced program, and what the commands report of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::program::Program;
use crate::run;

/// A session of a tiny program.
pub(crate) struct TracedProgram {
    folder: TempDir,
    program: String,
}

impl TracedProgram {
    /// Traces a program.
    pub(crate) fn trace(program: &Program) -> Self {
        Self::trace_with(program, &[])
    }

    /// Traces a program with registers.
    pub(crate) fn trace_with_registers(program: &Program) -> Self {
        Self::trace_with(program, &["--detail", "all"])
    }

    /// Traces a program with options.
    pub(crate) fn trace_with(program: &Program, options: &[&str]) -> Self {
        Self::trace_file(&program.build(), options)
    }

    /// The same with arguments.
    pub(crate) fn trace_running(program: &Program, options: &[&str], arguments: &[&str]) -> Self {
        Self::trace_command(&program.build(), options, arguments)
    }

    /// Traces a program that is there.
    pub(crate) fn trace_file(path: &Path, options: &[&str]) -> Self {
        Self::trace_command(path, options, &[])
    }

    /// The same of a program that is there.
    #[allow(dead_code, reason = "one of the test targets that share this uses it")]
    pub(crate) fn trace_running_file(path: &Path, arguments: &[&str]) -> Self {
        Self::trace_command(path, &[], arguments)
    }

    fn trace_command(path: &Path, options: &[&str], arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = run::command_that_signals_end();
        command.args(["trace", "--quiet", "--output"]).arg(folder.path()).args(options).arg("--").arg(path);
        command.args(arguments);
        run::bounded(command, b"");
        let program = path.file_name().expect("a program has a name").to_string_lossy().into_owned();
        Self { folder, program }
    }

    /// A session that is there, in a folder of its own.
    #[allow(dead_code, reason = "one of the test targets that share this uses it")]
    pub(crate) fn from_folder(folder: TempDir, program: &str) -> Self {
        Self { folder, program: program.to_owned() }
    }

    /// The folder with the one session.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The session's folder of derived tables.
    pub(crate) fn derived(&self) -> PathBuf {
        let child = |path: &Path| {
            let entry = std::fs::read_dir(path).unwrap().next().expect("there is one");
            entry.unwrap().path()
        };
        child(&child(self.path())).join("derived")
    }

    /// Runs a command on the session, which comes after the command's name.
    pub(crate) fn ada(&self, command: &str, options: &[&str]) -> Output {
        let mut ada = run::command();
        ada.arg(command);
        if matches!(command, "show" | "ask") {
            ada.args(options).arg(self.path());
        } else {
            ada.arg(self.path()).args(options);
        }
        run::bounded(ada, b"")
    }

    /// What a command prints.
    pub(crate) fn text(&self, command: &str, options: &[&str]) -> String {
        let output = self.ada(command, options);
        assert_eq!(output.status.code(), Some(0), "{command} {options:?}: {}", run::text(&output.stderr));
        run::text(&output.stdout).to_owned()
    }

    /// What a command prints as JSON.
    pub(crate) fn json(&self, command: &str, options: &[&str]) -> Value {
        let mut all = options.to_vec();
        all.extend(["--format", "json"]);
        serde_json::from_str(&self.text(command, &all)).expect("it prints JSON")
    }

    /// All spans that options choose.
    pub(crate) fn spans(&self, options: &[&str]) -> Vec<Value> {
        let mut all = options.to_vec();
        all.extend(["--limit", "0"]);
        self.json("spans", &all)["spans"].as_array().expect("a list").clone()
    }

    /// How often which outcome a function of the program itself has: `"completed"`, `"unmatched tail_call"`.
    pub(crate) fn outcomes(&self, function: &str) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for span in self.spans(&["--type", "frame", "--module", &self.program, "--function", function]) {
            *counts.entry(outcome(&span)).or_default() += 1;
        }
        counts
    }
}

/// Status and reason in one.
pub(crate) fn outcome(span: &Value) -> String {
    let status = span["status"].as_str().expect("each span has one");
    span["reason"].as_str().map_or_else(|| status.to_owned(), |reason| format!("{status} {reason}"))
}

/// What [`TracedProgram::outcomes`] gives where all are alike.
pub(crate) fn all(outcome: &str, count: usize) -> BTreeMap<String, usize> {
    BTreeMap::from([(outcome.to_owned(), count)])
}
