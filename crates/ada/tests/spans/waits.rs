//! Who waits for whom: programs that say themselves who held what, and who woke whom.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

/// Traces a program. Gives the session, and the words of each line that the program printed.
fn trace(program: &Program, arguments: &[&str]) -> (TracedProgram, Vec<Vec<String>>) {
    trace_with_libraries(program, arguments, None)
}

/// The same with libraries of one's own.
fn trace_with_libraries(
    program: &Program,
    arguments: &[&str],
    libraries: Option<&Path>,
) -> (TracedProgram, Vec<Vec<String>>) {
    let (path, sessions) = (program.build(), tempfile::tempdir().unwrap());
    let mut command = run::command_that_signals_end();
    command.envs(libraries.map(|folder| ("LD_LIBRARY_PATH", folder)));
    command.args(["trace", "--quiet", "--output"]).arg(sessions.path()).arg("--").arg(path).args(arguments);
    let output = run::bounded(command, b"");
    let lines = run::text(&output.stdout).lines();
    let printed = lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect();
    (TracedProgram::from_folder(sessions, "program"), printed)
}

fn threaded(source: &'static str) -> Program {
    Program::new(source).flags(&["-pthread"])
}

fn rows(session: &TracedProgram, query: &str) -> Vec<Value> {
    session.json("query", &[query]).as_array().expect("a list").clone()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text}"))
}

/// Threads in a circle, by what each has printed: its id, what it holds, and what it wants.
fn check_circle(count: usize, libraries: Option<&Path>) {
    let (session, printed) = trace_with_libraries(&threaded("wait_circle.c"), &[&count.to_string()], libraries);
    assert_eq!(printed.len(), count);
    let findings = session.json("ask", &["findings"]);
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
    [1, 2, 3].into_iter().for_each(|count| check_circle(count, None));
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
    check_circle(2, Some(folder.path()));
}

#[test]
fn a_wait_that_nobody_can_end_is_a_lost_wakeup() {
    let (session, printed) = trace(&threaded("wait_lost_wakeup.c"), &[]);
    let findings = session.json("ask", &["findings"]);
    let found = findings["findings"].as_array().unwrap().iter().find(|it| it["kind"] == "lost_wakeup");
    let facts = &found.unwrap_or_else(|| panic!("{findings:#}"))["facts"];
    assert_eq!(facts["thread_id"], number(&printed[0][0]), "{facts:#}");
    assert_eq!((&facts["object"], &facts["function"]), (&printed[0][1].as_str().into(), &"await_announcement".into()));
}

#[test]
fn a_convoys_holders_and_wakers_are_known() {
    let (session, printed) = trace(&threaded("wait_convoy.c"), &["4", "50", "200"]);
    // By thread and turn: who had the lock, and who let go of it last.
    let truth: BTreeMap<(u64, u64), (u64, u64)> = printed
        .iter()
        .map(|line| ((number(&line[0]), number(&line[1])), (number(&line[2]), number(&line[3]))))
        .collect();
    assert_eq!(truth.len(), 200);
    let waits = rows(&session, TURNS);
    let (mut holders, mut wakers) = ((0, 0), (0, 0));
    for wait in &waits {
        let turn = (wait["thread_id"].as_u64().unwrap(), wait["turn"].as_u64().unwrap());
        let (holder, releaser) = truth[&turn];
        for (counts, column, truth) in
            [(&mut holders, "holder_thread_id", holder), (&mut wakers, "waker_thread_id", releaser)]
        {
            if let Some(found) = wait[column].as_u64().filter(|_| truth != 0) {
                counts.0 += u32::from(found == truth);
                counts.1 += 1;
            }
        }
        assert_eq!((&wait["function"], &wait["kind"]), (&"take_turn".into(), &"mutex".into()), "{wait}");
    }
    // A thread reads who has the lock a little before it asks for it, and so may be wrong now and then.
    for (right, all) in [holders, wakers] {
        assert!(all >= 50 && right * 100 >= all * 97, "{right} of {all} of {}", waits.len());
    }
    let slow = rows(&session, "SELECT span_id FROM waits WHERE kind = 'mutex' ORDER BY duration_ns DESC LIMIT 1");
    let why = session.json("ask", &["why-slow", slow[0]["span_id"].as_str().unwrap()]);
    let because = why["because"].as_array().unwrap();
    assert!(because.iter().any(|it| it.as_str().unwrap().contains("(taken in take_turn)")), "{because:?}");
    let objects = session.json("waits", &["--kind", "mutex"]);
    assert_eq!(objects["waits"][0]["held_in"], "take_turn", "{objects:#}");
    let findings = session.json("ask", &["findings"]);
    let findings = findings["findings"].as_array().unwrap();
    assert!(findings.iter().all(|it| it["kind"] != "deadlock" && it["kind"] != "lost_wakeup"), "{findings:#?}");
    // On a loaded machine they may also stand in line to print.
    let is_asleep = |it: &Value| it["kind"] == "lock_held_asleep" && it["function"] == "take_turn";
    assert!(findings.iter().any(is_asleep), "{findings:#?}");
}

/// The waits of `take_turn`, each with its turn's number.
const TURNS: &str = "
    WITH turns AS (SELECT span_id, row_number() OVER (PARTITION BY thread_id ORDER BY start_ns) - 1 AS turn
        FROM spans WHERE name = 'take_turn')
    SELECT waits.*, turn FROM waits JOIN spans ON spans.span_id = waits.span_id
        JOIN turns ON turns.span_id = spans.parent_span_id WHERE waits.kind = 'mutex'";

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
    let woken = found.iter().filter(|wait| !wait["waker_thread_id"].is_null()).count();
    assert!(woken * 10 >= found.len() * 9, "{woken}: {found:#?}");
    // The owner field is empty while the lock goes from one to the other.
    let known: Vec<&Value> = found.iter().filter(|wait| !wait["holder_thread_id"].is_null()).collect();
    assert!(known.len() > 10 && known.iter().all(|wait| wait["holder_thread_id"] == writer), "{writer}: {found:#?}");
}

#[test]
fn a_mutex_of_rust_is_a_futex_whose_waker_is_known() {
    let (session, _) = trace(&Program::new("wait_mutex.rs"), &[]);
    let found = rows(&session, "SELECT * FROM waits WHERE kind = 'futex' AND function LIKE '%take_turn%'");
    assert!(found.len() > 5, "{found:#?}");
    let woken = found.iter().filter(|wait| wait["wake_function"].as_str().is_some_and(|it| it.contains("take_turn")));
    assert!(woken.count() * 10 >= found.len() * 9, "{found:#?}");
}

#[test]
fn a_latchs_last_arrival_ends_the_wait() {
    let (session, printed) = trace(&Program::new("wait_latch.cpp").flags(&["-std=c++20", "-pthread"]), &[]);
    let [waiter, last] = [0, 1].map(|at| number(&printed[0][at]));
    let found = rows(&session, "SELECT * FROM waits WHERE kind = 'futex' AND function LIKE 'await_all%'");
    assert!(!found.is_empty());
    let longest = found.iter().max_by_key(|wait| wait["duration_ns"].as_u64()).unwrap();
    assert_eq!((&longest["thread_id"], &longest["waker_thread_id"]), (&waiter.into(), &last.into()), "{found:#?}");
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
