//! Who waits for whom: programs that say themselves who held what, and who woke whom.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

/// Traces a program. Gives the session, and the words of each line that the program printed.
pub(crate) fn trace(program: &Program, arguments: &[&str]) -> (TracedProgram, Vec<Vec<String>>) {
    trace_file(&program.build(), arguments, None)
}

/// The same of a file, and with libraries of one's own.
fn trace_file(path: &Path, arguments: &[&str], libraries: Option<&Path>) -> (TracedProgram, Vec<Vec<String>>) {
    let sessions = tempfile::tempdir().unwrap();
    let mut command = run::command_that_signals_end();
    command.envs(libraries.map(|folder| ("LD_LIBRARY_PATH", folder)));
    command.args(["trace", "--quiet", "--output"]).arg(sessions.path()).arg("--").arg(path).args(arguments);
    let output = run::bounded(command, b"");
    let lines = run::text(&output.stdout).lines();
    let printed = lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect();
    (TracedProgram::from_folder(sessions, "program"), printed)
}

pub(crate) fn threaded(source: &'static str) -> Program {
    Program::new(source).flags(&["-pthread"])
}

pub(crate) fn rows(session: &TracedProgram, query: &str) -> Vec<Value> {
    session.json("query", &[query]).as_array().expect("a list").clone()
}

pub(crate) fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text}"))
}

/// Threads in a circle, by what each has printed: its id, what it holds, and what it wants.
fn check_circle(program: &Program, count: usize, libraries: Option<&Path>) {
    let (session, printed) = trace_file(&program.build(), &[&count.to_string()], libraries);
    assert_eq!(printed.len(), count);
    let findings = session.json("ask", &["findings", "--limit", "50"]);
    let findings = findings["findings"].as_array().unwrap();
    let deadlocks: Vec<&Value> = findings.iter().filter(|it| it["kind"] == "deadlock").collect();
    let [deadlock] = deadlocks[..] else { panic!("{findings:#?}") };
    let waits = deadlock["facts"]["waits"].as_array().unwrap();
    assert_eq!(waits.len(), count, "{deadlock:#}");
    for line in &printed {
        let of_thread = |wait: &&Value| wait["thread_id"] == number(&line[0]);
        let wait = waits.iter().find(of_thread).unwrap_or_else(|| panic!("{line:?}: {deadlock:#}"));
        assert_eq!(wait["object"], line[2].as_str(), "{line:?}");
        let holder = printed.iter().find(|other| other[1] == line[2]).expect("somebody holds it");
        assert_eq!(wait["holder_thread_id"], number(&holder[0]), "{line:?}");
        assert_eq!((&wait["function"], &wait["hold_function"]), (&"take_next".into(), &"take_first".into()));
        assert_eq!((&wait["state"], &wait["uncertain"]), (&"open".into(), &Value::Array(Vec::new())));
        let rationale = deadlock["rationale"].as_str().unwrap();
        for word in [format!("thread {} holds mutex {}", line[0], line[1]), format!("waits for mutex {}", line[2])] {
            assert!(rationale.contains(&word), "{word}: {rationale}");
        }
    }
    assert!(session.text("report", &["--wide"]).contains("deadlock (certain)"));
    let graph = session.json("waits", &[])["graph"]["deadlocks"].clone();
    assert_eq!(graph[0]["thread_ids"].as_array().map(Vec::len), Some(count), "{graph:#}");
    // Nobody waited when it began.
    assert_eq!(session.json("waits", &["--at", "0ns"])["graph"]["deadlocks"], Value::Array(Vec::new()));
}

#[test]
fn deadlocks_of_one_two_and_three_are_named_in_full() {
    [1, 2, 3].into_iter().for_each(|count| check_circle(&threaded("wait_circle.c"), count, None));
}

/// Nothing but the call that takes them shows that these are waited for.
#[test]
fn deadlocks_of_robust_mutexes_are_named_in_full() {
    [1, 2].into_iter().for_each(|count| check_circle(&threaded("wait_circle.c").flags(&["-DROBUST"]), count, None));
}

