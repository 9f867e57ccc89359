//! A running `ada heph listen`, and what it says at its end.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::run::command;

pub(crate) struct Listener {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// Where it listens.
    pub(crate) address: String,
    folder: TempDir,
}

/// What a listener has written.
pub(crate) struct Heard {
    pub(crate) said: String,
    pub(crate) code: Option<i32>,
    pub(crate) trace: Vec<u8>,
}

impl Listener {
    /// Starts a listener on any port of this machine: `transport` is `--udp` or `--tcp`.
    pub(crate) fn start(transport: &str, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut child = command()
            .args(["heph", "listen", transport, "0", "--output"])
            .arg(output(&folder))
            .args(options)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, stderr, address, folder }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn file(&self) -> PathBuf {
        output(&self.folder)
    }

    /// Asks the listener to stop, as Ctrl-C does, and waits for it.
    pub(crate) fn stop(self) -> Heard {
        let pid = self.child.id().to_string();
        let killed = Command::new("sh").args(["-c", "kill -TERM $0", &pid]).status().unwrap();
        assert!(killed.success());
        self.wait(Duration::from_secs(120))
    }

    /// Waits for the listener to stop by itself.
    pub(crate) fn wait(mut self, limit: Duration) -> Heard {
        let started = Instant::now();
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            if started.elapsed() > limit {
                self.child.kill().unwrap();
                panic!("the listener does not stop");
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        Heard { said, code, trace: std::fs::read(self.file()).unwrap() }
    }
}

/// A test that fails must not leave its listener running.
impl Drop for Listener {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Heard {
    /// The number that stands before `word` in the first line that has it.
    pub(crate) fn number_before(&self, word: &str) -> u64 {
        let before = self.said.split_once(word).unwrap_or_else(|| panic!("no {word:?} in {}", self.said)).0;
        before.split_whitespace().last().unwrap().trim_end_matches(',').parse().unwrap()
    }

    /// The number that stands behind `word`.
    pub(crate) fn number_after(&self, word: &str) -> u64 {
        let after = self.said.split_once(word).unwrap_or_else(|| panic!("no {word:?} in {}", self.said)).1;
        after.split_whitespace().next().unwrap().trim_end_matches(',').parse().unwrap()
    }
}

fn output(folder: &TempDir) -> PathBuf {
    Path::join(folder.path(), "heard.heph")
}
