//! Processes that run other programs.

use std::path::Path;

use ada_format::atf::{Process, Session};

use super::program::Program;
use super::tracing::Tracing;
use crate::run::{self, text};

/// Traces a script of the shell and reads its processes; what it prints must be what it prints alone.
fn script(lines: &str) -> (tempfile::TempDir, Session) {
    let mut alone = std::process::Command::new("/bin/sh");
    alone.args(["-c", lines]);
    let alone = run::bounded(alone, b"");
    let folder = tempfile::tempdir().unwrap();
    let mut traced = run::command();
    traced.args(["trace", "--quiet", "--output"]).arg(folder.path());
    traced.args(["--", "/bin/sh", "-c", lines]);
    let traced = run::bounded(traced, b"");
    assert_eq!(text(&traced.stdout), text(&alone.stdout));
    assert_eq!((text(&traced.stderr), traced.status.code()), (text(&alone.stderr), alone.status.code()));
    let session = Session::open(folder.path().read_dir().unwrap().next().unwrap().unwrap().path()).unwrap();
    (folder, session)
}

/// Whether a process ran a program, and was recorded there.
fn ran(process: &Process, program: &str) -> bool {
    let manifest = process.manifest.as_ref().expect("it has one");
    let has_events = process.threads.iter().any(|thread| thread.index().events().count() > 50);
    has_events && manifest.modules.iter().any(|module| module.path.ends_with(program))
}

#[test]
fn all_programs_of_a_pipeline_are_traced() {
    let (_folder, session) = script("seq 100 | sort -r | /usr/bin/head -n 3; exit 7");
    for program in ["/seq", "/sort", "/head"] {
        assert_eq!(session.processes().iter().filter(|process| ran(process, program)).count(), 1, "{program}");
    }
    assert_eq!(session.processes().len(), 4);
}

/// `env` asks to exec in one folder after the other. Whoever watches it hears that it asks again: another thread of ada that heard it was
/// refused, and each time the session said that the program is not traced.
#[test]
fn a_program_that_is_looked_for_in_many_folders_is_traced_and_nothing_else_is_said() {
    let folders: String = (0..20).map(|number| format!("/nowhere/{number}:")).collect();
    let (_folder, session) =
        script(&format!("for i in 1 2 3; do env PATH={folders}/usr/bin:/bin sort /dev/null; done"));
    assert_eq!(session.processes().iter().filter(|process| ran(process, "/sort")).count(), 3);
    let limits: Vec<_> =
        session.processes().iter().filter_map(|it| it.manifest.as_ref()).flat_map(|it| &it.limits).collect();
    assert!(limits.is_empty(), "{limits:?}");
}

/// The stubs of programs that nobody runs any more are let go, and others' are not: the loop runs in a fork of a program
/// that has gone on to another one long ago.
#[test]
fn programs_come_and_go_while_a_fork_of_the_first_stays() {
    let (_folder, session) =
        script("(i=0; while [ $i -lt 30 ]; do /bin/true; i=$((i+1)); done; echo $i) & exec /bin/true");
    assert_eq!(session.processes().iter().filter(|process| ran(process, "/true")).count(), 31);
    assert_eq!(session.processes().len(), 32);
}

/// What was made for a program serves the next one that runs the same files: each runs, and is recorded, as the first.
#[test]
fn a_program_that_is_run_again_and_again_is_recorded_each_time() {
    let lines = "for i in 1 2 3 4 5; do sh -c \"echo $i; exit $i\"; echo $?; ls / | sort | head -n 2; done";
    let (_folder, session) = script(lines);
    let events = |process: &Process| process.threads.iter().map(|thread| thread.index().events().count()).sum();
    for (program, runs) in [("/sort", 5), ("/ls", 5), ("/head", 5)] {
        let all = session.processes().iter().filter(|process| ran(process, program));
        let counts: Vec<usize> = all.map(events).collect();
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        assert!(counts.len() == runs && most - least < most / 5, "{program}: {counts:?}");
    }
    for process in session.processes() {
        let modules = &process.manifest.as_ref().expect("it has one").modules;
        let ids: std::collections::HashSet<ada_event::ModuleId> =
            modules.iter().map(|module| module.module_id).collect();
        assert_eq!(ids.len(), modules.len(), "a process has each module once");
    }
}

/// A program that is half prepared has no handlers, and what is made in it must not be interrupted.
#[test]
fn signals_during_an_exec_have_their_effect_and_no_other() {
    const CHLD: &str = "17";
    const CONT: &str = "18";
    const STOP: &str = "19";
    const WINCH: &str = "28";
    for signal in [CHLD, CONT, STOP, WINCH] {
        let tracing = Tracing::new(&Program::new("exec_under_signals.c")).argument(signal);
        let output = run::bounded(tracing.command(), b"");
        assert_eq!((text(&output.stdout), output.status.code()), ("0 wrong\n", Some(0)), "signal {signal}");
    }
    // Whether the shell says on stderr that one was killed depends on when it hears of it.
    script("exec 2> /dev/null; for i in 1 2 3 4 5 6 7 8; do sleep 60 & p=$!; kill $p; wait $p; echo $?; done");
    script("sleep 0.1 & p=$!; kill -STOP $p; kill -CONT $p; wait $p; echo $?");
}

