//! Waits for mutexes of all kinds, and for spin locks: programs that say themselves who had them, one after the other.

use serde_json::Value;

use crate::waits::{Turns, check_turns, number, rows, threaded, trace};

/// The kernel hands such a mutex over, or the function that takes it waits itself: no other function of the C library's is called for that.
#[test]
fn mutexes_whose_word_is_their_owners_id_have_holders_and_wakers_too() {
    const KINDS: [&[&str]; 5] = [
        &["-DPROTOCOL=PTHREAD_PRIO_INHERIT"],
        &["-DROBUST"],
        &["-DROBUST", "-DPROTOCOL=PTHREAD_PRIO_INHERIT"],
        &["-DROBUST", "-DTYPE=PTHREAD_MUTEX_RECURSIVE"],
        &["-DROBUST", "-DTIMED"],
    ];
    for flags in KINDS {
        let program = threaded("wait_convoy.c").flags(flags);
        let (session, printed) = trace(&program, &["4", "50", "200", "together"]);
        let Turns { waits, holders, wakers, ends, last_wakers } = check_turns(&session, &printed, 200);
        assert!(waits >= 20 && holders * 20 >= waits * 19, "{flags:?}: {holders} of {waits}");
        // Nobody has to be woken to let go of it: who is named was the last.
        assert!(wakers == waits && last_wakers == ends, "{flags:?}: {wakers} of {waits}, {last_wakers} of {ends}");
        let kinds = rows(&session, "SELECT DISTINCT kind FROM waits WHERE function = 'take_turn' AND kind != 'sleep'");
        assert!(kinds.len() == 1 && kinds[0]["kind"] == "mutex", "{flags:?}: {kinds:?}");
        let doubts = "SELECT count(*) AS count FROM waits WHERE kind = 'mutex' AND function = 'take_turn' AND
            (holder_thread_id = thread_id OR uncertain LIKE '%waker%' OR reason IS NOT NULL)";
        assert_eq!(rows(&session, doubts)[0]["count"], 0, "{flags:?}");
    }
}

/// Who ends with a robust mutex has ended the wait of the next one, and nobody has let go of it.
#[test]
fn the_end_of_a_robust_mutexs_owner_ends_the_wait_for_it() {
    check_deaths(&["12"]);
}

/// The same of processes that share the mutex.
#[test]
fn the_end_of_the_process_that_has_a_robust_mutex_ends_the_wait_for_it() {
    check_deaths(&["4", "processes"]);
}

fn check_deaths(arguments: &[&str]) {
    let (session, printed) = trace(&threaded("wait_died.c"), arguments);
    assert_eq!(printed.len() as u64, number(arguments[0]));
    let mut known = 0;
    for line in &printed {
        for next in [1, 2] {
            let [before, died, own] = [2 * next - 2, 2 * next - 1, 2 * next].map(|at| number(&line[at]));
            let query = format!("SELECT * FROM waits WHERE kind = 'mutex' AND function = 'take' AND thread_id = {own}");
            // Who comes late, on a loaded machine, may find that nobody has it.
            let Some(wait) = &rows(&session, &query).pop() else { continue };
            known += 1;
            let reason = if died == 1 { "owner died".into() } else { Value::Null };
            assert_eq!((&wait["waker_thread_id"], &wait["reason"]), (&before.into(), &reason), "{line:?}: {wait}");
            assert_eq!((&wait["uncertain"], &wait["state"]), (&"".into(), &"ended".into()), "{line:?}: {wait}");
            if died == 1 && arguments.len() == 1 {
                assert_eq!(wait["wake_function"], if next == 1 { "first" } else { "next" }, "{line:?}: {wait}");
            }
        }
    }
    assert!(known > printed.len(), "{known} waits in {} rounds", printed.len());
}

/// What is kept of a call takes several times as long as to record it.
#[test]
fn nothing_is_kept_of_mutexes_that_nobody_else_wants() {
    let (session, printed) = trace(&threaded("wait_free.c"), &["1000"]);
    let calls = "SELECT count(*) AS count FROM spans WHERE name LIKE 'pthread_mutex_%lock' AND type = 'frame'";
    assert_eq!(rows(&session, &format!("{calls} AND thread_id = {}", printed[0][0]))[0]["count"], 12000);
    let folder = session.derived().with_file_name(format!("thread_{}", printed[0][0]));
    assert!(folder.join("index.atp").is_file(), "{}", folder.display());
    let bytes = std::fs::metadata(folder.join("detail.atp")).map_or(0, |file| file.len());
    assert!(bytes < 4096, "{bytes} bytes");
}

/// Those that are taken twice, or with a time limit.
#[test]
fn recursive_and_timed_mutexes_have_holders_too() {
    const KINDS: [&[&str]; 2] = [&["-DTYPE=PTHREAD_MUTEX_RECURSIVE"], &["-DTIMED"]];
    for flags in KINDS {
        let program = threaded("wait_convoy.c").flags(flags);
        let (session, printed) = trace(&program, &["4", "50", "200", "together"]);
        let Turns { waits, holders, wakers, .. } = check_turns(&session, &printed, 200);
        assert!(waits >= 20 && holders * 20 >= waits * 19, "{flags:?}: {holders} of {waits}");
        assert!(wakers * 10 >= waits * 9, "{flags:?}: {wakers} of {waits}");
        // Who has it takes it again without a wait.
        let again = "SELECT count(*) AS count FROM waits WHERE kind = 'mutex' AND holder_thread_id = thread_id";
        assert_eq!(rows(&session, again)[0]["count"], 0, "{flags:?}");
    }
}

/// A turn of the loop in which a thread spins is no call, and who has the lock is known by its letting go of it.
#[test]
fn locks_that_threads_spin_for_have_holders_and_wakers() {
    let program = threaded("wait_convoy.c").flags(&["-DSPIN"]);
    let (session, printed) = trace(&program, &["3", "40", "200", "together"]);
    let calls = "SELECT count(*) AS count FROM spans WHERE type = 'frame' AND name = 'pthread_spin_lock'";
    assert_eq!(rows(&session, calls)[0]["count"], 120);
    let Turns { waits, holders, wakers, ends, last_wakers } = check_turns(&session, &printed, 120);
    assert!(waits >= 20 && holders * 20 >= waits * 19, "{holders} of {waits}");
    assert!(wakers * 20 >= waits * 19 && last_wakers == ends, "{wakers} of {waits}, {last_wakers} of {ends}");
    let kinds = rows(&session, "SELECT DISTINCT kind, hold_function FROM waits WHERE holder_thread_id IS NOT NULL");
    assert!(kinds.contains(&serde_json::json!({ "kind": "spin", "hold_function": "take_turn" })), "{kinds:?}");
}

/// What stubs do not read themselves, the agent does: the owner is the last word of a page, or the first of the next one.
#[test]
fn a_mutex_in_two_pages_has_holders_too() {
    for before in ["-DBEFORE_PAGE=16", "-DBEFORE_PAGE=8"] {
        let program = threaded("wait_convoy.c").flags(&[before]);
        let (session, printed) = trace(&program, &["4", "50", "200", "together"]);
        let Turns { waits, holders, .. } = check_turns(&session, &printed, 200);
        assert!(waits >= 20 && holders * 20 >= waits * 19, "{holders} of {waits}");
    }
}
