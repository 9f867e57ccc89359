//! Waits for input: two processes, of which one says what it got, and from whom.

use serde_json::Value;

use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

/// What the program says of itself.
struct Truth {
    parent: u64,
    child: u64,
    writers: [u64; 2],
    /// Which of the two wrote what came, in order; 2 for both.
    got: Vec<usize>,
}

const TURNS: usize = 60;

fn trace(channel: &str) -> (TracedProgram, Truth) {
    let sessions = tempfile::tempdir().unwrap();
    let program = Program::new("wait_io.c").flags(&["-pthread"]).build();
    let mut command = run::command_that_signals_end();
    command.args(["trace", "--quiet", "--output"]).arg(sessions.path()).arg("--").arg(program);
    command.args([channel, &TURNS.to_string()]);
    let output = run::bounded(command, b"");
    let printed = run::text(&output.stdout);
    let lines: Vec<Vec<u64>> =
        printed.lines().map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect()).collect();
    let [ids, got] = &lines[..] else { panic!("{printed}") };
    let truth = Truth {
        parent: ids[0],
        child: ids[1],
        writers: [ids[2], ids[3]],
        got: got.iter().map(|who| *who as usize).collect(),
    };
    (TracedProgram::from_folder(sessions, "program"), truth)
}

/// Traces a program that prints lines of numbers.
pub(crate) fn trace_numbers(source: &'static str, arguments: &[&str]) -> (TracedProgram, Vec<Vec<u64>>) {
    let sessions = tempfile::tempdir().unwrap();
    let program = Program::new(source).flags(&["-pthread"]).build();
    let mut command = run::command_that_signals_end();
    command.args(["trace", "--quiet", "--output"]).arg(sessions.path()).arg("--").arg(program).args(arguments);
    let output = run::bounded(command, b"");
    let numbers = |line: &str| line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let printed = run::text(&output.stdout).lines().map(numbers).collect();
    (TracedProgram::from_folder(sessions, "program"), printed)
}

/// A full pipe: whoever reads makes room.
#[test]
fn a_blocked_write_is_ended_by_whoever_reads() {
    const READS: usize = 30;
    let (session, printed) = trace_numbers("wait_room.c", &[&READS.to_string()]);
    let [ids, readers] = &printed[..] else { panic!("{printed:?}") };
    assert_eq!(readers.len(), READS);
    let query = format!(
        "WITH calls AS (SELECT start_ns, end_ns, row_number() OVER (ORDER BY start_ns) - 1 AS turn
            FROM spans WHERE type = 'frame' AND name = 'give' AND pid = {})
        SELECT waits.*, turn FROM waits JOIN calls ON waits.start_ns BETWEEN calls.start_ns AND calls.end_ns
            WHERE waits.pid = {} AND waits.kind = 'io' AND waits.state = 'ended' ORDER BY waits.start_ns",
        ids[0], ids[0]
    );
    let waits = rows(&session, &query);
    assert!(waits.len() >= READS / 2, "{waits:#?}");
    let mut known = 0;
    for wait in waits.iter().filter(|wait| wait["uncertain"] == "" && !wait["waker_pid"].is_null()) {
        // The first write finds room.
        let turn = wait["turn"].as_u64().unwrap() as usize;
        assert!(turn > 0, "{wait}");
        let reader = ids[2 + readers[turn - 1] as usize];
        assert_eq!(
            (&wait["waker_pid"], &wait["waker_thread_id"]),
            (&ids[1].into(), &reader.into()),
            "{readers:?}: {wait}"
        );
        assert_eq!(wait["wake_function"], "make_room", "{wait}");
        assert!(wait["object"].as_str().unwrap().starts_with("pipe"), "{wait}");
        known += 1;
    }
    let has_states = rows(&session, "SELECT DISTINCT known_by FROM states").iter().any(|it| it["known_by"] == "kernel");
    // Without them nobody knows whether a call slept that took long.
    assert!(known * 2 >= waits.len() || !has_states, "{known}: {waits:#?}");
}