/// Most machines have no names for the functions of the C library that wait.
#[test]
fn a_c_library_without_names_is_enough() {
    const NOTE: &[u8] = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";
    let folder = tempfile::tempdir().unwrap();
    let mut library = std::fs::read("/lib/x86_64-linux-gnu/libc.so.6").unwrap();
    let note = library.windows(NOTE.len()).position(|bytes| bytes == NOTE).expect("it has a build-id");
    // No debug file has this one.
    library[note + NOTE.len()] ^= 0xff;
    std::fs::write(folder.path().join("libc.so.6"), library).unwrap();
    check_circle(&threaded("wait_circle.c"), 2, Some(folder.path()));
    // By what has names on any machine.
    check_circle(&threaded("wait_circle.c").flags(&["-DROBUST"]), 2, Some(folder.path()));
}

#[test]
fn a_wait_that_nobody_can_end_is_a_lost_wakeup() {
    let (session, printed) = trace(&threaded("wait_lost_wakeup.c"), &[]);
    let findings = session.json("ask", &["findings", "--limit", "50"]);
    let found = findings["findings"].as_array().unwrap().iter().find(|it| it["kind"] == "lost_wakeup");
    let facts = &found.unwrap_or_else(|| panic!("{findings:#}"))["facts"];
    assert_eq!(facts["thread_id"], number(&printed[0][0]), "{facts:#}");
    assert_eq!((&facts["object"], &facts["function"]), (&printed[0][1].as_str().into(), &"await_announcement".into()));
}

/// Waits of programs that count turns: `ID TURN NUMBER ASKED` is a turn of a thread, its number among all, and how many had begun when it
/// asked. Whoever had the lock while it waited had one of those in between.
pub(crate) struct Turns {
    pub(crate) waits: usize,
    /// Waits whose holder is known.
    pub(crate) holders: usize,
    /// Waits whose waker is known.
    pub(crate) wakers: usize,
    /// The last waits of turns whose waker is known, and those of which it is the last one that had the lock.
    pub(crate) ends: usize,
    pub(crate) last_wakers: usize,
}

/// Holds each wait against what the program says. What is named has to be right.
pub(crate) fn check_turns(session: &TracedProgram, printed: &[Vec<String>], turns: usize) -> Turns {
    assert_eq!(printed.len(), turns);
    let had: BTreeMap<u64, u64> = printed.iter().map(|line| (number(&line[2]), number(&line[0]))).collect();
    let truth: BTreeMap<(u64, u64), (u64, u64)> = printed
        .iter()
        .map(|line| ((number(&line[0]), number(&line[1])), (number(&line[2]), number(&line[3]))))
        .collect();
    let waits = rows(session, &waits_in("name = 'take_turn' OR name LIKE '%::take_turn'"));
    let mut counts = Turns { waits: waits.len(), holders: 0, wakers: 0, ends: 0, last_wakers: 0 };
    let turn_of = |wait: &Value| (wait["thread_id"].as_u64().unwrap(), wait["turn"].as_u64().unwrap());
    // Who was woken and finds that another one was faster waits again.
    let last: BTreeMap<(u64, u64), &Value> = waits.iter().map(|wait| (turn_of(wait), &wait["start_ns"])).collect();
    for wait in &waits {
        let turn = turn_of(wait);
        let (own, asked) = truth[&turn];
        let had_it: Vec<u64> = had.range(asked.saturating_sub(1)..own).map(|(_, thread)| *thread).collect();
        if let Some(holder) = wait["holder_thread_id"].as_u64() {
            assert!(had_it.contains(&holder), "{had_it:?}: {wait}");
            counts.holders += 1;
        }
        if let Some(waker) = wait["waker_thread_id"].as_u64() {
            assert!(had_it.contains(&waker), "{had_it:?}: {wait}");
            counts.wakers += 1;
            let is_end = last[&turn] == &wait["start_ns"];
            counts.ends += usize::from(is_end);
            counts.last_wakers += usize::from(is_end && had_it.last() == Some(&waker));
        }
    }
    counts
}

/// The waits in calls of a function, each with the call's number among the thread's.
fn waits_in(which: &str) -> String {
    TURNS.replace("{which}", which)
}

