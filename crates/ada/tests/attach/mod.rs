//! Attaching to processes that run already, and leaving them as they were.

mod found;
mod hostile;
mod killed;
mod programs;
mod refusals;
mod set_up;
mod target;

use self::target::Target;
use crate::run::{self, text};

/// Text and mappings are the same before and after, and the program did its work.
#[test]
fn a_busy_process_is_recorded_and_left_as_it_was() {
    let target = Target::busy();
    let before = target.picture();
    let recorded = target.attach(&["--duration", "1s", "--on-full", "wait"]);
    assert_eq!(target.picture(), before);
    for function in ["fibonacci", "sort_some", "compare", "handler"] {
        // One that a thread was in the first bytes of is left alone.
        let rows = &recorded.process().own().functions;
        let is_left_alone = rows.iter().any(|row| row.name == function && row.reason == "in_use");
        assert!(recorded.counts(function).calls > 0 || is_left_alone, "{function}");
    }
    recorded.assert_nested();
    target.end_busy();
}

/// Nobody saw threads being named that ran already.
#[test]
fn threads_have_the_names_that_they_had() {
    let target = Target::busy();
    let sessions = tempfile::tempdir().unwrap();
    let mut attach = target.ada(&["attach", &target.id().to_string(), "--duration", "300ms", "--output"]);
    attach.arg(sessions.path());
    let attached = run::bounded(attach, b"");
    assert_eq!(attached.status.code(), Some(0), "{}", text(&attached.stderr));
    target.end_busy();
    let session = sessions.path().read_dir().unwrap().next().unwrap().unwrap().path();
    let list = run::ada(["threads".as_ref(), session.as_os_str()]);
    let names: Vec<&str> = text(&list.stdout)
        .lines()
        .filter(|line| line.starts_with("thread:"))
        .filter_map(|it| it.split(' ').next_back())
        .collect();
    assert!(names.len() > 1, "{}", text(&list.stdout));
    let is_named = |name: &str| name.trim_matches(['(', ')']).starts_with("server-");
    assert!(names.iter().all(|name| *name == "main" || is_named(name)), "{names:?}");
}

