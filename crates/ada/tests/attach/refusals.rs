//! What cannot be attached to is refused in one line, and nothing is broken.

use std::path::Path;
use std::process::Command;

use super::target::Target;
use crate::run::{bounded, text};
use crate::trace::program::Program;

fn refused(target: &Target, words: &[&str], code: i32, reason: &str) {
    let output = bounded(target.ada(words), b"");
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(reason) && stderr.lines().count() == 1, "{stderr}");
}

#[test]
fn what_is_no_process_is_refused() {
    let target = Target::new("long_calls.c");
    refused(&target, &["attach", "4194304"], 125, "there is no such process");
    refused(&target, &["attach", "0"], 2, "");
    refused(&target, &["attach", "no-such-program"], 125, "no process is called no-such-program");
    refused(&target, &["attach", "--port", "0"], 2, "");
    refused(&target, &["attach", "--unit", "no-such-unit"], 125, "no process runs in unit no-such-unit");
    refused(&target, &["attach", "1", "--port", "80"], 2, "");
    refused(&target, &["attach", "2"], 125, "kernel");
    refused(&target, &["detach", &target.id().to_string()], 3, "not being traced");
    drop(target.finish());
}

#[test]
fn a_process_is_attached_to_once_at_a_time() {
    let mut target = Target::new("long_calls.c");
    let attached = target.attach_until_detached(&[]);
    refused(&target, &["attach", &target.id().to_string()], 125, "it is being traced already");
    target.send("down");
    drop(attached.detach(&target));
    drop(target.finish());
}

#[test]
fn a_thread_is_refused_and_its_process_named() {
    let target = Target::busy();
    let threads = std::fs::read_dir(format!("/proc/{}/task", target.id())).unwrap();
    let mut ids: Vec<u32> =
        threads.map(|thread| thread.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect();
    ids.retain(|id| *id != target.id());
    refused(&target, &["attach", &ids[0].to_string()], 125, &format!("give its process, {}", target.id()));
    target.end_busy();
}

/// The folder for sessions is looked at before the process is touched.
#[test]
fn a_session_that_cannot_be_written_leaves_the_process_alone() {
    let target = Target::busy();
    let before = target.picture();
    refused(&target, &["attach", &target.id().to_string(), "--output", "/dev/null/x"], 125, "cannot write the session");
    assert_eq!(target.picture(), before);
    target.end_busy();
}

/// Yama is no part of every kernel, and its third scope stays until the next boot. What it does is what a filter does that has
/// ptrace fail; what is said where Yama is the reason has tests beside it (`ada-control/machine.rs`).
#[test]
fn where_ptrace_is_refused_that_is_said_with_what_to_do() {
    if !Path::new("/proc/sys/kernel/yama/ptrace_scope").exists() {
        eprintln!("this kernel has no Yama: ptrace_scope 1 to 3 are tested by a filter and by their words alone");
    }
    let target = Target::busy();
    let before = target.picture();
    let sessions = tempfile::tempdir().unwrap();
    let (id, ran) = (target.id().to_string(), sessions.path().join("ran"));
    let run = |words: &[&str]| {
        let mut command = Command::new(Program::new("no_ptrace.c").build());
        command.args([env!("CARGO_BIN_EXE_ada")]).args(words).current_dir(sessions.path());
        let output = bounded(command, b"");
        (output.status.code(), text(&output.stderr).to_owned(), text(&output.stdout).to_owned())
    };
    for words in [&["attach", &id, "--duration", "1s"][..], &["trace", "--", "/usr/bin/touch", ran.to_str().unwrap()]] {
        let (code, stderr, _) = run(words);
        assert_eq!(code, Some(125), "{stderr}");
        assert!(stderr.contains("refuses ptrace") && stderr.contains("--cap-add=SYS_PTRACE"), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
    // The folder that sessions go to is made before a process is touched.
    let made = sessions.path().join("ada_traces");
    assert!(
        !ran.exists() && std::fs::read_dir(made).map_or(0, Iterator::count) == 0,
        "neither a session nor what was to run"
    );
    let (code, _, said) = run(&["doctor"]);
    assert_eq!(code, Some(1), "{said}");
    for line in ["BAD  a trace ", "BAD  an attach "] {
        assert!(said.lines().any(|it| it.starts_with(line) && it.contains("refuses ptrace")), "{said}");
    }
    assert_eq!(target.picture(), before);
    target.end_busy();
}