const TURNS: &str = "
    WITH turns AS (SELECT thread_id, start_ns, end_ns,
            row_number() OVER (PARTITION BY thread_id ORDER BY start_ns) - 1 AS turn
        FROM spans WHERE type = 'frame' AND ({which}))
    SELECT waits.*, turn FROM waits JOIN turns ON turns.thread_id = waits.thread_id
        AND waits.start_ns BETWEEN turns.start_ns AND turns.end_ns
        WHERE waits.kind IN ('mutex', 'futex', 'spin') AND waits.state = 'ended' ORDER BY waits.start_ns";

#[test]
fn a_convoys_holders_and_wakers_are_known() {
    let (session, printed) = trace(&threaded("wait_convoy.c"), &["4", "50", "200", "together"]);
    let Turns { waits, holders, wakers, ends, last_wakers } = check_turns(&session, &printed, 200);
    assert!(waits >= 50 && holders * 10 >= waits * 9, "{holders} of {waits}");
    assert!(wakers * 10 >= waits * 9 && last_wakers * 10 >= ends * 9, "{last_wakers} of {ends}, {wakers} of {waits}");
    let slow = rows(
        &session,
        "SELECT span_id FROM waits WHERE kind = 'mutex' AND hold_function = 'take_turn' ORDER BY duration_ns DESC LIMIT 1",
    );
    let why = session.json("ask", &["why-slow", slow[0]["span_id"].as_str().unwrap()]);
    let because = why["because"].as_array().unwrap();
    assert!(because.iter().any(|it| it.as_str().unwrap().contains("(taken in take_turn)")), "{because:?}");
    let objects = session.json("waits", &["--kind", "mutex"]);
    assert_eq!(objects["waits"][0]["held_in"], "take_turn", "{objects:#}");
    check_moments(&session);
    let findings = session.json("ask", &["findings", "--limit", "50"]);
    let findings = findings["findings"].as_array().unwrap();
    let is_false = |it: &Value| ["deadlock", "lost_wakeup", "lock_inversion"].iter().any(|kind| it["kind"] == *kind);
    assert!(!findings.iter().any(is_false), "{findings:#?}");
    // On a loaded machine they may also stand in line to print.
    let is_asleep = |it: &Value| it["kind"] == "lock_held_asleep" && it["function"] == "take_turn";
    assert!(findings.iter().any(is_asleep), "{findings:#?}");
}

/// Looks at moments in the middle of the longest waits: others have had the lock since these began, and no thread holds what it waits for.
fn check_moments(session: &TracedProgram) {
    let longest = "SELECT (start_ns + end_ns) / 2 - (SELECT min(start_ns) FROM spans) AS at FROM waits
        WHERE kind = 'mutex' AND function = 'take_turn' ORDER BY duration_ns DESC LIMIT 10";
    let mut named = 0;
    for moment in rows(session, longest) {
        let graph = session.json("waits", &["--at", &format!("{}ns", moment["at"])])["graph"].clone();
        let waits = graph["waits"].as_array().unwrap();
        let in_line: Vec<&Value> =
            waits.iter().filter(|it| it["kind"] == "mutex" && it["function"] == "take_turn").collect();
        let is_certain = |wait: &Value| !wait["uncertain"].as_array().unwrap().contains(&"may_be_released".into());
        let certain = in_line.iter().filter(|it| is_certain(it));
        let holders: BTreeSet<u64> = certain.filter_map(|it| it["holder_thread_id"].as_u64()).collect();
        let waiters: BTreeSet<u64> = in_line.iter().filter_map(|it| it["thread_id"].as_u64()).collect();
        assert!(holders.len() <= 1 && holders.is_disjoint(&waiters), "{graph:#}");
        named += holders.len();
    }
    assert!(named > 0);
}

