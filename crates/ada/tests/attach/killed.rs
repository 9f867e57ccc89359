//! The ada that records a process is killed: the process goes on, and whoever comes next takes its hooks out.

use super::target::Target;
use crate::run::{self, Started, text};
use crate::trace::program::Program;

/// Nobody empties the rings any more, and they are small.
const WAITING: [&str; 4] = ["--on-full", "wait", "--ring-memory", "1M"];

fn detach(target: &Target) -> (Option<i32>, String) {
    let output = run::bounded(target.ada(&["detach", &target.id().to_string()]), b"");
    (output.status.code(), text(&output.stdout).to_owned() + text(&output.stderr))
}

#[test]
fn a_process_whose_ada_was_killed_goes_on_with_its_hooks() {
    let target = Target::busy();
    let before = target.picture();
    target.attach_until_detached(&WAITING).kill();
    assert_ne!(target.picture(), before);
    target.end_busy();
}

/// Not all of its threads need to find out.
#[test]
fn a_process_whose_ada_was_killed_lets_its_calls_pass() {
    let target = Target::busy();
    let before = target.picture();
    for _ in 0..2 {
        let attached = target.attach_until_detached(&[]);
        target.wait_until("its calls are recorded", || !target.lets_calls_pass());
        attached.kill();
        target.wait_until("its calls pass", || target.lets_calls_pass());
        let words = format!(
            "process {} had the hooks of an ada that was killed, which let its calls pass; it goes on without\n",
            target.id()
        );
        assert_eq!(detach(&target), (Some(0), words));
        assert_eq!(target.picture(), before);
    }
    target.end_busy();
}

/// What a handler sees is put right at its entry, which is therefore recorded though nobody reads it. Some see the end of another
/// function in place of an exit that several share: which of them runs is not known where calls pass.
#[test]
fn handlers_see_the_programs_state_though_ada_was_killed() {
    let program = Program::new("interrupted.c").flags(&["-O1", "-DSAMPLES=60000", "-DPASSES=1"]).build();
    let folder = tempfile::tempdir().unwrap();
    let mut command = run::command();
    command.args(["trace", "--quiet", "--output"]).arg(folder.path()).arg("--").arg(program);
    let mut traced = Started::new(command, b"");
    assert_eq!(traced.first_line(), "begins");
    traced.kill();
    let output = traced.finish();
    let words = text(&output.stdout).lines().last().unwrap().to_owned();
    assert_eq!(words, "60000 samples, 0 wrong");
}

/// The recorder stands still for longer than the agent waits for a sign of life.
#[test]
fn a_recorder_that_was_taken_for_gone_records_on() {
    let target = Target::busy();
    let attached = target.attach_until_detached(&[]);
    attached.halt();
    target.wait_until("its calls pass", || target.lets_calls_pass());
    attached.go_on();
    target.wait_until("its calls are recorded again", || !target.lets_calls_pass());
    let recorded = attached.detach(&target);
    let drops = &recorded.process().drops;
    assert!(
        drops.iter().any(|it| it.reason == "recorder_gone" && it.count > 0),
        "calls that passed are counted: {drops:?}"
    );
    target.end_busy();
}

#[test]
fn detaching_removes_the_hooks_of_a_killed_ada() {
    let target = Target::busy();
    let before = target.picture();
    let listed = || {
        let listed = target.ada(&["ps"]).output().unwrap();
        let own = format!("process {} has the hooks of an ada that was killed", target.id());
        text(&listed.stdout).lines().filter(|line| line.starts_with(&own)).count()
    };
    let attached = target.attach_until_detached(&WAITING);
    assert_eq!(listed(), 0, "ada lives");
    attached.kill();
    assert_eq!(listed(), 1);
    let (code, said) = detach(&target);
    assert_eq!(listed(), 0);
    let words = format!("process {} had the hooks of an ada that was killed", target.id());
    assert!(
        code == Some(0) && said.starts_with(&words) && said.ends_with("; it goes on without\n"),
        "{code:?}: {said}"
    );
    assert_eq!(target.picture(), before);
    let (code, said) = detach(&target);
    assert!(code == Some(3) && said.contains("is not being traced"), "{code:?}: {said}");
    target.end_busy();
}

#[test]
fn attaching_first_removes_the_hooks_of_a_killed_ada() {
    let target = Target::busy();
    let before = target.picture();
    target.attach_until_detached(&[]).kill();
    let sessions = tempfile::tempdir().unwrap();
    let mut attach = target.ada(&["attach", &target.id().to_string(), "--duration", "100ms", "--output"]);
    attach.arg(sessions.path());
    let output = run::bounded(attach, b"");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let words = "ada: the process had the hooks of an ada that was killed; they were removed first";
    assert_eq!(said.lines().filter(|line| *line == words).count(), 1, "{said}");
    assert_eq!(target.picture(), before);
    target.end_busy();
}

/// Where open calls return to is known in the process alone.
#[test]
fn frames_in_flight_come_back_though_ada_was_killed() {
    let mut target = Target::new("long_calls.c");
    let attached = target.attach_until_detached(&[]);
    target.have_done("down");
    attached.kill();
    assert_eq!(detach(&target).0, Some(0));
    for word in ["up", "down", "up"] {
        target.send(word);
    }
    let output = target.finish();
    assert_eq!(output.status.code(), Some(32), "{}", text(&output.stdout));
}

#[test]
fn children_lose_their_hooks_too_though_ada_was_killed() {
    let mut target = Target::command("sh", &["-c", "read go; (read go; expr 6 '*' 7) ; echo end"]);
    let attached = target.attach_until_detached(&["--no-follow"]);
    target.send("go");
    let child = target.wait_for_child();
    attached.kill();
    let (code, said) = detach(&target);
    assert!(code == Some(0) && said.contains(" (and 1 more) "), "{code:?}: {said}");
    assert!(!target.has_memory_of_ada(child));
    target.send("go");
    assert_eq!(text(&target.finish().stdout), "42\nend\n");
}
