//! Waits for rings of the kernel's (`io_uring`): two processes, of which one says what it got, and from whom.

use serde_json::Value;

use crate::io_waits::rows;
use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

/// By liburing, and by system calls.
const WAYS: [(&str, &[&str]); 2] = [("liburing", &["-pthread", "-DLIBURING"]), ("by number", &["-pthread"])];
const TURNS: usize = 60;

/// What the program says of itself.
struct Truth {
    parent: u64,
    child: u64,
    writers: [u64; 2],
    /// Which of the two wrote what came, in order; 2 for both, 3 for nobody, as the time was up.
    got: Vec<usize>,
}

/// None where the kernel forbids rings.
fn trace(flags: &[&str], channel: &str) -> Option<(TracedProgram, Truth)> {
    let sessions = tempfile::tempdir().unwrap();
    let is_library = flags.contains(&"-DLIBURING");
    // The linker wants libraries behind what needs them.
    let library: &[&str] = if is_library { &["-Wl,--no-as-needed", "-luring"] } else { &[] };
    let program = Program::new("wait_rings.c").flags(flags).flags(library).build();
    let mut command = run::command_that_signals_end();
    command.args(["trace", "--quiet", "--output"]).arg(sessions.path()).arg("--").arg(program);
    command.args([channel, &TURNS.to_string()]);
    let output = run::bounded(command, b"");
    let printed = run::text(&output.stdout);
    if printed.trim() == "forbidden" {
        eprintln!("the kernel forbids io_uring here");
        return None;
    }
    let numbers = |line: &str| line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let lines: Vec<Vec<u64>> = printed.lines().map(numbers).collect();
    let [ids, got] = &lines[..] else { panic!("{printed}") };
    let truth = Truth {
        parent: ids[0],
        child: ids[1],
        writers: [ids[2], ids[3]],
        got: got.iter().map(|who| *who as usize).collect(),
    };
    Some((TracedProgram::from_folder(sessions, "program"), truth))
}

/// The waits in a function of the parent's, each with the number of the call that it was in.
fn waits_in(session: &TracedProgram, truth: &Truth, function: &str) -> Vec<Value> {
    let query = format!(
        "WITH calls AS (SELECT start_ns, end_ns, row_number() OVER (ORDER BY start_ns) - 1 AS turn
            FROM spans WHERE type = 'frame' AND name = '{function}' AND pid = {0})
        SELECT waits.*, turn FROM waits JOIN calls ON waits.start_ns BETWEEN calls.start_ns AND calls.end_ns
            WHERE waits.pid = {0} AND waits.kind = 'io' AND waits.state = 'ended' ORDER BY waits.start_ns",
        truth.parent
    );
    rows(session, &query)
}

fn is_certain(wait: &Value) -> bool {
    wait["uncertain"] == ""
}

/// Holds each wait against what came of it. What is named as certain has to be right. How many are depends on how often calls of the two
/// that write overlap, and so on what else the machine has to do: a busy one is given some more tries.
fn check(flags: &[&str], channel: &str, object: &str) -> Option<(TracedProgram, Truth)> {
    const TRIES: usize = 5;
    let mut counts = Vec::new();
    for _ in 0..TRIES {
        let (session, truth) = trace(flags, channel)?;
        let waits = waits_in(&session, &truth, "await");
        let (mut named, mut timed) = (0, 0);
        for wait in waits.iter().filter(|wait| is_certain(wait)) {
            let who = truth.got.get(wait["turn"].as_u64().unwrap() as usize).copied();
            let waker = wait["waker_thread_id"].as_u64();
            if who == Some(3) {
                assert_eq!(waker, None, "{flags:?}, {channel}: {wait:#}");
                timed += 1;
            }
            let Some(waker) = waker else { continue };
            assert!(wait["object"].as_str().is_some_and(|it| it.starts_with(object)), "{channel}: {wait:#}");
            assert_eq!(wait["waker_pid"], truth.child, "{channel}: {wait:#}");
            let Some(who) = who else {
                // The end of what comes, by whoever closed the other end last.
                assert_eq!(wait["wake_function"], "close_late", "{channel}: {wait:#}");
                continue;
            };
            assert!(who == 2 || waker == truth.writers[who], "{channel}, {:?}: {wait:#}", truth.writers);
            assert_eq!(wait["wake_function"], "give", "{channel}: {wait:#}");
            named += 1;
        }
        let all = waits.iter().filter(|wait| wait["waker_pid"].is_u64() || !is_certain(wait)).count();
        if named >= TURNS / 3 && named * 2 >= all && (timed > 0 || channel != "timed") {
            return Some((session, truth));
        }
        counts.push((named, timed, all, waits.len()));
    }
    panic!("{flags:?}, {channel}: {counts:?}");
}

#[test]
fn who_ends_what_a_ring_was_asked_for_ends_the_wait_for_it() {
    let objects = [("pipe", "pipe:["), ("pair", "socket:["), ("eventfd", "eventfd:["), ("poll", "pipe:[")];
    for ((_, flags), (channel, object)) in WAYS.into_iter().flat_map(|way| objects.map(|it| (way, it))) {
        check(flags, channel, object);
    }
}

#[test]
fn a_ring_that_waits_for_several_is_woken_by_the_one_whose_turn_it_was() {
    for (_, flags) in WAYS {
        for channel in ["several", "both", "timed"] {
            check(flags, channel, "pipe:[");
        }
    }
}

#[test]
fn what_a_ring_writes_ends_the_wait_of_who_reads() {
    for (_, flags) in WAYS {
        check(flags, "written", "pipe:[");
    }
}

#[test]
fn a_ring_takes_connections_and_knows_their_other_ends() {
    for (_, flags) in WAYS {
        let Some((session, truth)) = check(flags, "tcp", "socket:[") else { return };
        let accepted = waits_in(&session, &truth, "await_connection");
        let [accepted] = &accepted[..] else { panic!("{accepted:#?}") };
        let waker = (&accepted["waker_pid"], &accepted["wake_function"], &accepted["uncertain"]);
        assert_eq!(waker, (&truth.child.into(), &"connect_late".into(), &"".into()), "{accepted:#}");
    }
}

/// The second read begins when the first one is done, and may find that all has come long before.
#[test]
fn what_begins_only_after_another_is_not_known() {
    for (way, flags) in WAYS {
        let Some((session, truth)) = trace(flags, "linked") else { return };
        let waits = waits_in(&session, &truth, "await");
        assert!(!waits.is_empty(), "{way}");
        for wait in &waits {
            assert!(wait["waker_pid"].is_null(), "{way}: {wait:#}");
        }
        assert!(waits.iter().any(|wait| wait["uncertain"] == "unread_ring"), "{way}: {waits:#?}");
    }
}