/// Somebody reads a lock that a writer waits for; where only one thread reads anything, it is that one. Where several do, or one has let go of the lock,
/// it is not certain who still has it.
#[test]
fn a_deadlock_by_a_lock_that_is_read_is_named_where_it_is_certain() {
    for (way, is_certain) in [("circle", true), ("upgrade", true), ("other", false), ("gone", false)] {
        let (session, printed) = trace(&threaded("wait_read_circle.c"), &[way]);
        let [writer, reader] = [0, 1].map(|at| number(&printed[0][at]));
        let wait = "SELECT * FROM waits WHERE kind = 'rwlock' AND state = 'open'";
        let [wait] = &rows(&session, wait)[..] else { panic!("{way}") };
        assert_eq!((&wait["thread_id"], &wait["object"]), (&writer.into(), &printed[0][2].as_str().into()), "{way}");
        let deadlocks = session.json("waits", &[])["graph"]["deadlocks"].clone();
        if !is_certain {
            assert_eq!((&wait["holder_thread_id"], &deadlocks), (&Value::Null, &Value::Array(Vec::new())), "{way}");
            continue;
        }
        let holder = (&wait["holder_thread_id"], &wait["reader_thread_ids"], &wait["uncertain"]);
        assert_eq!(holder, (&reader.into(), &reader.to_string().into(), &"".into()), "{way}: {wait}");
        let of_circle = deadlocks[0]["thread_ids"].as_array().unwrap_or_else(|| panic!("{way}: {deadlocks:#}"));
        let of_circle: BTreeSet<u64> = of_circle.iter().filter_map(Value::as_u64).collect();
        assert_eq!(of_circle, BTreeSet::from([writer, reader]), "{way}");
    }
}

/// Three wait while the first one sleeps with the lock, two while the second one does, and one while the third one does.
fn check_asleep(how: &str, slept_in: &[&str]) {
    const EACH: u64 = 2_000_000;
    let (session, printed) = trace(&threaded("wait_asleep.c"), &[how]);
    let (lock, order) = (printed[0][0].as_str(), printed[0][1..].iter().map(|id| number(id)).collect::<Vec<u64>>());
    let findings = session.json("ask", &["findings", "--limit", "50"]);
    let findings = findings["findings"].as_array().unwrap();
    let asleep: Vec<&Value> = findings.iter().filter(|it| it["kind"] == "lock_held_asleep").collect();
    let [asleep] = asleep[..] else { panic!("{findings:#?}") };
    let facts = &asleep["facts"];
    assert_eq!(asleep["function"], "work_with_lock", "{asleep:#}");
    assert!(slept_in.iter().any(|name| facts["slept_in"] == *name), "{asleep:#}");
    assert_eq!((&facts["slept_from"], &facts["objects"]), (&"rest".into(), &vec![lock].into()), "{asleep:#}");
    assert_eq!((&facts["sleeps"], &facts["most_waiters_at_once"]), (&3.into(), &3.into()), "{asleep:#}");
    assert!(facts["total_ns"].as_u64().unwrap() >= EACH * (3 + 2 + 1), "{asleep:#}");
    let sorted = |ids: &[u64]| ids.iter().copied().collect::<BTreeSet<u64>>();
    let listed = |name: &str| facts[name].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
    let (holders, waiters): (BTreeSet<u64>, BTreeSet<u64>) = (listed("holder_thread_ids"), listed("waiter_thread_ids"));
    assert_eq!((holders, waiters), (sorted(&order[..3]), sorted(&order[1..])), "{asleep:#}");
    // Each had it for as long as it slept, in the order that it has printed.
    let holds = rows(&session, &format!("SELECT * FROM holds WHERE object = '{lock}' ORDER BY start_ns"));
    let by: Vec<u64> = holds.iter().map(|hold| hold["thread_id"].as_u64().unwrap()).collect();
    assert_eq!(by, order, "{holds:#?}");
    assert!(holds.iter().all(|hold| hold["duration_ns"].as_u64().unwrap() >= EACH), "{holds:#?}");
    assert!(holds.windows(2).all(|two| two[0]["end_ns"].as_u64() <= two[1]["start_ns"].as_u64()), "{holds:#?}");
}

#[test]
fn a_lock_held_across_a_sleep_is_named_with_its_holders() {
    check_asleep("sleep", &["usleep"]);
}

#[test]
fn a_lock_held_while_waiting_for_input_is_named_with_its_holders() {
    check_asleep("poll", &["poll", "__poll"]);
}