/// What a thread was in when it was attached to names it, and what it does at last says how it ended.
#[test]
fn threads_that_were_there_before_have_names_and_ends() {
    let mut target = Target::ready("ending_threads.c");
    let attached = target.attach_until_detached(&[]);
    target.send("go");
    let sessions = attached.finish_with_folder();
    assert_eq!(target.finish().status.code(), Some(0));
    let listed = run::ada(["threads", sessions.path().to_str().unwrap(), "--format", "json"]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let said = |thread: &serde_json::Value| {
        ["name", "end_by"].map(|field| thread[field].as_str().unwrap_or_default().to_owned())
    };
    let mut threads: Vec<[String; 2]> = listed["threads"].as_array().unwrap().iter().map(said).collect();
    threads.sort();
    let expected = [
        ["main", ""],
        ["new_return", "return"],
        ["old_cancel", "canceled"],
        ["old_exit", "pthread_exit"],
        ["old_return", "return"],
    ];
    assert_eq!(threads, expected);
    assert_eq!(listed["active"]["most"], 4, "all but the new one, from the first event on");
}

#[test]
fn twenty_times_in_a_row() {
    let target = Target::busy();
    let before = target.picture();
    let calls = |_| target.attach(&["--duration", "20ms"]).counts("fibonacci").calls;
    assert!((0..20).map(calls).sum::<u64>() > 0);
    assert_eq!(target.picture(), before);
    target.end_busy();
}

/// Room is found though others take it, and threads that are just making others come back from that.
#[test]
fn threads_that_come_and_go_are_left_as_they_were() {
    let target = Target::ready("thread_churn.c");
    let calls = |_| target.attach(&["--duration", "50ms"]).counts("fibonacci").calls;
    assert!((0..6).map(calls).sum::<u64>() > 0);
    target.end("all ran\n");
}

/// Each of them takes a piece of the rings, and there are more of them than pieces; who waits for one gets it.
#[test]
fn threads_that_come_and_go_are_recorded_completely_where_they_may_wait() {
    let target = Target::ready("thread_churn.c");
    let recorded = target.attach(&["--duration", "200ms", "--on-full", "wait"]);
    recorded.assert_no_drops();
    recorded.assert_nested();
    target.end("all ran\n");
}

/// Frames that were open before are seen to return; those that are open at the end return to where they should.
#[test]
fn frames_in_flight_come_back() {
    let mut target = Target::new("long_calls.c");
    target.have_done("down");
    let attached = target.attach_until_detached(&[]);
    target.have_done("up");
    target.have_done("down");
    let (recorded, report) = attached.detach_with_report(&target);
    target.send("up");
    let output = target.finish();
    assert_eq!(output.status.code(), Some(32), "{}", text(&output.stdout));
    assert!(text(&output.stdout).ends_with("32\n"));
    // The inner ones of the first descent, and the outer ones of the second.
    let nested = recorded.counts("nested");
    assert_eq!((nested.calls, nested.returns), (11 + 21, 11));
    assert_eq!(recorded.counts("innermost").calls, 2);
    // What was open before is reported, whether or not its exits are caught.
    let before = report.lines().find(|line| line.starts_with("attached")).unwrap_or_else(|| panic!("{report}"));
    // Up to the read: step, innermost, nested eleven times, main, and what calls it.
    assert!(before.contains(" calls open before: read < ") && before.contains(" < fgets < step < "), "{before}");
}

/// They begin with the attach, and it is said that they had begun before.
#[test]
fn calls_that_were_open_are_spans() {
    let mut target = Target::new("long_calls.c");
    target.have_done("down");
    let attached = target.attach_until_detached(&[]);
    for word in ["up", "down", "up"] {
        target.send(word);
    }
    let output = target.finish();
    assert_eq!(output.status.code(), Some(32), "{}", text(&output.stdout));
    let sessions = attached.finish_with_folder();
    let spans = |name: &str| {
        let columns = "status, coalesce(reason, '') reason, start_ns, end_ns, depth";
        let query =
            format!("SELECT {columns} FROM spans WHERE type = 'frame' AND name = '{name}' ORDER BY start_ns, depth");
        let rows = run::ada(["query", sessions.path().to_str().unwrap(), &query, "--format", "json"]);
        serde_json::from_slice::<Vec<serde_json::Value>>(&rows.stdout).unwrap()
    };
    let (nested, main) = (spans("nested"), spans("main"));
    let (before, after) = nested.split_at(11);
    assert_eq!(after.len(), 21);
    assert!(after.iter().all(|span| span["status"] == "completed"), "{after:?}");
    let number = |span: &serde_json::Value, name: &str| span[name].as_u64().unwrap();
    for (outer, inner) in before.iter().zip(&before[1..]) {
        assert_eq!(number(outer, "start_ns"), number(inner, "start_ns"));
        assert_eq!(number(outer, "depth") + 1, number(inner, "depth"));
        assert!(number(inner, "end_ns") <= number(outer, "end_ns"), "{before:?}");
    }
    let is_from_before =
        |span: &serde_json::Value| span["status"] == "unmatched" && span["reason"] == "attached_midway";
    assert!(before.iter().all(is_from_before), "{before:?}");
    // Its end is the process's; it lasted longer than all.
    let [main] = &main[..] else { panic!("{main:?}") };
    assert!(before.iter().all(|span| number(span, "end_ns") <= number(main, "end_ns")), "{main}");
    assert_eq!(number(main, "start_ns"), number(&before[0], "start_ns"));
    assert!(is_from_before(main), "{main}");
}

#[test]
fn a_process_that_ends_by_itself_leaves_a_whole_session() {
    let mut target = Target::new("long_calls.c");
    let attached = target.attach_until_detached(&[]);
    for word in ["down", "up", "down", "up"] {
        target.send(word);
    }
    let output = target.finish();
    assert_eq!(output.status.code(), Some(32));
    let recorded = attached.finish();
    recorded.assert_balanced("nested", 32);
    recorded.assert_nested();
}

/// Fork children have the hooks, and lose them too.
#[test]
fn children_of_an_attached_process_are_recorded_and_detached() {
    let mut target = Target::command("sh", &["-c", "read go; (read go; expr 6 '*' 7) ; echo end"]);
    let attached = target.attach_until_detached(&["--no-follow"]);
    target.send("go");
    target.wait_for_child();
    let recorded = attached.detach(&target);
    assert!(recorded.processes.len() >= 2, "the shell and its child");
    target.send("go");
    let output = target.finish();
    assert_eq!(text(&output.stdout), "42\nend\n");
}
