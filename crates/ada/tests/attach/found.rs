//! Attaching to servers by what people know of them: a name, a port, a process and all below it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use ada_format::atf::Session;
use tempfile::TempDir;

use crate::run::{self, Started, bounded, text};
use crate::trace::program::Program;
use crate::trace::recorded::Recorded;

const PATIENCE: Duration = Duration::from_secs(300);

/// A listening process and its two workers, whose program has a name that no other has.
struct Server {
    process: Child,
    name: String,
    port: String,
    folder: TempDir,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("ada-workers-").tempdir().unwrap();
        let name = folder.path().file_name().unwrap().to_str().unwrap().to_owned();
        fs::copy(Program::new("workers.c").build(), folder.path().join(&name)).unwrap();
        let (process, port) = spawn(&folder.path().join(&name));
        Self { process, name, port, folder }
    }

    fn attach(&self, words: &[&str]) -> (Output, TempDir) {
        let sessions = tempfile::tempdir().unwrap();
        let output = bounded(self.command(words, sessions.path()), b"");
        (output, sessions)
    }

    fn command(&self, words: &[&str], sessions: &Path) -> Command {
        let mut command = run::command_that_signals_end();
        command.arg("attach").args(words).arg("--output").arg(sessions).env("XDG_RUNTIME_DIR", self.folder.path());
        command
    }

    /// The calls of `serve` by process, in the one session that there is.
    fn served(&self, sessions: &Path) -> BTreeMap<u32, u64> {
        let found: Vec<_> = sessions.read_dir().unwrap().map(|it| it.unwrap().path()).collect();
        let [session] = found.as_slice() else { panic!("{found:?}") };
        let opened = Session::open(session).unwrap();
        assert!(opened.findings().is_empty(), "{:?}", opened.findings());
        let pids = opened.processes().iter().map(|process| process.pid.unwrap().0);
        pids.map(|pid| {
            let of_process = Recorded::open(&session.join(format!("pid_{pid}")), &self.folder.path().join(&self.name));
            (pid, of_process.counts("serve").calls)
        })
        .collect()
    }

    fn workers(&self) -> Vec<u32> {
        let id = self.process.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        children.split_whitespace().map(|child| child.parse().unwrap()).collect()
    }

    fn assert_all_served(&self, sessions: &Path) {
        let served = self.served(sessions);
        assert_eq!(served.len(), 3, "{served:?}");
        assert_eq!(served[&self.process.id()], 0);
        assert!(self.workers().iter().all(|worker| served[worker] > 0), "{served:?}");
    }
}

fn spawn(program: &Path) -> (Child, String) {
    let mut process = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (process, line.trim().to_owned())
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

#[test]
fn a_server_and_its_workers_are_found_by_name_port_and_process() {
    let server = Server::start();
    let (pid, pattern) = (server.process.id().to_string(), format!("{}*", &server.name[..server.name.len() - 1]));
    let ways: [&[&str]; 4] = [&[&server.name], &[&pattern], &["--port", &server.port], &[&pid, "--tree"]];
    for way in ways {
        let (output, sessions) = server.attach(&[way, &["--duration", "500ms"]].concat());
        assert_eq!(output.status.code(), Some(0), "{way:?}: {}", text(&output.stderr));
        server.assert_all_served(sessions.path());
    }
}

#[test]
fn one_process_alone_is_recorded_and_those_below_it_are_mentioned() {
    let server = Server::start();
    let pid = server.process.id().to_string();
    let (output, sessions) = server.attach(&[&pid, "--duration", "100ms"]);
    let words = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words}");
    assert!(words.contains("has 2 processes below it, which are not recorded; --tree records them too"), "{words}");
    assert_eq!(server.served(sessions.path()).into_keys().collect::<Vec<_>>(), [server.process.id()]);
}

#[test]
fn where_a_name_fits_several_the_user_is_asked_which() {
    let server = Server::start();
    let (mut second, _) = spawn(&server.folder.path().join(&server.name));
    let (refused, sessions) = server.attach(&[&server.name, "--duration", "100ms"]);
    let words = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(125), "{words}");
    assert!(words.contains("2 processes fit; give the id of one, or --all"), "{words}");
    for pid in [server.process.id(), second.id()] {
        assert!(words.contains(&format!("{pid}  ")), "{words}");
    }
    assert_eq!(sessions.path().read_dir().unwrap().count(), 0);
    let (all, sessions) = server.attach(&[&server.name, "--all", "--duration", "500ms"]);
    assert_eq!(all.status.code(), Some(0), "{}", text(&all.stderr));
    let served = server.served(sessions.path());
    assert_eq!((served.len(), served.values().filter(|calls| **calls > 0).count()), (6, 4), "{served:?}");
    drop(second.stdin.take());
    second.wait().unwrap();
}

#[test]
fn processes_that_are_started_later_are_recorded_too() {
    let server = Server::start();
    let sessions = tempfile::tempdir().unwrap();
    let ada = Started::new(server.command(&[&server.name, "--follow-new"], sessions.path()), b"");
    let is_recorded = |pid: u32| {
        fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.contains("/memfd:"))
            && text(&server_ps(&server).stdout).lines().any(|line| line.contains(&format!("\"pid\":{pid},")))
    };
    wait_until("the first one is recorded", || server.workers().into_iter().all(is_recorded));
    let (mut second, _) = spawn(&server.folder.path().join(&server.name));
    wait_until("the second one is recorded", || is_recorded(second.id()));
    assert!(Command::new("kill").args(["-INT", &ada.id().to_string()]).status().unwrap().success());
    let output = ada.finish();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let served = server.served(sessions.path());
    assert!(served.contains_key(&second.id()) && served.contains_key(&server.process.id()), "{served:?}");
    drop(second.stdin.take());
    second.wait().unwrap();
}

fn server_ps(server: &Server) -> Output {
    run::command().args(["ps", "--format", "json"]).env("XDG_RUNTIME_DIR", server.folder.path()).output().unwrap()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}: not after {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