/// The orders of the one finding, if there is one: thread, first lock and second.
fn inversion(how: &str) -> (Option<BTreeSet<[String; 3]>>, BTreeSet<[String; 3]>) {
    let (session, printed) = trace(&threaded("wait_inversion.c"), &[how]);
    let truth = printed.iter().map(|line| [0, 1, 2].map(|at| line[at].clone())).collect();
    let findings = session.json("ask", &["findings", "--limit", "50"]);
    let findings = findings["findings"].as_array().unwrap();
    assert!(findings.iter().all(|it| it["kind"] != "deadlock"), "{findings:#?}");
    let found: Vec<&Value> = findings.iter().filter(|it| it["kind"] == "lock_inversion").collect();
    assert!(found.len() < 2, "{found:#?}");
    let order = |it: &Value| {
        assert_eq!((&it["first_function"], &it["second_function"]), (&"take_first".into(), &"take_second".into()));
        [it["thread_id"].to_string(), it["first"].as_str().unwrap().into(), it["second"].as_str().unwrap().into()]
    };
    let orders = found.first().map(|it| it["facts"]["orders"].as_array().unwrap().iter().map(order).collect());
    (orders, truth)
}

#[test]
fn locks_that_are_taken_in_both_orders_are_named() {
    let (found, truth) = inversion("both");
    assert_eq!(found, Some(truth));
}

#[test]
fn one_order_is_no_inversion_and_neither_are_two_behind_a_gate() {
    for how in ["same", "gate"] {
        assert_eq!(inversion(how).0, None, "{how}");
    }
}

#[test]
fn signals_are_known_by_who_made_them() {
    let (session, printed) = trace(&threaded("wait_ping_pong.c"), &["100"]);
    for line in &printed {
        let [own, other, waits] = [0, 1, 2].map(|at| number(&line[at]));
        let query = format!("SELECT * FROM waits WHERE kind = 'condition' AND thread_id = {own}");
        let found = rows(&session, &query);
        assert_eq!(found.len() as u64, waits);
        for wait in &found {
            assert_eq!(
                (&wait["waker_thread_id"], &wait["wake_function"]),
                (&other.into(), &"hand_over".into()),
                "{wait}"
            );
            assert_eq!((&wait["uncertain"], &wait["function"]), (&"".into(), &"wait_for_ball".into()), "{wait}");
        }
    }
}

#[test]
fn a_semaphores_waits_are_ended_by_the_stage_before() {
    let (session, printed) = trace(&threaded("wait_pipeline.c"), &[]);
    let before: BTreeMap<u64, u64> = printed.iter().map(|line| (number(&line[0]), number(&line[1]))).collect();
    let found = rows(&session, "SELECT * FROM waits WHERE kind = 'semaphore'");
    assert!(found.len() > 20, "{found:#?}");
    for wait in &found {
        let thread = wait["thread_id"].as_u64().unwrap();
        assert_eq!(
            (&wait["waker_thread_id"], &wait["wake_function"]),
            (&before[&thread].into(), &"give".into()),
            "{wait}"
        );
    }
}

#[test]
fn readers_know_the_writer_that_they_wait_for() {
    let (session, printed) = trace(&threaded("wait_readers.c"), &[]);
    let (writer, lock) = (number(&printed[0][0]), printed[0][1].as_str());
    let found = rows(&session, "SELECT * FROM waits WHERE kind = 'rwlock' AND function = 'look'");
    assert!(found.len() > 10, "{found:#?}");
    assert!(found.iter().all(|wait| wait["object"] == lock), "{lock}: {found:#?}");
    // The owner field is empty while the lock goes from one to the other. Others that read may have let go before the one that waits goes on.
    for who in ["holder_thread_id", "waker_thread_id"] {
        let known: Vec<&Value> = found.iter().filter(|wait| !wait[who].is_null()).collect();
        assert!(known.len() * 10 >= found.len() * 9, "{who}: {found:#?}");
        assert!(known.iter().all(|wait| wait[who] == writer), "{who} {writer}: {found:#?}");
    }
}

