//! A traced program that does what it reads, line by line.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use ada_event::FunctionId;
use ada_format::atf::{Manifest, Session, Switch};
use serde_json::Value;
use tempfile::TempDir;

use crate::run::{self, text};
use crate::trace::program::Program;
use crate::trace::recorded::Recorded;

/// A trace under way, with a folder of sockets of its own.
pub(super) struct Running {
    ada: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    program: PathBuf,
    folder: TempDir,
}

impl Running {
    pub(super) fn start(options: &[&str]) -> Self {
        Self::start_program(&Program::new("switched.c"), options)
    }

    /// The same for one that was made otherwise.
    pub(super) fn start_program(program: &Program, options: &[&str]) -> Self {
        Self::start_as(program, options, |_| ())
    }

    /// The same with what earlier runs have taught, and taught themselves, which is kept in `cache`.
    pub(super) fn start_learning(cache: &Path, options: &[&str]) -> Self {
        Self::start_as(&Program::new("switched.c"), options, |command| {
            command.env_remove("ADA_NO_LEARNING").env("ADA_CACHE_DIR", cache);
        })
    }

    fn start_as(program: &Program, options: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let program = program.build();
        let folder = tempfile::tempdir().unwrap();
        let mut command = run::command();
        command.args(["trace", "--output"]).arg(folder.path().join("sessions")).args(options);
        command.arg("--").arg(&program).env("XDG_RUNTIME_DIR", folder.path());
        change(&mut command);
        let mut ada = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdin = ada.stdin.take();
        let stdout = BufReader::new(ada.stdout.take().unwrap());
        Self { ada, stdin, stdout, program, folder }
    }

    /// Has the program do something.
    pub(super) fn send(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Waits for the program's next words.
    pub(super) fn expect(&mut self, words: &str) {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        assert_eq!(line, format!("{words}\n"));
    }

    /// Has the program do something, to its end.
    pub(super) fn have_done(&mut self, line: &str) {
        self.send(line);
        self.expect("done");
    }

    /// A command about running traces.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = run::command();
        command.args(words).env("XDG_RUNTIME_DIR", self.folder.path());
        command
    }

    /// What `ada ps` says of the one trace.
    pub(super) fn status(&self) -> Value {
        let output = self.command(&["ps", "--format", "json"]).output().unwrap();
        // Other tests kill adas.
        let lines: Vec<&str> = text(&output.stdout).lines().filter(|line| !line.contains("\"killed\"")).collect();
        assert_eq!(lines.len(), 1, "{lines:?} {}", text(&output.stderr));
        serde_json::from_str(lines[0]).unwrap()
    }

    /// The traced program, which has said something by now.
    pub(super) fn pid(&self) -> String {
        self.status()["pid"].to_string()
    }

    /// Switches functions; all has to go well.
    pub(super) fn filter(&self, words: &[&str]) -> String {
        let pid = self.pid();
        let arguments: Vec<&str> = ["filter", &pid].iter().chain(words).copied().collect();
        let output = self.command(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    }

    pub(super) fn runtime_folder(&self) -> PathBuf {
        self.folder.path().join("ada")
    }

    /// The end of the program, and of ada.
    pub(super) fn end(mut self) -> Ended {
        drop(self.stdin.take());
        let output = self.ada.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let sessions = self.folder.path().join("sessions");
        let session = std::fs::read_dir(sessions).unwrap().next().unwrap().unwrap().path();
        Ended { output, session, program: self.program, _folder: self.folder }
    }
}

/// A trace that is over.
pub(super) struct Ended {
    pub(super) output: Output,
    pub(super) session: PathBuf,
    program: PathBuf,
    _folder: TempDir,
}

impl Ended {
    pub(super) fn recorded(&self) -> Recorded {
        Recorded::open(&self.session, &self.program)
    }

    pub(super) fn manifests(&self) -> Vec<Manifest> {
        let session = Session::open(&self.session).unwrap();
        session.processes().iter().map(|process| process.manifest.clone().expect("it has one")).collect()
    }

    /// The times in which a function of the program was not recorded, by process.
    pub(super) fn switches(&self, name: &str) -> Vec<Vec<Switch>> {
        let names = functions_of(&self.session, &self.program);
        let is_its = |switch: &Switch| names.get(&switch.function_id).is_some_and(|known| known == name);
        let manifests = self.manifests();
        manifests.iter().map(|all| all.switches.iter().filter(|switch| is_its(switch)).cloned().collect()).collect()
    }
}

/// Ids and names of the functions of a module.
fn functions_of(session: &Path, module: &Path) -> std::collections::HashMap<FunctionId, String> {
    let session = Session::open(session).unwrap();
    let mut all = std::collections::HashMap::new();
    for process in session.processes() {
        let modules = &process.manifest.as_ref().unwrap().modules;
        for known in modules.iter().filter(|known| Path::new(&known.path) == module) {
            let list = process.path.join(ada_format::atf::functions_file(known.module_id));
            let rows = std::fs::read_to_string(list).unwrap();
            for (index, row) in ada_format::atf::read_functions(&rows).unwrap().into_iter().enumerate() {
                all.insert(FunctionId::new(known.module_id, index as u32), row.name);
            }
        }
    }
    all
}
