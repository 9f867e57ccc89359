//! A process that was started without ada.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::run::{self, bounded, text};
use crate::trace::program::Program;
use crate::trace::recorded::Recorded;

/// The user and the group without rights.
pub(super) const NOBODY: u32 = 65534;

const PATIENCE: Duration = Duration::from_secs(300);

/// Copies a program, by another process: what a fork of this one has open for writing cannot be run.
pub(super) fn copy_program(from: &Path, to: &Path) {
    assert!(Command::new("cp").args([from, to]).status().unwrap().success());
}

pub(super) struct Target {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    program: PathBuf,
    folder: TempDir,
}

/// `ada attach` under way.
pub(super) struct Attached {
    ada: run::Started,
    sessions: TempDir,
    program: PathBuf,
}

impl Target {
    pub(super) fn new(program: &'static str) -> Self {
        Self::start(Program::new(program).build(), &[])
    }

    pub(super) fn command(program: &str, arguments: &[&str]) -> Self {
        Self::start(format!("/usr/bin/{program}").into(), arguments)
    }

    /// Eight threads that call, wait, and handle signals.
    pub(super) fn busy() -> Self {
        Self::ready("busy_server.c")
    }

    /// A program that says when it is ready.
    pub(super) fn ready(program: &'static str) -> Self {
        Self::new(program).when_ready()
    }

    fn when_ready(mut self) -> Self {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        self
    }

    /// A program with arguments.
    pub(super) fn with_arguments(program: &'static str, arguments: &[&str]) -> Self {
        Self::start(Program::new(program).build(), arguments)
    }

    /// A program of another user, who has no rights here.
    pub(super) fn of_nobody(program: &'static str) -> Self {
        // Where it is built nobody else may look.
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let built = Program::new(program).build();
        let program = folder.path().join(built.file_name().unwrap());
        copy_program(&built, &program);
        let mut command = Command::new(&program);
        command.uid(NOBODY).gid(NOBODY);
        Self::start_command(command, program, folder).when_ready()
    }

    fn start(program: PathBuf, arguments: &[&str]) -> Self {
        let mut command = Command::new(&program);
        command.args(arguments);
        Self::start_command(command, program, tempfile::tempdir().unwrap())
    }

