//! Processes that run other programs.

use ada_format::atf::{Process, Session};

use crate::run::{self, text};

/// Traces a script of the shell and reads its processes; what it prints must be what it prints alone.
fn script(lines: &str) -> (tempfile::TempDir, Session) {
    let mut alone = std::process::Command::new("/bin/sh");
    alone.args(["-c", lines]);
    let alone = run::bounded(alone, b"");
    let folder = tempfile::tempdir().unwrap();
    let mut traced = run::command();
    traced.args(["trace", "--quiet", "--output"]).arg(folder.path()).args(["--", "/bin/sh", "-c", lines]);
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

/// The stubs of programs that nobody runs any more are let go, and others' are not: the loop runs in a fork of a program
/// that has gone on to another one long ago.
#[test]
fn programs_come_and_go_while_a_fork_of_the_first_stays() {
    let (_folder, session) =
        script("(i=0; while [ $i -lt 30 ]; do /bin/true; i=$((i+1)); done; echo $i) & exec /bin/true");
    assert_eq!(session.processes().iter().filter(|process| ran(process, "/true")).count(), 31);
    assert_eq!(session.processes().len(), 32);
}
