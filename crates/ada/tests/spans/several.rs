//! Waits for one of several descriptors: the parent says which were ready, and the child who made room.

use serde_json::Value;

use crate::io_waits::{rows, trace_numbers};

const TURNS: usize = 30;

/// Waits in a function of the parent's, each with the number of the call that it was in; and what the program says.
fn trace_waits(way: &str, function: &str) -> (Vec<u64>, Vec<u64>, Vec<Value>) {
    // A busy machine is given more tries: who has to wait for a processor finds that everything has come meanwhile.
    const TRIES: usize = 5;
    let mut counts = Vec::new();
    for _ in 0..TRIES {
        let (session, printed) = trace_numbers("wait_several.c", &[way, &TURNS.to_string()]);
        let [ids, truth] = &printed[..] else { panic!("{printed:?}") };
        let query = format!(
            "WITH calls AS (SELECT start_ns, end_ns, row_number() OVER (ORDER BY start_ns) - 1 AS turn
                FROM spans WHERE type = 'frame' AND name = '{function}' AND pid = {})
            SELECT waits.*, turn FROM waits JOIN calls ON waits.start_ns BETWEEN calls.start_ns AND calls.end_ns
                WHERE waits.pid = {} AND waits.kind = 'io' AND waits.state = 'ended' ORDER BY waits.start_ns",
            ids[0], ids[0]
        );
        let waits = rows(&session, &query);
        let certain = waits.iter().filter(|wait| is_certain(wait)).count();
        let named = waits.iter().filter(|wait| wait["waker_pid"].is_u64()).count();
        // On a busy machine the call that made room before comes back while the next wait is under way: then it is one of several.
        let least = if way.ends_with("-out") { 1 } else { waits.len() / 2 };
        if waits.len() >= TURNS / 2 && named * 2 >= waits.len() && certain >= least {
            return (ids.clone(), truth.clone(), waits);
        }
        counts.push((certain, waits));
    }
    panic!("{way}: {counts:#?}");
}

fn is_certain(wait: &Value) -> bool {
    wait["waker_pid"].is_u64() && wait["uncertain"] == ""
}

fn turn(wait: &Value) -> usize {
    wait["turn"].as_u64().unwrap() as usize
}

/// What was ready is named, and of what is certain the thread that wrote there.
#[test]
fn what_was_ready_of_several_is_named_and_who_made_it_so() {
    for way in ["poll", "ppoll", "select", "pselect"] {
        let (ids, ready, waits) = trace_waits(way, "await_several");
        for wait in &waits {
            let ready = ready[turn(wait)];
            let object = wait["object"].as_str().unwrap();
            // Of both, the object has both descriptors.
            let (pipes, names) = (ready.count_ones() as usize, object.matches("pipe:[").count());
            assert_eq!(names, pipes, "{way}: {wait:#}");
            assert!(wait["descriptor"].is_u64(), "{way}: {wait:#}");
            if is_certain(wait) {
                let writers: Vec<u64> = (0..2).filter(|it| ready >> it & 1 != 0).map(|it| ids[2 + it]).collect();
                assert_eq!((&wait["waker_pid"], &wait["wake_function"]), (&ids[1].into(), &"give".into()), "{wait:#}");
                assert!(writers.contains(&wait["waker_thread_id"].as_u64().unwrap()), "{way}, {ids:?}: {wait:#}");
            }
        }
    }
}

/// Whoever reads makes room for who waits to write.
#[test]
fn who_waits_for_room_is_woken_by_who_reads() {
    for way in ["poll-out", "select-out", "epoll-out"] {
        let (ids, readers, waits) = trace_waits(way, "await_room");
        for wait in waits.iter().filter(|wait| wait["waker_pid"].is_u64()) {
            // Who is not certain is one of those that read.
            assert!(is_certain(wait) || wait["uncertain"] == "several_wakers", "{way}: {wait:#}");
            assert!(ids[2..].iter().any(|id| wait["waker_thread_id"] == *id), "{way}: {wait:#}");
        }
        for wait in waits.iter().filter(|wait| is_certain(wait)) {
            let reader = ids[2 + readers[turn(wait)] as usize];
            let woken = (&wait["waker_pid"], &wait["waker_thread_id"], &wait["wake_function"]);
            assert_eq!(woken, (&ids[1].into(), &reader.into(), &"make_room".into()), "{way}, {readers:?}: {wait:#}");
        }
    }
}