    fn start_command(mut command: Command, program: PathBuf, folder: TempDir) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let stdin = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let target = Self { process, stdin, stdout, program, folder };
        // Until it runs, it is a copy of this test.
        target.wait_until("it runs", || {
            fs::read_link(format!("/proc/{}/exe", target.id()))
                .is_ok_and(|exe| exe == fs::canonicalize(&target.program).unwrap())
                && target.waits_in() != "0"
        });
        target
    }

    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Writes a line to its input, and gives the line that it says then.
    pub(super) fn asked(&mut self, line: &str) -> String {
        self.send(line);
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).unwrap();
        answer
    }

    /// Writes a line to its input.
    pub(super) fn send(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Writes a line, and waits until the program, which repeats it, reads again.
    pub(super) fn have_done(&mut self, line: &str) {
        self.send(line);
        let mut repeated = String::new();
        self.stdout.read_line(&mut repeated).unwrap();
        assert_eq!(repeated, format!("{line}\n"));
        self.wait_until("it reads", || self.waits_in().contains("pipe_read"));
    }

    /// Waits until it has a child that waits for input.
    pub(super) fn wait_for_child(&self) -> u32 {
        let is_reading = |child: u32| {
            fs::read_to_string(format!("/proc/{child}/wchan")).is_ok_and(|place| place.contains("pipe_read"))
        };
        self.wait_until("it has a child", || self.child().is_some_and(is_reading));
        self.child().unwrap()
    }

    /// Waits until it has a child that runs a program, and that ada has taken charge of.
    pub(super) fn wait_for_program(&self, program: &str) -> u32 {
        let program = fs::canonicalize(program).unwrap();
        let is_taken = |child: u32| {
            let status = fs::read_to_string(format!("/proc/{child}/status")).unwrap_or_default();
            let is_traced = status.lines().any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"));
            fs::read_link(format!("/proc/{child}/exe")).is_ok_and(|exe| exe == program)
                && (is_traced || self.has_memory_of_ada(child))
        };
        self.wait_until("its child is hooked", || self.child().is_some_and(is_taken));
        self.child().unwrap()
    }

    /// The processes that it has started.
    pub(super) fn children(&self) -> Vec<u32> {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.id())).unwrap_or_default();
        children.split_whitespace().filter_map(|child| child.parse().ok()).collect()
    }

    fn child(&self) -> Option<u32> {
        self.children().first().copied()
    }

    /// Whether a process has something of ada's.
    pub(super) fn has_memory_of_ada(&self, pid: u32) -> bool {
        fs::read_to_string(format!("/proc/{pid}/maps")).unwrap().contains("/memfd:")
    }

    /// Whether all switches say so but those of handlers, of which a program of the tests has two at most. An arena is known
    /// by its first word, an address of the agent's, and says how many switches it has; that of the loader has one, which
    /// nobody reads.
    pub(super) fn lets_calls_pass(&self) -> bool {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.id())).unwrap();
        let memory = File::open(format!("/proc/{}/mem", self.id())).unwrap();
        let read = |address: u64, bytes: &mut [u8]| memory.read_exact_at(bytes, address).unwrap();
        let word = |address: u64| {
            let mut bytes = [0; 8];
            read(address, &mut bytes);
            u64::from_le_bytes(bytes)
        };
        let ours = maps.lines().filter(|line| line.contains(" r-xp ") && line.contains("/memfd:"));
        let extents: Vec<(u64, u64)> = ours
            .map(|line| {
                let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
                (u64::from_str_radix(start, 16).unwrap(), u64::from_str_radix(end, 16).unwrap())
            })
            .collect();
        let is_ours = |address: u64| extents.iter().any(|(start, end)| (*start..*end).contains(&address));
        let switches = extents.iter().filter(|(start, _)| is_ours(word(*start))).filter_map(|(start, _)| {
            let count = word(start + 120) as usize;
            let mut bytes = vec![0; 4 * count];
            read(start + 128, &mut bytes);
            (count > 1).then_some(bytes)
        });
        let recorded = |bytes: Vec<u8>| bytes.as_chunks::<4>().0.iter().filter(|switch| **switch == [0; 4]).count();
        switches.map(recorded).sum::<usize>() <= 2
    }

    /// Where in the kernel it waits.
    fn waits_in(&self) -> String {
        fs::read_to_string(format!("/proc/{}/wchan", self.id())).unwrap_or_default()
    }

    pub(super) fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_so() {
            assert!(Instant::now() < until, "{what}: not after {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// An ada that keeps its sockets in the target's folder.
    pub(super) fn ada(&self, words: &[&str]) -> Command {
        let mut command = run::command();
        command.args(words).env("XDG_RUNTIME_DIR", self.folder.path());
        command
    }

    /// Attaches for as long as the options say.
    pub(super) fn attach(&self, options: &[&str]) -> Recorded {
        let sessions = tempfile::tempdir().unwrap();
        let mut command = self.ada(&["attach", &self.id().to_string(), "--max-overhead", "none", "--output"]);
        command.arg(sessions.path()).args(options);
        let output = bounded(command, b"");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        session_in(sessions.path(), &self.program)
    }

    /// Attaches, and gives control once the target is hooked.
    pub(super) fn attach_until_detached(&self, options: &[&str]) -> Attached {
        let sessions = tempfile::tempdir().unwrap();
        let mut command = self.ada(&["attach", &self.id().to_string(), "--max-overhead", "none", "--output"]);
        command.arg(sessions.path()).args(options);
        let ada = run::Started::new(command, b"");
        self.wait_until("attached", || self.status().is_some());
        Attached { ada, sessions, program: self.program.clone() }
    }

    fn status(&self) -> Option<Value> {
        let output = self.ada(&["ps", "--format", "json"]).output().unwrap();
        let lines = text(&output.stdout);
        let all = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.filter(|status| status["killed"].is_null()).find(|status| status["pid"] == self.id())
    }

    /// Everything of the process that attaching could change: where its memory is and what its code says.
    pub(super) fn picture(&self) -> BTreeMap<String, Vec<u8>> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.id())).unwrap();
        let memory = File::open(format!("/proc/{}/mem", self.id())).unwrap();
        let mut picture = BTreeMap::new();
        for line in maps.lines() {
            let (range, rest) = line.split_once(' ').unwrap();
            let (start, end) = range.split_once('-').unwrap();
            let [start, end] = [start, end].map(|address| u64::from_str_radix(address, 16).unwrap());
            let is_code = rest.starts_with("r-xp") && rest.contains('/');
            // Heaps, which have no names, grow while it works. None is as large as a region of thread states.
            if is_code || rest.contains("memfd") || end - start > 256 << 20 {
                let mut bytes = vec![0; if is_code { (end - start) as usize } else { 0 }];
                memory.read_exact_at(&mut bytes, start).unwrap();
                picture.insert(line.to_owned(), bytes);
            }
        }
        picture
    }

    /// Ends the busy program, which says whether all went well.
    pub(super) fn end_busy(self) {
        self.end("0 wrong, busy, interrupted\n");
    }

    /// Ends a program by a signal, upon which it says this and exits.
    pub(super) fn end(self, last_words: &str) {
        let status = Command::new("kill").arg(self.id().to_string()).status().unwrap();
        assert!(status.success());
        let output = self.finish();
        assert_eq!((text(&output.stdout), output.status.code()), (last_words, Some(0)));
    }

    pub(super) fn finish(mut self) -> Output {
        drop(self.stdin.take());
        let mut status = None;
        let until = Instant::now() + PATIENCE;
        while status.is_none() {
            assert!(Instant::now() < until, "still running after {PATIENCE:?}");
            status = self.process.try_wait().unwrap();
            std::thread::sleep(Duration::from_millis(2));
        }
        let mut stdout = Vec::new();
        self.stdout.read_to_end(&mut stdout).unwrap();
        Output { status: status.expect("it has ended"), stdout, stderr: Vec::new() }
    }
}

