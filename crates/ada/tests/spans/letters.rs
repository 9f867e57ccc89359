//! Datagrams without a connection: what was sent says who has sent it.

use serde_json::Value;

use crate::io_waits::{rows, trace_numbers};

const TURNS: usize = 30;

/// What the program says: both processes, the two that send, and who sent what came.
struct Truth {
    ids: Vec<u64>,
    senders: Vec<u64>,
}

/// Waits for datagrams, each with the number of the call.
fn trace(kind: &str) -> (Truth, Vec<Value>) {
    let (session, printed) = trace_numbers("wait_letters.c", &[kind, &TURNS.to_string()]);
    let [ids, senders] = &printed[..] else { panic!("{printed:?}") };
    let query = format!(
        "WITH calls AS (SELECT start_ns, end_ns, row_number() OVER (ORDER BY start_ns) - 1 AS turn
            FROM spans WHERE type = 'frame' AND name = 'await_letter' AND pid = {})
        SELECT waits.*, turn FROM waits JOIN calls ON waits.start_ns BETWEEN calls.start_ns AND calls.end_ns
            WHERE waits.pid = {} AND waits.kind = 'io' AND waits.state = 'ended' ORDER BY waits.start_ns",
        ids[0], ids[0]
    );
    (Truth { ids: ids.clone(), senders: senders.clone() }, rows(&session, &query))
}

/// The thread that sent what a wait was for.
fn sender(truth: &Truth, wait: &Value) -> u64 {
    truth.ids[2 + truth.senders[wait["turn"].as_u64().unwrap() as usize] as usize]
}

#[test]
fn who_sends_a_datagram_is_known_by_the_address_that_it_came_from() {
    // A busy machine, and one on which the kernel does not tell who slept, is given more tries.
    const TRIES: usize = 5;
    for (kind, object) in
        [("udp", "127.0.0.1:"), ("message", "127.0.0.1:"), ("unix", "unix:@ada-letters-"), ("auto", "127.0.0.1:")]
    {
        let mut counts = Vec::new();
        for attempt in 1.. {
            assert!(attempt <= TRIES, "{kind}: {counts:#?}");
            let (truth, waits) = trace(kind);
            let certain: Vec<&Value> =
                waits.iter().filter(|wait| wait["waker_pid"].is_u64() && wait["uncertain"] == "").collect();
            for wait in &certain {
                let woken = (&wait["waker_pid"], &wait["waker_thread_id"], &wait["wake_function"]);
                let expected = (&truth.ids[1].into(), &sender(&truth, wait).into(), &"give".into());
                assert_eq!(woken, expected, "{kind}: {wait:#}");
                assert!(wait["object"].as_str().is_some_and(|it| it.contains(object)), "{kind}: {wait:#}");
            }
            if waits.len() >= TURNS && certain.len() * 2 >= waits.len() {
                break;
            }
            counts.push((certain.len(), waits));
        }
    }
}

/// Anybody can send to an address: without that of who did, nobody is certain.
#[test]
fn who_sent_a_datagram_without_an_address_is_not_certain() {
    let (truth, waits) = trace("blind");
    let named: Vec<&Value> = waits.iter().filter(|wait| wait["waker_pid"].is_u64()).collect();
    assert!(named.len() * 2 >= waits.len() && !waits.is_empty(), "{waits:#?}");
    for wait in named {
        assert!(["outside_waker", "several_wakers"].iter().any(|it| wait["uncertain"] == *it), "{wait:#}");
        assert_eq!(wait["waker_pid"], truth.ids[1], "{wait:#}");
        if !wait["uncertain"].as_str().unwrap().contains("several_wakers") {
            assert_eq!(wait["waker_thread_id"], sender(&truth, wait), "{wait:#}");
        }
    }
}
