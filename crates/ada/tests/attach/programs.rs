//! Processes that run other programs while ada attaches or detaches.

use std::fs;
use std::process::Command;

use super::target::Target;
use crate::run::{self, text};

/// It is hooked in a moment between two programs, or refused: in one line, and nothing is broken.
#[test]
fn a_process_that_runs_one_program_after_the_other_is_refused_or_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let end = folder.path().join("end");
    let script = "[ -e \"$1\" ] && exit 6; exec /bin/sh -c \"$0\" \"$0\" \"$1\"";
    let begin = format!("read go; {script}");
    let mut target = Target::command("sh", &["-c", &begin, script, end.to_str().unwrap()]);
    target.send("go");
    let mut attach = target.ada(&["attach", &target.id().to_string(), "--duration", "100ms", "--quiet", "--output"]);
    attach.arg(folder.path());
    let output = run::bounded(attach, b"");
    let said = text(&output.stderr);
    match output.status.code() {
        Some(0) => assert_eq!(said, ""),
        Some(125) => {
            assert!(said.contains("it runs one program after the other") && said.lines().count() == 1, "{said}")
        }
        other => panic!("{other:?}: {said}"),
    }
    fs::write(&end, "").unwrap();
    let output = target.finish();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(6), ""));
}

/// A large program takes its time to be hooked: long enough for the hooks of all to be removed meanwhile.
#[test]
fn a_program_that_is_being_hooked_when_ada_leaves_is_left_as_it_was() {
    let compiler = Command::new("gcc").arg("-print-prog-name=cc1").output().unwrap();
    let compiler = text(&compiler.stdout).trim_end();
    let script = "read go; \"$0\" -quiet -o /dev/null; echo end";
    let mut target = Target::command("sh", &["-c", script, compiler]);
    let attached = target.attach_until_detached(&["--no-plan-cache"]);
    target.send("go");
    let child = target.wait_for_program(compiler);
    drop(attached.leave(&target));
    assert!(!target.has_memory_of_ada(child));
    let output = target.finish();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "end\n"));
}

/// Shells that run one program after the other, all the time: none of these is hooked any more once hooks are being
/// removed, or it would keep them.
#[test]
fn programs_that_are_run_while_ada_leaves_are_left_as_they_were() {
    let script = "read go; for n in 1 2 3 4; do \
        (while [ -d \"$0/on\" ]; do /bin/true || echo \"bad $?\"; [ -e \"$0/$n\" ] || echo > \"$0/$n\"; done) & \
        done; wait; echo end";
    for _ in 0..4 {
        // They go on for as long as it is there.
        let folder = tempfile::tempdir().unwrap();
        let on = folder.path().join("on");
        fs::create_dir(&on).unwrap();
        let mut target = Target::command("sh", &["-c", script, folder.path().to_str().unwrap()]);
        let attached = target.attach_until_detached(&[]);
        target.send("go");
        // Each has run something.
        target.wait_until("they run", || folder.path().read_dir().unwrap().count() == 5);
        drop(attached.leave(&target));
        let shells: Vec<u32> = target.children();
        assert_eq!(shells.len(), 4);
        assert!(shells.iter().chain([&target.id()]).all(|&shell| !target.has_memory_of_ada(shell)));
        fs::remove_dir(&on).unwrap();
        let output = target.finish();
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "end\n"));
    }
}
