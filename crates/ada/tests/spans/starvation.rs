//! Who waits for a read-write lock while others that come later get it first.

use serde_json::Value;

use crate::program::Program;
use crate::waits::{number, trace};

/// The findings of starvation in a program, and the words that it printed.
fn starvation(source: &'static str, arguments: &[&str]) -> (Vec<Value>, Vec<Vec<String>>) {
    let (session, printed) = trace(&Program::new(source).flags(&["-pthread"]), arguments);
    let findings = session.json("ask", &["findings", "--limit", "50"]);
    let findings = findings["findings"].as_array().unwrap().iter();
    (findings.filter(|it| it["kind"] == "lock_starvation").cloned().collect(), printed)
}

fn check(who: &str, waits_to: &str, taken_in: &str) {
    const PASSES: usize = 20;
    const MICROSECONDS: u64 = 500;
    let (found, printed) = starvation("wait_starved.c", &[who, &PASSES.to_string(), &MICROSECONDS.to_string()]);
    let [finding] = &found[..] else { panic!("{found:#?}") };
    let facts = &finding["facts"];
    let [lock, waiter, overtaken, others @ ..] = &printed[0][..] else { panic!("{printed:?}") };
    assert_eq!(number(overtaken), PASSES as u64 - 1);
    assert_eq!((&finding["function"], &facts["taken_in"]), (&"starve".into(), &taken_in.into()), "{finding:#}");
    assert_eq!((&facts["waits_to"], &facts["object"]), (&waits_to.into(), &lock.as_str().into()), "{finding:#}");
    assert_eq!((&facts["waits"], &facts["overtaken"]), (&1.into(), &number(overtaken).into()), "{finding:#}");
    assert_eq!(facts["waiter_thread_ids"], Value::from(vec![number(waiter)]), "{finding:#}");
    let mut ids: Vec<u64> =
        facts["overtaker_thread_ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
    ids.sort_unstable();
    let mut truth: Vec<u64> = others.iter().map(|id| number(id)).collect();
    truth.sort_unstable();
    assert_eq!(ids, truth, "{finding:#}");
    // Each had it for that long, but for the one that was there before.
    assert!(facts["delayed_ns"].as_u64().unwrap() >= (PASSES as u64 - 2) * MICROSECONDS * 1000, "{finding:#}");
    assert!(facts["delayed_ns"].as_u64() < facts["longest_ns"].as_u64(), "{finding:#}");
}

#[test]
fn a_writer_that_readers_overtake_starves() {
    check("writer", "write", "look");
}

#[test]
fn a_reader_that_writers_overtake_starves() {
    check("reader", "read", "change");
}

/// Readers that had the lock before a writer came keep it waiting, and do not starve it.
#[test]
fn who_only_waits_for_those_before_it_does_not_starve() {
    let (found, _) = starvation("wait_writers.c", &["10", "3000"]);
    assert!(found.is_empty(), "{found:#?}");
}
