//! Processes in namespaces of their own, whose ids are those of others here.

use std::process::Command;

use ada_format::atf::Session;

use super::program::Program;
use crate::run::{self, text};

/// Runs a shell script in a namespace of its own for process ids: its first process is number 1 there. Whoever is mistaken
/// for somebody else is one of this test.
fn in_a_namespace(script: &str, words: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script]).args(words);
    command
}

/// What is traced has number 1 in the namespace that it makes, as the shell above it has, or ada itself.
#[test]
fn a_process_in_a_namespace_of_its_own_is_not_taken_for_somebody_else() {
    let program = Program::new("fork.c").build();
    let program = program.to_str().unwrap();
    for script in ["\"$@\"; exit $?", "exec \"$@\""] {
        let sessions = tempfile::tempdir().unwrap();
        let ada = env!("CARGO_BIN_EXE_ada");
        let traced = ["unshare", "--pid", "--fork", "/bin/sh", "-c", "\"$0\"; exit 4", program];
        let output = sessions.path().to_str().unwrap();
        let words = ["sh", ada, "trace", "--quiet", "--output", output, "--"].into_iter().chain(traced);
        let ended = run::bounded(in_a_namespace(script, &words.collect::<Vec<_>>()), b"");
        assert_eq!(ended.status.code(), Some(4), "{script}: {}", text(&ended.stderr));
        let alone = run::bounded(Command::new(program), b"");
        assert_eq!(text(&ended.stdout), text(&alone.stdout), "{script}");
        let session = sessions.path().read_dir().unwrap().next().unwrap().unwrap().path();
        let session = Session::open(&session).unwrap();
        let limits =
            session.processes().iter().filter_map(|process| process.manifest.as_ref()).flat_map(|it| &it.limits);
        let words = "it is in a namespace of its own for process ids";
        let reported = limits.filter(|limit| limit.as_str().is_some_and(|limit| limit.contains(words))).count();
        assert!(reported > 0, "{script}");
    }
}
