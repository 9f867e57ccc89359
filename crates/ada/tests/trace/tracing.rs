//! Runs a tiny program alone and traced.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use super::program::Program;
use super::recorded::Recorded;
use crate::run;

/// A program, its arguments, and ada's options.
pub(crate) struct Tracing {
    path: PathBuf,
    arguments: Vec<String>,
    options: Vec<String>,
    environment: Vec<(String, String)>,
    input: Vec<u8>,
    folder: TempDir,
}

/// What came of it.
pub(crate) struct Traced {
    pub(crate) output: Output,
    pub(crate) recorded: Recorded,
    /// The session goes away with this.
    _folder: TempDir,
}

impl Tracing {
    pub(crate) fn new(program: &Program) -> Self {
        Self::of(&program.build())
    }

    pub(crate) fn of(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            arguments: Vec::new(),
            options: Vec::new(),
            environment: Vec::new(),
            input: Vec::new(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Adds an argument of the program.
    pub(crate) fn argument(mut self, argument: impl AsRef<Path>) -> Self {
        self.arguments.push(argument.as_ref().to_str().expect("arguments are UTF-8").to_owned());
        self
    }

    /// Adds an option of ada.
    pub(crate) fn option(mut self, words: &[&str]) -> Self {
        self.options.extend(words.iter().map(|&word| word.to_owned()));
        self
    }

    pub(crate) fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    pub(crate) fn input(mut self, bytes: &[u8]) -> Self {
        self.input = bytes.to_vec();
        self
    }

    /// Where the session goes.
    pub(crate) fn sessions(&self) -> &Path {
        self.folder.path()
    }

    /// The program by itself.
    pub(crate) fn alone(&self) -> Output {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).envs(self.environment.iter().cloned());
        run::bounded(command, &self.input)
    }

    /// The command line that traces the program. It is quiet: stderr is the program's.
    pub(crate) fn command(&self) -> Command {
        let mut command = run::command();
        command.args(["trace", "--quiet", "--output"]).arg(self.sessions()).args(&self.options);
        command.arg("--").arg(&self.path).args(&self.arguments).envs(self.environment.iter().cloned());
        command
    }

    /// Runs the program traced, and reads the session.
    pub(crate) fn traced(self) -> Traced {
        let output = run::bounded(self.command(), &self.input);
        let recorded = Recorded::open(&self.session(), &self.path);
        Traced { output, recorded, _folder: self.folder }
    }

    /// The one session's folder.
    pub(crate) fn session(&self) -> PathBuf {
        let mut sessions: Vec<PathBuf> =
            fs::read_dir(self.sessions()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(sessions.len(), 1, "{sessions:?}");
        sessions.remove(0)
    }

    /// Runs the program both ways: same output, same exit code, and a session that is sound and well nested.
    pub(crate) fn check(self) -> Traced {
        self.check_output().assert_nested()
    }

    /// As [`Self::check`], for programs that change stacks: their calls do not nest.
    pub(crate) fn check_output(self) -> Traced {
        let alone = self.alone();
        let traced = self.traced();
        let errors = String::from_utf8_lossy(&traced.output.stderr).into_owned();
        let printed = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(printed(&alone), printed(&traced.output), "stdout, alone and traced; stderr: {errors}");
        use std::os::unix::process::ExitStatusExt;
        let end = |output: &Output| (output.status.code(), output.status.signal());
        assert_eq!(end(&alone), end(&traced.output), "exit codes, alone and traced; stderr: {errors}");
        assert_sound(traced.recorded.path());
        traced
    }
}

impl Traced {
    fn assert_nested(self) -> Self {
        self.recorded.assert_nested();
        self
    }

    /// A number that the program has written to stderr as `name=number`.
    pub(crate) fn printed(&self, name: &str) -> u64 {
        let text = String::from_utf8_lossy(&self.output.stderr);
        let value = text.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name}= in {text:?}"))
    }
}

/// `ada atf verify` finds nothing, a time that goes backwards within a thread included.
pub(crate) fn assert_sound(session: &Path) {
    let verify = run::ada(["atf".as_ref(), "verify".as_ref(), session.as_os_str()]);
    assert_eq!(verify.status.code(), Some(0), "{}", run::text(&verify.stdout));
}
