//! Job control on a terminal: a shell with ada in its foreground, and one that is traced itself.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// An interactive shell on a terminal of its own.
struct Terminal {
    shell: Child,
    input: ChildStdin,
    output: Receiver<Vec<u8>>,
    /// What was printed since the last line was typed.
    printed: String,
}

impl Terminal {
    /// Starts a command there that ends in a shell. `script` makes the terminal.
    fn with(command: &str) -> Self {
        let mut script = Command::new("script");
        // Whoever runs the tests in the background may ignore some signals.
        let command = format!("exec env --default-signal 'PS1=$ ' {command}");
        script.args(["--quiet", "--flush", "--return", "--command", &command, "/dev/null"]);
        script.env("SHELL", "/bin/sh").env("TERM", "dumb").env("HISTFILE", "/dev/null");
        let mut shell = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("bsdutils has script");
        let (input, mut printed) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
        let (give, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = printed.read(&mut bytes) {
                if give.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let mut terminal = Self { shell, input, output, printed: String::new() };
        terminal.wait_for("$ ");
        terminal
    }

    /// Waits until something is printed.
    fn wait_for(&mut self, text: &str) {
        self.wait_until(text, |printed| printed.contains(text));
    }

    fn wait_until(&mut self, what: &str, is_there: impl Fn(&str) -> bool) {
        let end = Instant::now() + LONGEST;
        while !is_there(&self.printed) {
            let rest = end.saturating_duration_since(Instant::now());
            let bytes = self.output.recv_timeout(rest);
            let bytes = bytes.unwrap_or_else(|_| panic!("no {what:?} in {:?}", self.printed));
            self.printed.push_str(&String::from_utf8_lossy(&bytes));
        }
    }

    /// Types something, and waits for what is printed then.
    fn types(&mut self, keys: &str, text: &str) {
        self.printed.clear();
        self.input.write_all(keys.as_bytes()).unwrap();
        self.wait_for(text);
    }

    /// Types a command once the shell asks for one: what is typed before may get lost, when the shell sets up its terminal.
    fn runs(&mut self, command: &str, text: &str) {
        // A shell begins a line where the program was ended by the key, and not where ada says so by its exit code.
        let asks = |printed: &str| printed.starts_with("$ ") || printed.contains("\n$ ") || printed.contains("^C$ ");
        self.wait_until("$ ", asks);
        self.types(&format!("{command}\n"), text);
    }

    /// Ends the shell with an exit code.
    fn exit(mut self, code: i32) {
        self.runs(&format!("exit {code}"), "exit\r\n");
        let end = Instant::now() + LONGEST;
        while Instant::now() < end {
            if let Some(status) = self.shell.try_wait().unwrap() {
                assert_eq!(status.code(), Some(code));
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the shell does not end: {:?}", self.printed);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Where a test has failed: the terminal goes, and the shell with it.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

/// How long a shell has to answer.
const LONGEST: Duration = Duration::from_secs(60);

const CONTROL_C: &str = "\x03";
const CONTROL_D: &str = "\x04";
const CONTROL_Z: &str = "\x1a";

/// `ada trace` for a shell's command line, with a folder for its sessions.
fn trace(folder: &tempfile::TempDir) -> String {
    format!("{} trace --quiet --output {} -- ", env!("CARGO_BIN_EXE_ada"), folder.path().display())
}

/// Says when it has the terminal, and then answers each line. A key that is pressed before has another meaning.
const ANSWERS: &str = r#"sh -c "printf 'rea%s\n' dy; exec sed -u s/^/got:/""#;

const UNTIL_STOPPED: &str = "until jobs | grep -q Stopped; do sleep 0.1; done; echo it''s stopped";

#[test]
fn a_traced_shell_controls_its_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::with(&format!("{}bash --norc -i", trace(&folder)));
    terminal.runs(ANSWERS, "ready\r\n");
    terminal.types("one\n", "got:one\r\n");
    terminal.types(CONTROL_Z, "Stopped");
    terminal.runs("jobs", "Stopped");
    terminal.runs("fg", "got:/\"\r\n");
    terminal.types("two\n", "got:two\r\n");
    terminal.types(CONTROL_C, "$ ");
    terminal.runs("echo was=$?", "was=130\r\n");
    terminal.runs(&format!("sleep 1000 & kill -STOP %1; {UNTIL_STOPPED}"), "its stopped\r\n");
    terminal.runs("bg; jobs", "Running");
    terminal.runs("kill %1; wait; echo ended=$?", "ended=0\r\n");
    terminal.exit(7);
}

#[test]
fn ada_is_a_job_like_the_program_that_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let ada = trace(&folder);
    let mut terminal = Terminal::with("bash --norc -i");
    terminal.runs(&format!("{ada}{ANSWERS}"), "ready\r\n");
    terminal.types("one\n", "got:one\r\n");
    terminal.types(CONTROL_Z, "Stopped");
    terminal.runs("fg", "got:/\"\r\n");
    terminal.types("two\n", "got:two\r\n");
    terminal.types(CONTROL_D, "$ ");
    terminal.runs("echo was=$?", "was=0\r\n");
    // In the background it is stopped when it reads.
    terminal.runs(&format!("{ada}{ANSWERS} &"), "ready\r\n");
    terminal.runs(UNTIL_STOPPED, "its stopped\r\n");
    terminal.runs("fg", "got:/\"\r\n");
    terminal.types("three\n", "got:three\r\n");
    terminal.types(CONTROL_C, "$ ");
    terminal.runs("echo was=$?", "was=130\r\n");
    terminal.exit(3);
}

/// As without ada: the shell hears of nothing, and the program goes on reading.
#[test]
fn a_program_that_the_terminal_cannot_stop_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::with("bash --norc -i");
    let answers = ANSWERS.replace("printf", "trap '' TSTP; printf");
    terminal.runs(&format!("{}{answers}", trace(&folder)), "ready\r\n");
    terminal.types(CONTROL_Z, "^Z");
    terminal.types("one\n", "got:one\r\n");
    terminal.types(CONTROL_D, "$ ");
    terminal.runs("echo was=$?", "was=0\r\n");
    terminal.exit(3);
}

#[test]
fn a_program_that_stops_itself_stops_ada_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let ada = trace(&folder);
    let mut terminal = Terminal::with("bash --norc -i");
    terminal.runs(&format!("{ada}sh -c 'kill -STOP $$; echo goes on; exit 5'"), "Stopped");
    terminal.runs("fg", "goes on\r\n");
    terminal.runs("echo was=$?", "was=5\r\n");
    // Somebody else may continue it.
    let continued = "(sleep 1; kill -CONT $$) & kill -STOP $$; echo goes on; exit 6";
    terminal.runs(&format!("{ada}sh -c '{continued}'"), "Stopped");
    terminal.wait_for("goes on\r\n");
    // ada goes on a moment later, and the shell says so before it asks for the next line.
    terminal.runs("sleep 1", "Exit 6");
    terminal.exit(4);
}