/// Anybody may send signals: who is named is never certain, and here it is right.
#[test]
fn a_wait_for_a_signal_is_ended_by_who_sent_it() {
    let (session, printed) = trace_numbers("wait_signals.c", &[]);
    let [process, child, main, waiter, each] = printed[0][..] else { panic!("{printed:?}") };
    let waits = rows(&session, "SELECT * FROM waits WHERE kind = 'signal' ORDER BY start_ns");
    let mut named = 0;
    for (at, wait) in waits.iter().enumerate() {
        assert_eq!((&wait["thread_id"], &wait["function"]), (&waiter.into(), &"await_signal".into()), "{wait}");
        let Some(pid) = wait["waker_pid"].as_u64() else { continue };
        assert_eq!(wait["waker_thread_id"], if pid == child { child } else { main }, "{wait}");
        // Waits that were very short are none: which one is whose is known where all are there.
        if waits.len() as u64 == 2 * each {
            assert_eq!(pid, if (at as u64) < each { process } else { child }, "{wait}");
        }
        assert!(wait["uncertain"].as_str().unwrap().contains("outside_waker"), "{wait}");
        named += 1;
    }
    assert!(named >= each, "{waits:#?}");
    let slept = rows(&session, "SELECT * FROM waits WHERE kind = 'sleep' AND function = 'sleep_long'");
    let [slept] = &slept[..] else { panic!("{slept:#?}") };
    assert_eq!((&slept["waker_thread_id"], &slept["wake_function"]), (&main.into(), &"interrupt".into()), "{slept}");
}

pub(crate) fn rows(session: &TracedProgram, query: &str) -> Vec<Value> {
    session.json("query", &[query]).as_array().expect("a list").clone()
}

/// The waits in a function of the parent's, each with the number of the call that it was in.
fn waits_in(session: &TracedProgram, truth: &Truth, function: &str) -> Vec<Value> {
    let query = format!(
        "WITH calls AS (SELECT start_ns, end_ns, row_number() OVER (ORDER BY start_ns) - 1 AS turn
            FROM spans WHERE type = 'frame' AND name = '{function}' AND pid = {})
        SELECT waits.*, turn FROM waits JOIN calls ON waits.start_ns BETWEEN calls.start_ns AND calls.end_ns
            WHERE waits.pid = {} AND waits.kind = 'io' AND waits.state = 'ended' ORDER BY waits.start_ns",
        truth.parent, truth.parent
    );
    rows(session, &query)
}

/// The waits of a program that had to wait often enough. Who has to wait for a processor finds that everything has come meanwhile, so
/// that a busy machine is given some more tries; and so is one on which ada came too late to look at the descriptors of both, or on
/// which calls of the two that write overlapped for long.
fn trace_waits(channel: &str) -> (TracedProgram, Truth, Vec<Value>) {
    const TRIES: usize = 5;
    let mut counts = Vec::new();
    for _ in 0..TRIES {
        let (session, truth) = trace(channel);
        let waits = waits_in(&session, &truth, "await");
        let named = waits.iter().filter(|wait| wait["waker_pid"].is_u64() && wait["uncertain"] == "").count();
        if waits.len() >= TURNS / 2 && named * 2 > waits.len() {
            return (session, truth, waits);
        }
        counts.push((named, waits.len()));
    }
    panic!("{channel}: {counts:?}");
}

/// Holds each wait against what came of it. What is named as certain has to be right. How many are depends on how often calls of the
/// two that write overlap, and so on what else the machine has to do.
fn check(channel: &str, object: &str) -> (TracedProgram, Truth) {
    let (session, truth, waits) = trace_waits(channel);
    // What had come before a call began, nobody had to be waited for.
    let had_to_wait = waits.iter().filter(|wait| wait["waker_pid"].is_u64() || wait["uncertain"] != "").count();
    assert!(had_to_wait * 2 >= waits.len(), "{channel}: {had_to_wait}: {waits:#?}");
    let (mut named, mut ended) = (0, false);
    for wait in &waits {
        assert!(wait["object"].as_str().is_some_and(|it| it.starts_with(object)), "{channel}: {wait:#}");
        assert!(wait["descriptor"].is_u64(), "{channel}: {wait:#}");
        let Some(waker) = wait["waker_thread_id"].as_u64() else { continue };
        let Some(&who) = truth.got.get(wait["turn"].as_u64().unwrap() as usize) else {
            // The end of what comes, by whoever closed the other end last.
            assert_eq!(
                (&wait["waker_pid"], &wait["wake_function"]),
                (&truth.child.into(), &"close_late".into()),
                "{wait:#}"
            );
            ended = true;
            continue;
        };
        if wait["uncertain"] == "" {
            assert!(who == 2 || waker == truth.writers[who], "{channel}, {:?}: {wait:#}", truth.writers);
            assert_eq!((&wait["waker_pid"], &wait["wake_function"]), (&truth.child.into(), &"give".into()), "{wait:#}");
            named += 1;
        }
    }
    assert!(named * 2 >= had_to_wait, "{channel}: {named} of {had_to_wait}: {waits:#?}");
    assert!(ended || channel == "eventfd", "{channel}: {:#}", waits.last().unwrap());
    let child = waits_in(&session, &truth, "await_child");
    assert_eq!(child[0]["waker_pid"], truth.child, "{child:#?}");
    (session, truth)
}

