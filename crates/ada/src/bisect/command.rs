//! Runs the command, alone and traced, and looks at what it does.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ada_event::ProcessId;
use ada_format::atf::Session;
use anyhow::{Context, anyhow};

use super::captured::Captured;
use super::observed::{Observed, RunEnd};
use crate::exit::Blame;
use crate::hook_list::HookList;

/// How long the output of a command that has ended may stay open: processes that it has started may write to it.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long ada may take to complete a session whose program was killed.
const LAST_RITES: Duration = Duration::from_secs(5);

/// A command that is run again and again.
pub(crate) struct RepeatedCommand {
    pub(crate) words: Vec<OsString>,
    /// The options of its traces.
    pub(crate) options: Vec<OsString>,
    /// Everything that is made on the way: its input, hook lists, sessions.
    pub(crate) folder: PathBuf,
    /// Set by whoever wants no more of it.
    pub(crate) stop: Arc<AtomicBool>,
}

/// A traced run.
pub(crate) struct Traced {
    pub(crate) observed: Observed,
    /// The session's folder.
    pub(crate) session: PathBuf,
}

impl RepeatedCommand {
    /// Keeps what each run gets to read.
    pub(crate) fn give_input(&self, input: &[u8]) -> anyhow::Result<()> {
        let written = File::create(self.input()).and_then(|mut file| file.write_all(input));
        written.output_failed(|| format!("cannot write {}", self.input().display()))
    }

    fn input(&self) -> PathBuf {
        self.folder.join("input")
    }

    /// Runs it by itself.
    pub(crate) fn alone(&self, limit: Duration) -> anyhow::Result<Observed> {
        let (program, arguments) = self.words.split_first().expect("clap asks for a word");
        let mut command = Command::new(program);
        command.args(arguments);
        let started = self.start(command).or_else(|error| match error.raw_os_error() {
            // What has no first line is the shell's, as `execvp` has it.
            Some(8) => {
                let mut shell = Command::new("/bin/sh");
                shell.args(&self.words);
                self.start(shell)
            }
            _ => Err(error),
        });
        let code = |error: &std::io::Error| if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
        let started = started.map_err(|error| (code(&error), error));
        let running = match started {
            Ok(running) => running,
            Err((code, error)) => {
                return Err(error).with_context(|| format!("cannot run {}", program.display())).not_traced(code);
            }
        };
        let (observed, status) = running.finish(limit)?;
        Ok(Observed { end: status.map_or(observed.end, alone_end), ..observed })
    }

    /// Runs it traced, with these hooks or all. An error where there is no trace of it.
    pub(crate) fn traced(&self, hooks: Option<&HookList>, limit: Duration) -> anyhow::Result<Traced> {
        let sessions = self.folder.join("sessions");
        let _ = std::fs::remove_dir_all(&sessions);
        let own = std::env::current_exe().context("cannot find ada's own executable")?;
        let mut command = Command::new(own);
        command.arg("trace").args(&self.options).args(["--quiet", "--output"]).arg(&sessions);
        if !self.options.iter().any(|word| word == "--until-exit") {
            command.arg("--until-exit");
        }
        if let Some(hooks) = hooks {
            let list = self.folder.join("hooks");
            std::fs::write(&list, hooks.to_text()).output_failed(|| format!("cannot write {}", list.display()))?;
            command.arg("--only-hooks").arg(&list);
        }
        command.arg("--").args(&self.words);
        let (mut observed, status) = self.start(command).context("cannot run ada itself")?.finish(limit)?;
        let session = session_in(&sessions).ok_or_else(|| not_traced(&observed, status));
        let session = match session {
            Ok(session) => session,
            Err((words, code)) => return Err(words).not_traced(code),
        };
        if let Some(status) = status {
            observed.end = first_end(&session).unwrap_or_else(|| alone_end(status));
        }
        Ok(Traced { observed, session })
    }

    fn start(&self, mut command: Command) -> std::io::Result<Running> {
        let begun = Instant::now();
        command.stdin(File::open(self.input())?).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().expect("it is piped");
        let stderr = child.stderr.take().expect("it is piped");
        let readers =
            [std::thread::spawn(move || Captured::read(stdout)), std::thread::spawn(move || Captured::read(stderr))];
        Ok(Running { begun, child, readers, stop: self.stop.clone() })
    }
}

/// A command that runs.
struct Running {
    begun: Instant,
    child: Child,
    readers: [JoinHandle<Captured>; 2],
    stop: Arc<AtomicBool>,
}

impl Running {
    /// Waits for its end and for that of its output. Whatever it leaves behind is ended then. Gives no status where it
    /// took longer than it may.
    fn finish(mut self, limit: Duration) -> anyhow::Result<(Observed, Option<ExitStatus>)> {
        let status = self.wait(limit)?;
        let took = self.begun.elapsed();
        if status.is_none() {
            // A trace whose program is gone is completed.
            ada_process::kill_below(ProcessId(self.child.id()));
            let is_stopped = self.stop.load(Ordering::Relaxed);
            let ended = if is_stopped { None } else { self.wait(took + LAST_RITES)? };
            if ended.is_none() {
                let _ = self.child.kill();
                self.child.wait().context("cannot wait for the command")?;
            }
        } else {
            let deadline = Instant::now() + LAST_WORDS;
            while !self.readers.iter().all(JoinHandle::is_finished) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let is_all_over = ada_process::end_all(LAST_RITES);
        if self.stop.load(Ordering::Relaxed) {
            return Err(anyhow!("interrupted")).not_traced(130);
        }
        if !is_all_over {
            return Err(anyhow!("a process of the command cannot be ended")).not_traced(125);
        }
        let [stdout, stderr] = self.readers.map(|reader| reader.join().expect("reading does not panic"));
        let end = status.map_or(RunEnd::TimedOut(limit), alone_end);
        Ok((Observed { end, stdout, stderr, took }, status))
    }

    fn wait(&mut self, limit: Duration) -> anyhow::Result<Option<ExitStatus>> {
        loop {
            let status = self.child.try_wait().context("cannot wait for the command")?;
            if status.is_some() || self.begun.elapsed() > limit || self.stop.load(Ordering::Relaxed) {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn alone_end(status: ExitStatus) -> RunEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => RunEnd::Exited(code),
        (None, signal) => RunEnd::Killed(signal.unwrap_or_default()),
    }
}

/// The newest session of a folder: only one was recorded there.
fn session_in(folder: &Path) -> Option<PathBuf> {
    std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).next()
}

/// How the first process ended. ada's own exit code does not tell 139 from signal 11.
fn first_end(session: &Path) -> Option<RunEnd> {
    let session = Session::open(session).ok()?;
    let ends = session.processes().iter().filter_map(|process| process.manifest.as_ref()?.exit.clone());
    let end = ends.into_iter().find(|exit| exit.known_by.as_deref() == Some("wait"))?;
    end.signal.map(RunEnd::Killed).or(end.code.map(RunEnd::Exited))
}

/// Why there is no trace, and the exit code that says so.
fn not_traced(observed: &Observed, status: Option<ExitStatus>) -> (anyhow::Error, u8) {
    let text = observed.stderr.text();
    let said = text.lines().rev().find_map(|line| line.strip_prefix("ada: "));
    let words = match said {
        Some(said) => said.to_owned(),
        None => format!("the command could not be traced: ada trace ended with {}", observed.end),
    };
    let code = status.and_then(|status| u8::try_from(status.code()?).ok()).filter(|&code| code != 0).unwrap_or(125);
    (anyhow!(words), code)
}