/// The writer waits for all readers, and the last one to let go ends its wait.
#[test]
fn a_writer_knows_the_readers_that_it_waits_for() {
    let (session, printed) = trace(&threaded("wait_writers.c"), &[]);
    let found = rows(
        &session,
        "SELECT * FROM waits WHERE kind = 'rwlock' AND function = 'write_all' AND duration_ns > 1000000 ORDER BY start_ns",
    );
    assert_eq!(found.len(), printed.len(), "{found:#?}");
    let mut known = 0;
    for (wait, line) in found.iter().zip(&printed) {
        let [writer, had_all] = [1, 2].map(|at| number(&line[at]));
        let readers: Vec<u64> = line[3..].iter().map(|id| number(id)).collect();
        assert_eq!(
            (&wait["object"], &wait["thread_id"]),
            (&line[0].as_str().into(), &writer.into()),
            "{line:?}: {wait}"
        );
        if had_all == 0 {
            // The machine was busy: somebody had let go before it asked.
            continue;
        }
        let last = readers[readers.len() - 1];
        assert_eq!(wait["holder_thread_id"], last, "{line:?}: {wait}");
        assert_eq!(
            (&wait["hold_function"], &wait["uncertain"]),
            (&"read_slowly".into(), &"".into()),
            "{line:?}: {wait}"
        );
        assert_eq!((&wait["waker_thread_id"], &wait["wake_function"]), (&last.into(), &"read_slowly".into()), "{wait}");
        let named = wait["reader_thread_ids"].as_str().unwrap_or_default().split(", ").map(number);
        let (named, truth): (BTreeSet<u64>, BTreeSet<u64>) = (named.collect(), readers.iter().copied().collect());
        assert_eq!(named, truth, "{line:?}: {wait}");
        known += 1;
    }
    assert!(known * 2 > printed.len(), "{known}: {printed:?}");
    let holders = session.text("waits", &["--by", "holder", "--kind", "rwlock"]);
    assert!(holders.contains("in read_slowly"), "{holders}");
    let modes = rows(&session, "SELECT DISTINCT mode FROM holds WHERE kind = 'rwlock' AND function = 'read_slowly'");
    assert_eq!(modes.len(), 1, "{modes:?}");
    assert_eq!(modes[0]["mode"], "read");
}

/// Mutexes of Rust, which are futexes and have no owner.
fn check_futexes(session: &TracedProgram, printed: &[Vec<String>], turns: usize) {
    let Turns { waits, holders, wakers, ends, last_wakers } = check_turns(session, printed, turns);
    assert!(waits > 5 && holders == 0, "{holders} of {waits}");
    assert!(wakers * 10 >= waits * 8 && last_wakers * 10 >= ends * 8, "{last_wakers} of {ends}, {wakers} of {waits}");
}

#[test]
fn a_mutex_of_rust_is_a_futex_whose_waker_is_known() {
    let (session, printed) = trace(&Program::new("wait_mutex.rs"), &[]);
    check_futexes(&session, &printed, 120);
}

/// Its threads each wait on a word of their own, which is not the mutex.
#[test]
fn a_mutex_of_parking_lot_is_a_futex_whose_waker_is_known() {
    let folder =
        Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../tests/parking_lot");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parking_lot");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "--target-dir"]).arg(&target).current_dir(folder);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (session, printed) = trace_file(&target.join("debug/parking_lot_turns"), &[], None);
    check_futexes(&session, &printed, 60);
}

/// Each side waits for the other one, and is woken by it. There is nobody else.
#[test]
fn a_server_and_its_client_wait_for_input() {
    let (session, printed) = trace(&Program::new("wait_epoll.c"), &[]);
    let [server, client, questions] = [0, 1, 2].map(|at| number(&printed[0][at]));
    assert_eq!(questions, 20);
    let waits = |process: u64, function: &str| {
        let filter = format!("pid = {process} AND function = '{function}' AND kind = 'io' AND state = 'ended'");
        rows(&session, &format!("SELECT * FROM waits WHERE {filter} ORDER BY duration_ns DESC"))
    };
    let (requests, answers) = (waits(server, "await_request"), waits(client, "await_answer"));
    // The client rests before each question, and the server may come late: the more it does, the less it waits.
    assert!(requests.len() >= 5 && requests.len() <= 21, "{requests:#?}");
    assert!(requests[0]["duration_ns"].as_u64() >= Some(500_000), "{requests:#?}");
    assert!(answers.len() <= 20, "{answers:#?}");
    for (waits, other) in [(&requests, client), (&answers, server)] {
        let is_named = |wait: &&Value| wait["waker_pid"].is_u64();
        assert!(waits.iter().filter(is_named).all(|wait| wait["waker_pid"] == other), "{waits:#?}");
        assert!(waits.iter().all(|wait| wait["holder_thread_id"].is_null()), "{waits:#?}");
        // What had come before a call began, nobody had to be waited for.
        let is_known = |wait: &&Value| wait["uncertain"] == "";
        assert!(waits.iter().filter(is_known).count() * 10 >= waits.len() * 9, "{waits:#?}");
    }
    assert!(requests.iter().filter(|wait| wait["waker_pid"] == client).count() >= 5, "{requests:#?}");
}

