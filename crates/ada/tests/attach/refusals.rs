//! What cannot be attached to is refused in one line, and nothing is broken.

use super::target::Target;
use crate::run::{bounded, text};

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