#[test]
fn who_writes_to_a_pipe_ends_the_wait_of_who_reads() {
    let (session, truth) = check("pipe", "pipe:[");
    let links =
        rows(&session, "SELECT count(*) AS n FROM links WHERE kind = 'wake' AND from_thread_id != to_thread_id");
    assert!(links[0]["n"].as_u64().unwrap() >= TURNS as u64 / 2, "{links:?}");
    // The way of what took longest goes through the other process.
    let query = format!(
        "SELECT span_id FROM spans WHERE name = 'await' AND pid = {} ORDER BY duration_ns DESC LIMIT 1",
        truth.parent
    );
    let slow = rows(&session, &query)[0]["span_id"].as_str().unwrap().to_owned();
    let path = rows(&session, &format!("SELECT * FROM critical_path('{slow}') WHERE via = 'wake'"));
    assert!(!path.is_empty(), "{slow}");
}

#[test]
fn the_two_of_a_pair_of_sockets_wake_each_other() {
    check("pair", "socket:[");
}

#[test]
fn both_ends_of_a_connection_are_known() {
    let (session, truth) = check("tcp", "socket:[");
    let accepted = waits_in(&session, &truth, "await_connection");
    let [accepted] = &accepted[..] else { panic!("{accepted:#?}") };
    assert_eq!(accepted["waker_pid"], truth.child, "{accepted:#}");
    assert_eq!(
        (&accepted["wake_function"], &accepted["uncertain"]),
        (&"connect_late".into(), &"".into()),
        "{accepted:#}"
    );
}

#[test]
fn who_counts_an_eventfd_up_ends_the_wait_for_it() {
    check("eventfd", "eventfd:[");
}

#[test]
fn a_wait_by_poll_or_epoll_is_ended_by_who_writes() {
    check("poll", "pipe:[");
    let (_, truth, waits) = trace_waits("epoll");
    let (mut named, mut all) = (0, 0);
    let is_named = |wait: &&Value| wait["object"] == "anon_inode:[eventpoll]" && wait["waker_pid"].is_u64();
    for wait in waits.iter().filter(is_named) {
        let Some(&who) = truth.got.get(wait["turn"].as_u64().unwrap() as usize) else { continue };
        all += 1;
        if let Some(waker) = wait["waker_thread_id"].as_u64().filter(|_| wait["uncertain"] == "") {
            assert_eq!(waker, truth.writers[who], "{wait:#}");
            named += 1;
        }
    }
    assert!(all >= TURNS / 2 && named * 2 >= all, "{named} of {all}: {waits:#?}");
}

/// The queue of a socket is full, until a thread of the other process takes a connection from it.
#[test]
fn who_takes_a_connection_lets_the_next_one_in() {
    // What waits for TCP asks again after a second.
    for (how, rounds) in [("unix", "5"), ("tcp", "1")] {
        let (session, printed) = trace_numbers("wait_connect.c", &[how, rounds]);
        let [ids, waited] = &printed[..] else { panic!("{printed:?}") };
        let [parent, server, child] = ids[..] else { panic!("{ids:?}") };
        let waits = rows(
            &session,
            "SELECT * FROM waits WHERE kind = 'io' AND function = 'connect_waiting' AND state = 'ended' ORDER BY start_ns",
        );
        assert_eq!(waits.len() as u64, waited[0], "{how}: {waits:#?}");
        for wait in &waits {
            assert_eq!((&wait["pid"], &wait["uncertain"]), (&child.into(), &"".into()), "{how}: {wait:#}");
            let woken = (&wait["waker_pid"], &wait["waker_thread_id"], &wait["wake_function"]);
            assert_eq!(woken, (&parent.into(), &server.into(), &"make_room".into()), "{how}: {wait:#}");
            assert!(wait["object"].as_str().is_some_and(|it| it.starts_with("socket:[")), "{how}: {wait:#}");
            let why = session.json("ask", &["why-slow", wait["span_id"].as_str().unwrap()])["because"].to_string();
            let ended = format!(", which thread {server} of process {parent} ended in make_room");
            assert!(why.contains(&ended), "{how}: {why}");
        }
    }
}