#[test]
fn a_wait_for_a_ring_of_the_kernels_is_one_for_input() {
    let (session, printed) = trace(&Program::new("wait_io_uring.c"), &[]);
    if printed[0][0] == "forbidden" {
        return eprintln!("the kernel forbids io_uring here");
    }
    let found = rows(&session, "SELECT * FROM waits WHERE function = 'await_completion'");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((&found[0]["kind"], &found[0]["thread_id"]), (&"io".into(), &number(&printed[0][0]).into()));
    assert!(found[0]["duration_ns"].as_u64().unwrap() >= 5_000_000, "{found:#?}");
    // It was asked for time to pass, and so nobody can be named, for certain.
    assert_eq!((&found[0]["uncertain"], &found[0]["waker_pid"]), (&"".into(), &Value::Null), "{found:#?}");
    assert_eq!(
        (&found[0]["object"], &found[0]["descriptor"]),
        (&"anon_inode:[io_uring]".into(), &number(&printed[0][1]).into())
    );
}

#[test]
fn a_latchs_last_arrival_ends_the_wait() {
    for way in ["latch", "barrier", "semaphore"] {
        let program = Program::new("wait_latch.cpp").flags(&["-std=c++20", "-pthread"]);
        let (session, printed) = trace(&program, &[way, "20"]);
        let numbers = |line: &Vec<String>| [0, 1, 2].map(|at| number(&line[at]));
        let truth: BTreeMap<(u64, u64), u64> =
            printed.iter().map(numbers).map(|[thread, turn, last]| ((thread, turn), last)).collect();
        let found = rows(&session, &waits_in("name LIKE '%await_all%'"));
        let mut named = 0;
        for wait in found.iter().filter(|wait| wait["waker_thread_id"].is_u64()) {
            let turn = (wait["thread_id"].as_u64().unwrap(), wait["turn"].as_u64().unwrap());
            assert_eq!(wait["waker_thread_id"], truth[&turn], "{way}: {wait:#}");
            named += 1;
        }
        assert!(named >= 15, "{way}: {found:#?}");
    }
}

/// What a call waited for is what the one who ended its wait did meanwhile.
#[test]
fn the_critical_path_goes_through_whoever_ended_a_wait() {
    let (session, _) = trace(&threaded("wait_convoy.c"), &["2", "60", "1000", "together"]);
    let query = "SELECT spans.parent_span_id AS call, waker_thread_id AS waker, waits.duration_ns AS waited FROM waits
        JOIN spans ON spans.span_id = waits.span_id WHERE kind = 'mutex' AND function = 'take_turn' AND wake_ns <= waits.end_ns
        ORDER BY waits.duration_ns DESC LIMIT 1";
    let wait = rows(&session, query).pop().expect("they stand in line");
    let of_call = format!("'{}'", wait["call"].as_str().unwrap());
    let steps = rows(&session, &format!("SELECT via, thread_id, own_ns FROM critical_path({of_call}) ORDER BY step"));
    let own: u64 = steps.iter().filter_map(|step| step["own_ns"].as_u64()).sum();
    let whole = rows(&session, &format!("SELECT duration_ns FROM spans WHERE span_id = {of_call}"));
    assert_eq!(whole[0]["duration_ns"], own, "{steps:?}");
    let by_waker = steps.iter().find(|step| step["via"] == "wake").unwrap_or_else(|| panic!("{wait}: {steps:?}"));
    assert_eq!(by_waker["thread_id"], wait["waker"]);
}
