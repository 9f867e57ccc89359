//! A traced program on a terminal, as a job of a shell: it is stopped and goes on as without ada.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::program::Program;
use super::recorded::Recorded;

const PATIENCE: Duration = Duration::from_secs(300);

/// A shell on a terminal of its own.
struct Shell {
    process: Child,
    stdin: ChildStdin,
    printed: Arc<Mutex<Vec<u8>>>,
    /// How much of that was waited for already.
    seen: usize,
}

impl Shell {
    fn start() -> Self {
        let mut command = Command::new("script");
        command.args(["-qec", "bash --norc --noprofile -i", "/dev/null"]).env("PS1", "$ ").env("TERM", "dumb");
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script is there");
        let (stdin, mut stdout) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let printed = Arc::new(Mutex::new(Vec::new()));
        let all = printed.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut bytes) {
                all.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Self { process, stdin, printed, seen: 0 }
    }

    fn type_in(&mut self, keys: &str) {
        self.stdin.write_all(keys.as_bytes()).unwrap();
        self.stdin.flush().unwrap();
    }

    /// Waits until this is printed, after what was waited for before.
    fn wait_for(&mut self, words: &str) {
        let is_printed = self.is_printed_within(words, PATIENCE);
        assert!(is_printed, "no {words:?} in {}", String::from_utf8_lossy(&self.printed.lock().unwrap()));
    }

    fn is_printed_within(&mut self, words: &str, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            let printed = self.printed.lock().unwrap().clone();
            let at = printed[self.seen..].windows(words.len()).position(|part| part == words.as_bytes());
            if let Some(at) = at {
                self.seen += at + words.len();
                return true;
            }
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.stdin.write_all(b"exit\nexit\n");
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_job_of_a_shell_is_stopped_and_goes_on() {
    let program = Program::new("asks_twice.c").flags(&["-O1"]).build();
    let sessions = tempfile::tempdir().unwrap();
    let mut shell = Shell::start();
    shell.wait_for("$ ");
    let (ada, folder) = (env!("CARGO_BIN_EXE_ada"), sessions.path().display());
    shell.type_in(&format!("{ada} trace --output {folder} -- {}\n", program.display()));
    shell.wait_for("first?");
    shell.type_in("one\n");
    shell.wait_for("second?");
    // Ctrl-Z stops the whole job; the shell has the terminal again.
    shell.type_in("\x1a");
    shell.wait_for("Stopped");
    shell.type_in("echo be$((1))tween\n");
    shell.wait_for("be1tween");
    shell.type_in("fg; echo code=$?,\n");
    // What is typed while the terminal changes hands may get lost, as without ada.
    while !shell.is_printed_within("got two", Duration::from_secs(2)) {
        shell.type_in("two\n");
    }
    shell.wait_for("exit code 7");
    shell.wait_for("code=7,");
    drop(shell);
    let session = sessions.path().read_dir().unwrap().next().unwrap().unwrap().path();
    Recorded::open(&session, &program).assert_balanced("repeat", 2);
}
