//! On or off the processor: threads of which the kernel's own clocks say how long they ran.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

/// Traces two threads that compete and one that sleeps. Gives how long each ran, as the kernel counts it.
fn trace(options: &[&str]) -> (TracedProgram, BTreeMap<u64, u64>) {
    let program = Program::new("wait_preempted.c").flags(&["-pthread"]);
    let (path, sessions) = (program.build(), tempfile::tempdir().unwrap());
    let mut command = run::command_that_signals_end();
    command.args(["trace", "--quiet", "--output"]).arg(sessions.path()).args(options).arg("--").arg(path);
    let output = run::bounded(command, b"");
    let number = |word: &str| word.parse().unwrap_or_else(|_| panic!("{word}"));
    let pair = |line: &str| line.split_once(' ').map(|(thread, took)| (number(thread), number(took)));
    let printed: BTreeMap<u64, u64> = run::text(&output.stdout).lines().filter_map(pair).collect();
    assert_eq!(printed.len(), 3);
    (TracedProgram::from_folder(sessions, "program"), printed)
}

fn rows(session: &TracedProgram, query: &str) -> Vec<Value> {
    session.json("query", &[query]).as_array().expect("a list").clone()
}

/// The states of each thread lie one behind the other, from the begin of its life to its end.
fn check_lives(session: &TracedProgram) {
    let threads = rows(session, "SELECT thread_id, start_ns, end_ns FROM threads");
    assert_eq!(threads.len(), 4);
    for thread in threads {
        let query = format!(
            "SELECT start_ns, end_ns, duration_ns, state FROM states WHERE thread_id = {} ORDER BY start_ns",
            thread["thread_id"]
        );
        let states = rows(session, &query);
        let number = |value: &Value| value.as_u64().expect("a number");
        assert_eq!(states[0]["start_ns"], thread["start_ns"], "{states:?}");
        assert_eq!(states.last().expect("there is one")["end_ns"], thread["end_ns"]);
        assert!(states.windows(2).all(|pair| pair[0]["end_ns"] == pair[1]["start_ns"]), "{states:?}");
        let sum: u64 = states.iter().map(|it| number(&it["duration_ns"])).sum();
        assert_eq!(sum, number(&thread["end_ns"]) - number(&thread["start_ns"]));
    }
}

/// What a thread was blocked in is known by its waits: one thread sleeps, and the first one waits for the others.
fn check_sleeper(session: &TracedProgram) {
    let query =
        "SELECT blocked_in, max(duration_ns) AS longest FROM states WHERE state = 'blocked' GROUP BY blocked_in";
    let kinds = rows(session, query);
    for kind in ["sleep", "join"] {
        let of_kind = kinds.iter().find(|it| it["blocked_in"] == kind).unwrap_or_else(|| panic!("{kind}: {kinds:?}"));
        assert!(of_kind["longest"].as_u64() >= Some(15_000_000), "{of_kind}");
    }
    let others = "SELECT count(*) AS n FROM states WHERE state <> 'blocked' AND blocked_in IS NOT NULL";
    assert_eq!(rows(session, others)[0]["n"], 0);
}

/// Where the kernel tells nothing, the calls that wait do.
fn check_by_calls(session: &TracedProgram) {
    let known_by = rows(session, "SELECT DISTINCT known_by FROM states");
    assert!(known_by.len() == 1 && known_by[0]["known_by"] == "calls", "{known_by:?}");
    let blocked = rows(session, "SELECT count(*) AS n FROM states WHERE state = 'blocked' AND duration_ns >= 20000000");
    assert!(blocked[0]["n"].as_u64() >= Some(1), "the one that sleeps");
    check_sleeper(session);
    let known = rows(session, "SELECT count(on_cpu_ns) + count(ready_ns) + count(blocked_ns) AS n FROM spans");
    assert_eq!(known[0]["n"], 0);
    assert!(session.text("threads", &[]).contains("when threads ran is not known: "));
    for command in ["threads", "top", "report", "tree"] {
        let output = session.ada(command, &["--sort", "ready"]);
        let said = run::text(&output.stderr);
        assert!(!output.status.success() && said.contains("when threads ran is not known: "), "{command}: {said}");
    }
}

/// Lists that are sorted by a state have the largest first, and the same times as the calls.
fn check_sorted(session: &TracedProgram) {
    let list = |command: &str, sort: &str, name: &str| {
        let own: &[&str] = if command == "threads" { &[] } else { &["--own"] };
        let json = session.json(command, &[&["--sort", sort], own].concat());
        json.pointer(name).unwrap_or_else(|| panic!("{json:#}")).as_array().expect("a list").clone()
    };
    for (sort, column) in [("on-cpu", "on_cpu_ns"), ("ready", "ready_ns"), ("blocked", "blocked_ns")] {
        let report = format!("/functions/by_{}", if sort == "on-cpu" { "running" } else { sort });
        let lists = [("threads", "/threads"), ("top", "/functions"), ("report", &report)];
        for (command, name) in lists {
            let times: Vec<u64> =
                list(command, sort, name).iter().map(|it| it[column].as_u64().expect("it is known")).collect();
            assert!(!times.is_empty() && times.is_sorted_by(|one, two| one >= two), "{command} {sort}: {times:?}");
        }
        let sums = format!(
            "SELECT name, sum({column}) AS time FROM spans
            WHERE type = 'frame' AND name IN ('compete', 'rest') GROUP BY name"
        );
        for sum in rows(session, &sums) {
            let of = |command: &str, name: &str| {
                let all = list(command, sort, name);
                all.iter().filter(|it| it["name"] == sum["name"]).map(|it| it[column].as_u64().unwrap()).sum::<u64>()
            };
            assert_eq!(of("tree", "/nodes"), sum["time"], "{sum}");
            // Of its own it calls only what asks for the time.
            let (own, all) = (of("top", "/functions"), sum["time"].as_u64().unwrap());
            assert!(own <= all && (sort != "blocked" || own >= all / 10 * 9), "{own}: {sum}");
        }
    }
    assert!(session.text("top", &["--sort", "blocked"]).contains("blocked"));
    assert!(session.text("tree", &["--sort", "on-cpu"]).contains("running"));
}