/// A test that fails leaves nothing running.
impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Attached {
    /// Ends it as another user of the machine would.
    pub(super) fn detach(self, target: &Target) -> Recorded {
        self.detach_with_report(target).0
    }

    /// The same, whatever was recorded.
    pub(super) fn leave(self, target: &Target) -> (TempDir, PathBuf) {
        let output = bounded(target.ada(&["detach", &target.id().to_string()]), b"");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), format!("process {} goes on without hooks\n", target.id()));
        let output = self.ada.finish();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        (self.sessions, self.program)
    }

    /// The same, with what `ada report` says.
    pub(super) fn detach_with_report(self, target: &Target) -> (Recorded, String) {
        let (sessions, program) = self.leave(target);
        let recorded = session_in(sessions.path(), &program);
        let report = run::ada(["report".as_ref(), "--wide".as_ref(), recorded.path().as_os_str()]);
        (recorded, text(&report.stdout).to_owned())
    }

    /// Ends ada, without a word to it.
    pub(super) fn kill(mut self) {
        self.ada.kill();
        self.ada.finish();
    }

    /// Has ada stand still.
    pub(super) fn halt(&self) {
        self.send("-STOP");
    }

    /// Has it go on.
    pub(super) fn go_on(&self) {
        self.send("-CONT");
    }

    fn send(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.ada.id().to_string()]).status().unwrap().success());
    }

    /// Waits for ada's own end.
    pub(super) fn finish(self) -> Recorded {
        let program = self.program.clone();
        session_in(self.finish_with_folder().path(), &program)
    }

    /// The same, and gives the folder that the session is in.
    pub(super) fn finish_with_folder(self) -> TempDir {
        let output = self.ada.finish();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        self.sessions
    }
}

fn session_in(sessions: &Path, program: &Path) -> Recorded {
    let session = fs::read_dir(sessions).unwrap().next().unwrap().unwrap().path();
    Recorded::open(&session, program)
}
