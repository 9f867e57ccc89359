//! Commands that end in time, or fail the test.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// No command here takes a twentieth of this, unless it hangs or the machine has hardly any time for it.
const PATIENCE: Duration = Duration::from_secs(300);

/// A command that is running, in a process group of its own.
pub(crate) struct Started {
    child: Child,
    what: String,
    stdout: Collected,
    stderr: Collected,
}

/// What a pipe has brought so far.
struct Collected {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Started {
    /// Starts a command and gives it `input` to read.
    pub(crate) fn new(mut command: Command, input: &[u8]) -> Self {
        let what = format!("{command:?}");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {what}: {error}"));
        let mut stdin = child.stdin.take().expect("it is piped");
        let input = input.to_vec();
        // Whoever does not read its input closes the pipe, which is no error of the test.
        std::thread::spawn(move || drop(stdin.write_all(&input)));
        let stdout = collect(child.stdout.take().expect("it is piped"));
        let stderr = collect(child.stderr.take().expect("it is piped"));
        Self { child, what, stdout, stderr }
    }

    /// The id of the process that was started.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether its output so far begins like this.
    pub(crate) fn has_printed(&self, words: &[u8]) -> bool {
        self.stdout.bytes.lock().expect("reading does not panic").starts_with(words)
    }

    /// Waits until it has printed a whole line, and gives it.
    pub(crate) fn first_line(&self) -> String {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let printed = self.stdout.bytes.lock().expect("reading does not panic").clone();
            if let Some(end) = printed.iter().position(|&byte| byte == b'\n') {
                return String::from_utf8_lossy(&printed[..end]).into_owned();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("nothing printed after {PATIENCE:?}: {}", self.what);
    }

    /// Kills the process that was started, and no other.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it was started by this test");
    }

    /// Waits for the process and for the end of its output, which its children may hold open.
    pub(crate) fn finish(mut self) -> Output {
        let deadline = Instant::now() + PATIENCE;
        let mut status: Option<ExitStatus> = None;
        loop {
            if status.is_none() {
                status = self.child.try_wait().expect("it can be waited for");
            }
            if let Some(status) = status
                && self.stdout.reader.is_finished()
                && self.stderr.reader.is_finished()
            {
                return Output { status, stdout: self.stdout.take(), stderr: self.stderr.take() };
            }
            if Instant::now() > deadline {
                // The group is the command and what it started.
                let group = format!("kill -9 -{}", self.child.id());
                let _ = Command::new("sh").args(["-c", &group]).status();
                let _ = self.child.kill();
                let _ = self.child.wait();
                panic!("still running after {PATIENCE:?}: {}", self.what);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Runs a command to its end.
pub(crate) fn bounded(command: Command, input: &[u8]) -> Output {
    Started::new(command, input).finish()
}

fn collect(mut from: impl Read + Send + 'static) -> Collected {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&bytes);
    let reader = std::thread::spawn(move || {
        let mut piece = [0; 1 << 16];
        loop {
            let count = from.read(&mut piece).expect("a pipe can be read");
            if count == 0 {
                return;
            }
            into.lock().expect("nobody panics with the lock").extend_from_slice(&piece[..count]);
        }
    });
    Collected { bytes, reader }
}

impl Collected {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.bytes.lock().expect("nobody panics with the lock"))
    }
}