/// The one that had to wait for the processor most is told that.
fn check_why(session: &TracedProgram, calls: &[Value]) {
    let share =
        |call: &Value| 10 * call["ready_ns"].as_u64().unwrap_or(0) / call["duration_ns"].as_u64().unwrap_or(1).max(1);
    let call = calls.iter().max_by_key(|call| share(call)).expect("there are some");
    if share(call) >= 2 {
        let why = session.json("ask", &["why-slow", call["span_id"].as_str().unwrap()])["because"].to_string();
        assert!(why.contains("others had the processors"), "{why}");
    }
}

fn check_known(options: &[&str]) {
    let (session, printed) = trace(options);
    check_lives(&session);
    if session.text("threads", &[]).contains("when threads ran is not known: ") {
        return check_by_calls(&session);
    }
    let lost = rows(&session, "SELECT count(*) AS n FROM states WHERE state = 'unknown'");
    assert_eq!(lost[0]["n"], 0);
    let columns = "span_id, thread_id, name, duration_ns, on_cpu_ns, ready_ns, blocked_ns";
    let query = format!("SELECT {columns} FROM spans WHERE name IN ('compete', 'rest') AND type = 'frame'");
    let calls = rows(&session, &query);
    assert_eq!(calls.len(), 3);
    let mut waited_for_others = 0;
    for call in &calls {
        let number = |name: &str| call[name].as_u64().unwrap_or_else(|| panic!("{name}: {call}"));
        let (on_cpu, ready, blocked) = (number("on_cpu_ns"), number("ready_ns"), number("blocked_ns"));
        assert_eq!(on_cpu + ready + blocked, number("duration_ns"), "{call}");
        // A hypervisor may take a processor away that the kernel takes for its own: then it counts less.
        let took = printed[&number("thread_id")];
        assert!(on_cpu + took / 20 + 100_000 >= took, "{call}: {took}");
        match call["name"].as_str() {
            Some("rest") => assert!(blocked > 0 && on_cpu < number("duration_ns"), "{call}"),
            _ => waited_for_others += u64::from(ready > 0),
        }
    }
    assert!(waited_for_others >= 1, "one of them had to wait for the other: {calls:?}");
    check_why(&session, &calls);
    check_sleeper(&session);
    let running = rows(&session, "SELECT count(*) AS n FROM states WHERE state = 'running' AND cpu IS NULL");
    assert_eq!(running[0]["n"], 0);
    assert!(session.text("report", &[]).contains("% running"));
    check_sorted(&session);
}

#[test]
fn the_kernel_tells_when_threads_ran() {
    check_known(&[]);
}

#[test]
fn a_ring_has_the_states_of_its_threads_too() {
    check_known(&["--ring", "64M"]);
}

/// Two processes that wake each other thousands of times, and a ring that has room for some of it.
#[test]
fn what_a_ring_keeps_of_states_is_bounded_and_is_the_newest() {
    const RING: u64 = 8 << 20;
    let (program, sessions) = (Program::new("wait_io.c").flags(&["-pthread"]).build(), tempfile::tempdir().unwrap());
    let mut command = run::command_that_signals_end();
    command.args(["trace", "--quiet", "--ring", &RING.to_string(), "--output"]).arg(sessions.path());
    command.arg("--").arg(program).args(["pipe", "6000"]);
    run::bounded(command, b"");
    let session = TracedProgram::from_folder(sessions, "program");
    let folder = session.derived().parent().unwrap().parent().unwrap().to_owned();
    let files = std::fs::read_dir(folder).unwrap().flatten();
    let sizes: Vec<u64> =
        files.filter_map(|it| Some(std::fs::metadata(it.path().join("schedule.ats")).ok()?.len())).collect();
    if session.text("threads", &[]).contains("when threads ran is not known: ") {
        assert_eq!(sizes, [0; 0], "the kernel does not tell");
        return;
    }
    let sum: u64 = sizes.iter().sum();
    // What is read at a time comes to it.
    assert!(sizes.len() == 2 && sum > RING / 64 && sum <= RING / 16 + (16 << 10), "{sizes:?}");
    // The end of the parent's main thread is known.
    let last = rows(&session, "SELECT state, known_by FROM states ORDER BY end_ns DESC LIMIT 5");
    assert!(last.iter().any(|it| it["state"] != "unknown" && it["known_by"] == "kernel"), "{last:?}");
}

#[test]
fn what_is_not_asked_for_is_told_by_the_calls_that_wait() {
    let (session, _) = trace(&["--no-states"]);
    check_lives(&session);
    check_by_calls(&session);
}
