//! Runs a program to its end and says what it used.

use std::fs::{self, File};
use std::io;
use std::mem::MaybeUninit;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context;

/// No run takes this long; one that does would hold up all others.
const LONGEST: Duration = Duration::from_secs(300);

/// A program that has ended.
pub(super) struct Finished {
    /// The exit code; None if a signal ended it.
    pub(super) code: Option<i32>,
    /// Processor time of the program and of the children that it waited for.
    pub(super) cpu: Duration,
    pub(super) wall: Duration,
    /// The most memory that it had at once, in bytes.
    pub(super) peak: u64,
    /// What it printed, where that was kept.
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Finished {
    /// An error with the program's last words, unless it ended well.
    pub(super) fn succeeded(self, what: &str) -> anyhow::Result<Self> {
        let last = self.stderr.trim().lines().last().unwrap_or("it said nothing");
        anyhow::ensure!(self.code == Some(0), "{what} failed: {last}");
        Ok(self)
    }
}

/// Runs `command`, with its output in files in `scratch`: a pipe that nobody empties in time would change the figures.
/// What it prints is dropped unless it is to be kept.
pub(super) fn run(command: &mut Command, scratch: &Path, keep_stdout: bool) -> anyhow::Result<Finished> {
    run_at_most(LONGEST, command, scratch, keep_stdout)
}

fn run_at_most(
    longest: Duration,
    command: &mut Command,
    scratch: &Path,
    keep_stdout: bool,
) -> anyhow::Result<Finished> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (stdout, stderr) = (scratch.join("stdout"), scratch.join("stderr"));
    command.stdin(Stdio::null());
    command.stdout(if keep_stdout { File::create(&stdout)?.into() } else { Stdio::null() });
    command.stderr(File::create(&stderr)?);
    let started = Instant::now();
    let child = command.spawn().with_context(|| format!("cannot run {name}"))?;
    let watchdog = Watchdog::watch(child.id(), longest);
    let ended = watchdog.wait_for_end();
    let wall = started.elapsed();
    ended.with_context(|| format!("cannot wait for {name}"))?;
    let (code, cpu, peak) = wait(child.id()).with_context(|| format!("cannot wait for {name}"))?;
    anyhow::ensure!(!watchdog.has_bitten(), "{name} was ended after {} s", longest.as_secs_f64());
    let read = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let stdout = if keep_stdout { read(&stdout)? } else { String::new() };
    Ok(Finished { code, cpu, wall, peak, stdout, stderr: read(&stderr)? })
}

/// Ends a child that takes too long.
struct Watchdog {
    pid: u32,
    state: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Running,
    Ended,
    Killed,
}

impl Watchdog {
    fn watch(pid: u32, longest: Duration) -> Self {
        let state = Arc::new((Mutex::new(State::Running), Condvar::new()));
        let watched = state.clone();
        std::thread::spawn(move || {
            let (state, ended) = &*watched;
            let state = state.lock().expect("nobody panics with the lock");
            let waited = ended.wait_timeout_while(state, longest, |state| *state == State::Running);
            let (mut state, _) = waited.expect("nobody panics with the lock");
            if *state == State::Running {
                *state = State::Killed;
                // SAFETY: a signal to our own child, which is waited for only after this lock is free and the state
                // says that it has ended.
                unsafe { libc::kill(pid as i32, libc::SIGKILL) };
            }
        });
        Self { pid, state }
    }

    /// Returns once the child has ended; its status can still be asked for.
    fn wait_for_end(&self) -> io::Result<()> {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        let flags = libc::WEXITED | libc::WNOWAIT;
        // SAFETY: `info` lives through the call.
        while unsafe { libc::waitid(libc::P_PID, self.pid, info.as_mut_ptr(), flags) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        let mut state = self.state.0.lock().expect("nobody panics with the lock");
        if *state == State::Running {
            *state = State::Ended;
        }
        self.state.1.notify_all();
        Ok(())
    }

    fn has_bitten(&self) -> bool {
        *self.state.0.lock().expect("nobody panics with the lock") == State::Killed
    }
}

fn wait(pid: u32) -> io::Result<(Option<i32>, Duration, u64)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `status` and `usage` live through the call, and the child is ours and was not waited for.
    while unsafe { libc::wait4(pid as i32, &raw mut status, 0, usage.as_mut_ptr()) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: all zeros are a good value, and the kernel has written another.
    let usage = unsafe { usage.assume_init() };
    let time =
        |time: libc::timeval| Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64);
    let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    Ok((code, time(usage.ru_utime) + time(usage.ru_stime), 1024 * usage.ru_maxrss as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_code_and_time_are_reported() {
        let folder = std::env::temp_dir().join(format!("xtask-child-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let script = "echo out; echo err >&2; i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; exit 3";
        let finished = run(Command::new("sh").args(["-c", script]), &folder, true).unwrap();
        assert_eq!((finished.code, finished.stdout.as_str(), finished.stderr.as_str()), (Some(3), "out\n", "err\n"));
        assert!(finished.cpu > Duration::from_millis(5));
        assert!(finished.succeeded("sh").err().unwrap().to_string().contains("sh failed: err"));
        let killed = run(Command::new("sh").args(["-c", "kill -9 $$"]), &folder, false).unwrap();
        assert_eq!(killed.code, None);
        let endless = run_at_most(Duration::from_millis(50), Command::new("sleep").arg("1000"), &folder, false);
        assert_eq!(endless.err().unwrap().to_string(), "sleep was ended after 0.05 s");
        fs::remove_dir_all(&folder).unwrap();
    }
}
