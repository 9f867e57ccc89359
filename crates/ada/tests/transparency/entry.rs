//! One program of the table.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

use ada_format::atf::Session;

use super::folder::Folder;
use crate::run;

/// A program, its arguments and input, and how many events it makes at least.
pub(super) struct Entry {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) input: &'static str,
    pub(super) floor: u64,
}

impl Entry {
    pub(super) fn new(floor: u64, program: &str, arguments: &[&str]) -> Self {
        let program = if program.starts_with('/') { program.to_owned() } else { format!("/usr/bin/{program}") };
        let arguments = arguments.iter().map(|&word| word.to_owned()).collect();
        Self { program, arguments, input: "", floor }
    }

    pub(super) fn input(mut self, input: &'static str) -> Self {
        self.input = input;
        self
    }

    /// Runs it both ways, and prints a line.
    pub(super) fn check(&self, folder: &Folder) -> Result<(), String> {
        if !Path::new(&self.program).exists() {
            return Err(format!("{} is not installed: scripts/setup installs it", self.program));
        }
        let alone = self.run(Command::new(&self.program), folder);
        let sessions = tempfile::tempdir().unwrap();
        let mut command = run::command();
        // What is on stderr is then the program's alone.
        command.args(["trace", "--quiet", "--output"]).arg(sessions.path()).args(["--", &self.program]);
        let traced = self.run(command, folder);
        let events = events_in(sessions.path());
        self.print(events);
        let complain = |what: String| Err(format!("{} {:?}: {what}", self.program, self.arguments));
        if end(&alone) != end(&traced) {
            let words = String::from_utf8_lossy(&traced.stderr);
            let (alone, traced) = (end(&alone), end(&traced));
            return complain(format!("exit code and signal {alone:?} alone, {traced:?} traced\n{words}"));
        }
        for (stream, alone, traced) in
            [("stdout", &alone.stdout, &traced.stdout), ("stderr", &alone.stderr, &traced.stderr)]
        {
            if alone != traced {
                let [alone, traced] = [alone, traced].map(|bytes| String::from_utf8_lossy(bytes));
                return complain(format!("{stream} differs\n-- alone\n{alone:.2000}\n-- traced\n{traced:.2000}"));
            }
        }
        match events {
            Some(events) if events >= self.floor => Ok(()),
            _ => complain(format!("{events:?} events, {} or more expected", self.floor)),
        }
    }

    fn run(&self, mut command: Command, folder: &Folder) -> Output {
        command.args(&self.arguments).current_dir(folder.path()).envs(folder.environment());
        run::bounded(command, self.input.as_bytes())
    }

    /// Past the test harness, which hides what succeeds.
    fn print(&self, events: Option<u64>) {
        let events = events.map_or("-".to_owned(), |number| number.to_string());
        let name = Path::new(&self.program).file_name().unwrap_or_default().to_string_lossy();
        let words: String = self.arguments.join(" ").chars().map(|c| if c < ' ' { ' ' } else { c }).take(60).collect();
        let line = format!("{events:>9} events  {name} {words}\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}

fn end(output: &Output) -> (Option<i32>, Option<i32>) {
    (output.status.code(), output.status.signal())
}

/// How many events the one session in a folder has.
fn events_in(sessions: &Path) -> Option<u64> {
    let session = Session::open(std::fs::read_dir(sessions).ok()?.next()?.ok()?.path()).ok()?;
    let threads = session.processes().iter().flat_map(|process| &process.threads);
    Some(threads.map(|thread| thread.index().len()).sum())
}