#[test]
fn a_program_that_cannot_be_loaded_ends_as_ever() {
    script("ulimit -v 2000; exec /usr/bin/head -n 1 /etc/hostname");
}

/// Whoever ends the trace ends the program, and the session is whole.
#[test]
fn a_signal_to_end_reaches_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = run::command();
    command.args(["trace", "--quiet", "--output"]).arg(folder.path());
    command.args(["--", "/bin/sh", "-c", "trap 'echo told; exit 3' TERM; echo ready; while :; do sleep 0.05; done"]);
    let started = run::Started::new(command, b"");
    assert_eq!(started.first_line(), "ready");
    let signalled = std::process::Command::new("kill").arg(started.id().to_string()).status().unwrap();
    assert!(signalled.success());
    let output = started.finish();
    assert_eq!((text(&output.stdout), output.status.code()), ("ready\ntold\n", Some(3)), "{}", text(&output.stderr));
    let path = folder.path().read_dir().unwrap().next().unwrap().unwrap().path();
    let verified = run::ada(["atf".as_ref(), "verify".as_ref(), path.as_os_str()]);
    assert_eq!(verified.status.code(), Some(0), "{}", text(&verified.stdout));
}

/// Where `sh` runs a program with vfork, the child's last calls stay open in the shell itself, which goes on to jump.
#[test]
fn subshells_end_by_exit_after_a_program_has_run() {
    for (lines, processes) in [
        ("/bin/true; (exit 4); echo $?", 3),
        ("/bin/true; echo; ( echo sub; exit 4 ); /bin/true; exit 5", 4),
        ("/bin/true; (exit 4); echo $?; (/bin/true; (exit 2); echo $?; exit 6); exit $?", 6),
        ("f() { /bin/true; (exit 4); return $?; }; f; echo $?", 3),
        ("x=$(/bin/true; (exit 4); echo $?); echo $x", 4),
    ] {
        let (_folder, session) = script(lines);
        assert_eq!(session.processes().len(), processes, "{lines}");
    }
}

/// Python's subprocess kills what takes too long and waits for it: here in each phase of being hooked.
#[test]
fn a_child_that_is_killed_while_it_is_being_hooked_does_not_keep_its_parent_waiting() {
    let script = "
import subprocess, sys
expired = 0
for milliseconds in (4, 8, 12, 16, 20, 25, 30, 40):
    try:
        subprocess.run([sys.executable, '-c', 'while True: pass'], timeout=milliseconds / 1000)
    except subprocess.TimeoutExpired:
        expired += 1
print(expired)
";
    let tracing = Tracing::of(Path::new("/usr/bin/python3")).argument("-c").argument(script);
    tracing.option(&["--no-plan-cache", "--detail", "off"]).check_output();
}

/// What such a program records is in rings of its own.
#[test]
fn a_program_that_runs_as_another_user_is_traced() {
    for lines in [
        "setpriv --reuid=65534 --clear-groups /bin/echo done; /bin/true",
        "su -s /bin/sh nobody -c '/bin/echo done'; /bin/true",
    ] {
        let (_folder, session) = script(lines);
        for program in ["/echo", "/true"] {
            assert!(session.processes().iter().any(|process| ran(process, program)), "{lines}: {program}");
        }
        let limits: Vec<_> =
            session.processes().iter().filter_map(|it| it.manifest.as_ref()).flat_map(|it| &it.limits).collect();
        assert!(limits.is_empty(), "{lines}: {limits:?}");
    }
}

/// A shell's job that is stopped on its way into its program: others go on, its parent sees one stop, and it goes on when it
/// is told to.
#[test]
fn a_child_that_is_stopped_in_the_middle_of_an_exec_keeps_nobody_waiting() {
    let script = "
import os, signal, subprocess, time
seen = []
for milliseconds in (0, 0, 0, 0.1, 0.2, 0.5, 0.7, 1, 2, 4, 8, 15, 30):
    pid = os.fork()
    if pid == 0:
        os.execv('/bin/sleep', ['sleep', '60'])
    until = time.monotonic() + milliseconds / 1000
    while time.monotonic() < until:
        pass
    os.kill(pid, signal.SIGSTOP)
    stop = os.waitpid(pid, os.WUNTRACED)[1]
    others = [subprocess.run(['/bin/true']).returncode, subprocess.run(['/bin/false']).returncode]
    again = os.waitpid(pid, os.WUNTRACED | os.WNOHANG)
    os.kill(pid, signal.SIGCONT)
    goes_on = os.WIFCONTINUED(os.waitpid(pid, os.WCONTINUED)[1])
    os.kill(pid, signal.SIGTERM)
    end = os.waitpid(pid, 0)[1]
    seen.append((os.WIFSTOPPED(stop) and os.WSTOPSIG(stop), others, again, goes_on, end))
print(len(seen), set(map(str, seen)))
";
    let tracing = Tracing::of(Path::new("/usr/bin/python3")).argument("-c").argument(script);
    tracing.option(&["--detail", "off"]).check_output();
    for _ in 0..4 {
        self::script(
            "sleep 60 & p=$!; kill -STOP $p; echo a; ls / | wc -l; kill -CONT $p; kill $p; wait $p 2> /dev/null; echo $?",
        );
    }
}
