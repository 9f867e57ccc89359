//! What processes share: two that wait for each other, and each for something of its own at the same address.

use serde_json::Value;

use crate::io_waits::{rows, trace_numbers};

/// Waits of a kind in a function, and what the program says: both processes, and the threads that post what is their own.
fn trace(kind: &str, wanted: &str) -> (Vec<u64>, Vec<Value>, Vec<Value>) {
    // Who has to wait for a processor finds that everything has come, and a look may come too late: a busy machine has some more tries.
    const TRIES: usize = 5;
    let mut tried = Vec::new();
    for _ in 0..TRIES {
        let (session, printed) = trace_numbers("wait_shared.c", &[kind]);
        let [ids, turns] = &printed[..] else { panic!("{printed:?}") };
        let of = |function: &str, wanted: &str| {
            let query = format!(
                "SELECT * FROM waits WHERE function = '{function}' AND kind = '{wanted}' AND state = 'ended' ORDER BY start_ns"
            );
            rows(&session, &query)
        };
        let (waits, own) = (of("await_other", wanted), of("await_own", "semaphore"));
        let certain = waits.iter().filter(|wait| wait["waker_pid"].is_u64() && wait["uncertain"] == "").count();
        if certain as u64 * 2 >= turns[0] && certain * 2 >= waits.len() {
            return (ids.clone(), waits, own);
        }
        tried.push((certain, waits));
    }
    panic!("{kind}: {tried:#?}");
}

/// With two processes, whoever ends a wait is the other one.
fn check(kind: &str, wanted: &str, wake_function: &str) -> Vec<Value> {
    let (ids, waits, own) = trace(kind, wanted);
    let mut of_both = [0, 0];
    for wait in waits.iter().filter(|wait| wait["waker_pid"].is_u64()) {
        let at = ids[..2].iter().position(|id| wait["pid"] == *id).unwrap();
        // The first thread of a process has its id.
        let other = &ids[1 - at];
        let woken = (&wait["waker_pid"], &wait["waker_thread_id"], &wait["wake_function"]);
        assert_eq!(woken, (&(*other).into(), &(*other).into(), &wake_function.into()), "{kind}: {wait:#}");
        assert!(wait["object"].as_str().unwrap().contains(" + 0x"), "{kind}: {wait:#}");
        of_both[at] += 1;
    }
    assert!(of_both[0] > 0 && of_both[1] > 0, "{kind}: {of_both:?}");
    // All of one object have one name, in whichever process.
    let mut names: Vec<&str> = waits.iter().filter_map(|wait| wait["object"].as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() <= 2, "{kind}: {names:?}");
    // What is at the same address in both is not the same.
    assert!(own.len() >= 20, "{kind}: {own:#?}");
    for wait in &own {
        let at = ids[..2].iter().position(|id| wait["pid"] == *id).unwrap();
        let named = (&wait["waker_pid"], &wait["waker_thread_id"]);
        assert!(named == (&ids[at].into(), &ids[2 + at].into()) || wait["waker_pid"].is_null(), "{kind}: {wait:#}");
    }
    waits
}

#[test]
fn who_posts_a_semaphore_that_processes_share_is_found() {
    check("semaphore", "semaphore", "let_other");
    check("named", "semaphore", "let_other");
}

#[test]
fn who_signals_a_condition_that_processes_share_is_found() {
    check("condition", "condition", "let_other");
    check("barrier", "barrier", "await_other");
}

#[test]
fn who_holds_a_mutex_that_processes_share_is_found() {
    let waits = check("mutex", "mutex", "let_other");
    let held: Vec<&Value> = waits.iter().filter(|wait| wait["holder_pid"].is_u64()).collect();
    assert!(held.len() * 2 >= waits.len(), "{waits:#?}");
    let with_call = held.iter().filter(|wait| wait["hold_function"] == "await_other").count();
    for wait in &held {
        assert_ne!(wait["holder_pid"], wait["pid"], "{wait:#}");
        assert_eq!(wait["holder_pid"], wait["holder_thread_id"], "{wait:#}");
    }
    // Where the holder had to wait itself, its call is known.
    assert!(with_call > 0, "{waits:#?}");
}
