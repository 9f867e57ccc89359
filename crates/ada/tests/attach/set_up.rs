//! What a process has set up for itself is as before once ada has left, and processes of other users and under filters.

use super::target::{NOBODY, Target, copy_program};
use crate::run::{bounded, text};
use crate::trace::recorded::{RecordedModule, RecordedProcess};

pub(super) fn is_root() -> bool {
    std::fs::read_to_string("/proc/self/status").unwrap().contains("\nUid:\t0\t0\t")
}

/// Handlers of signals that ada catches or uses itself, among them SIGTRAP, and the GS base.
#[test]
fn signal_actions_and_the_gs_base_are_as_they_were() {
    let mut target = Target::new("own_set_up.c");
    let before = target.asked("before");
    for _ in 0..2 {
        let attached = target.attach_until_detached(&[]);
        // What it sees meanwhile is its own business, but for the GS base.
        assert!(target.asked("meanwhile").contains("blocked"));
        drop(attached.detach(&target));
        assert_eq!(target.asked("after"), before);
    }
    drop(target.finish());
}

#[test]
fn a_process_that_uses_the_gs_base_is_refused_and_keeps_it() {
    let mut target = Target::with_arguments("own_set_up.c", &["own"]);
    let before = target.asked("before");
    assert!(before.ends_with("GS 1234560000\n"), "{before}");
    let output = bounded(target.ada(&["attach", &target.id().to_string()]), b"");
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert!(stderr.contains("it uses the GS register itself") && stderr.lines().count() == 1, "{stderr}");
    assert_eq!(target.asked("after"), before);
    drop(target.finish());
}

#[test]
fn a_process_of_another_user_is_recorded_by_root_and_left_as_it_was() {
    if !is_root() {
        return;
    }
    let target = Target::of_nobody("busy_server.c");
    let before = target.picture();
    let recorded = target.attach(&["--duration", "1s", "--on-full", "wait"]);
    assert_eq!(target.picture(), before);
    assert!(recorded.counts("sort_some").calls > 0);
    drop(recorded);
    target.end_busy();
}

/// It may not open what is ada's, and maps once more what it has.
#[test]
fn libraries_that_a_process_of_another_user_loads_later_are_hooked() {
    if !is_root() {
        return;
    }
    let mut target = Target::of_nobody("late_library.c");
    let attached = target.attach_until_detached(&[]);
    for _ in 0..3 {
        assert_eq!(target.asked("go"), "5\n");
    }
    let recorded = attached.detach(&target);
    let roots = recorded.process().counts_of(|_, row| row.name == "cbrt");
    assert_eq!((roots.calls, roots.returns), (6, 6));
    assert_eq!(target.asked("go"), "5\n");
    assert!(!target.has_memory_of_ada(target.id()));
    drop(target.finish());
}

/// It is given what it may not open.
#[test]
fn programs_that_a_process_of_another_user_runs_are_hooked() {
    if !is_root() {
        return;
    }
    let mut target = Target::of_nobody("asks_shell.c");
    let attached = target.attach_until_detached(&[]);
    for _ in 0..3 {
        assert_eq!(target.asked("/bin/echo five"), "five\n");
    }
    let recorded = attached.detach(&target);
    let ran_echo = |process: &&RecordedProcess| {
        let is_echo = |module: &RecordedModule| module.path.ends_with("/echo");
        process.counts_of(|module, _| is_echo(module)).calls > 0
    };
    assert_eq!(recorded.processes.iter().filter(ran_echo).count(), 3);
    assert_eq!(target.asked("/bin/echo six"), "six\n");
    drop(target.finish());
}

#[test]
fn a_process_of_another_user_is_refused_to_those_without_rights() {
    if !is_root() {
        return;
    }
    let target = Target::busy();
    let before = target.picture();
    let folder = tempfile::tempdir().unwrap();
    let ada = folder.path().join("ada");
    copy_program(env!("CARGO_BIN_EXE_ada").as_ref(), &ada);
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let mut command = std::process::Command::new("setpriv");
    command.args([format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"), "--clear-groups".into()]).arg(&ada);
    command.args(["attach", &target.id().to_string(), "--output"]).arg(folder.path().join("sessions"));
    let output = bounded(command, b"");
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert!(stderr.starts_with("ada: ") && stderr.lines().count() == 1, "{stderr}");
    assert!(!folder.path().join("sessions").exists(), "{stderr}");
    assert_eq!(target.picture(), before);
    target.end_busy();
}

/// Its filter kills it for whatever attaching needs.
#[test]
fn a_process_under_a_filter_lives() {
    let mut target = Target::new("filtered_echo.c");
    assert_eq!(target.asked("first"), "first\n");
    let output = bounded(target.ada(&["attach", &target.id().to_string(), "--duration", "1s"]), b"");
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{stderr}");
    assert!(stderr.contains("seccomp") && stderr.lines().count() == 1, "{stderr}");
    assert_eq!(target.asked("second"), "second\n");
    assert_eq!(target.finish().status.code(), Some(0));
}
