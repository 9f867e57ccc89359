//! Deadlocks of several processes.

use serde_json::Value;

use crate::program::Program;
use crate::traced_program::TracedProgram;
use crate::waits::{number, rows, trace};

fn traced(how: &str, count: usize) -> (TracedProgram, Vec<Vec<String>>) {
    trace(&Program::new("wait_shared_circle.c").flags(&["-pthread"]), &[how, &count.to_string()])
}

fn findings(session: &TracedProgram) -> Vec<Value> {
    session.json("ask", &["findings", "--limit", "50"])["findings"].as_array().unwrap().clone()
}

/// Processes in a circle, by what each has printed: its id, what it holds, and what it wants.
fn check_circle(count: usize) {
    let (session, printed) = traced("circle", count);
    assert_eq!(printed.len(), count);
    let findings = findings(&session);
    let deadlocks: Vec<&Value> = findings.iter().filter(|it| it["kind"] == "deadlock").collect();
    let [deadlock] = deadlocks[..] else { panic!("{findings:#?}") };
    let waits = deadlock["facts"]["waits"].as_array().unwrap();
    assert_eq!(waits.len(), count, "{deadlock:#}");
    let rationale = deadlock["rationale"].as_str().unwrap();
    for line in &printed {
        let of_process = |wait: &&Value| wait["pid"] == number(&line[0]);
        let wait = waits.iter().find(of_process).unwrap_or_else(|| panic!("{line:?}: {deadlock:#}"));
        let object = wait["object"].as_str().unwrap();
        assert!(
            object.ends_with(&format!(" + {}", line[2])) || line[2] == "0" && object.ends_with(" + 0x0"),
            "{line:?}: {wait:#}"
        );
        let holder = printed.iter().find(|other| other[1] == line[2]).expect("somebody holds it");
        let named = (&wait["holder_pid"], &wait["holder_thread_id"]);
        assert_eq!(named, (&number(&holder[0]).into(), &number(&holder[0]).into()), "{wait:#}");
        assert_eq!(
            (&wait["function"], &wait["hold_function"]),
            (&"take_next".into(), &"take_first".into()),
            "{wait:#}"
        );
        assert_eq!((&wait["state"], &wait["uncertain"]), (&"open".into(), &Value::Array(Vec::new())), "{wait:#}");
        let word = format!("thread {0} of process {0} holds mutex ", line[0]);
        assert!(rationale.contains(&word), "{word}: {rationale}");
    }
    let graph = session.json("waits", &[])["graph"]["deadlocks"].clone();
    assert_eq!(graph.as_array().map(Vec::len), Some(1), "{graph:#}");
    let mut pids: Vec<u64> = graph[0]["pids"].as_array().unwrap().iter().map(|pid| pid.as_u64().unwrap()).collect();
    pids.sort_unstable();
    let mut truth: Vec<u64> = printed.iter().map(|line| number(&line[0])).collect();
    truth.sort_unstable();
    assert_eq!(pids, truth);
    let by_holder = session.json("waits", &["--by", "holder"])["waits"].clone();
    for line in by_holder.as_array().unwrap() {
        let wanted = printed.iter().find(|it| line["pid"] == number(&it[0])).map(|it| it[2].as_str());
        let holder = printed.iter().find(|it| wanted == Some(&it[1])).map(|it| number(&it[0]));
        assert_eq!((line["holder_pid"].as_u64(), &line["held_in"]), (holder, &"take_first".into()), "{line:#}");
    }
    assert_eq!(by_holder.as_array().map(Vec::len), Some(count), "{by_holder:#}");
    let told = session.text("waits", &[]);
    assert!(
        told.contains(&format!(
            "of process {} wait for each other",
            graph[0]["pids"].as_array().unwrap().last().unwrap()
        )),
        "{told}"
    );
    assert!(told.contains(" holds it since ") && !told.contains("not recorded"), "{told}");
}

#[test]
fn deadlocks_of_several_processes_are_named_in_full() {
    [2, 3].into_iter().for_each(check_circle);
}

/// Who has let go is no part of a circle, and whoever could be woken by another process has not lost a wake-up.
#[test]
fn what_another_process_can_end_is_neither_a_deadlock_nor_lost() {
    for how in ["chain", "alone"] {
        let (session, printed) = traced(how, 2);
        if how == "chain" {
            let waits = rows(&session, "SELECT span_id FROM waits WHERE kind = 'mutex' AND function = 'take_next'");
            let [wait] = &waits[..] else { panic!("{waits:#?}") };
            let because = session.json("ask", &["why-slow", wait["span_id"].as_str().unwrap()])["because"].to_string();
            let holder = format!(", which thread {0} of process {0} had", printed[1][0]);
            assert!(because.contains(&holder), "{because}");
        }
        let findings = findings(&session);
        let is_false = |it: &Value| it["kind"] == "deadlock" || it["kind"] == "lost_wakeup";
        assert!(!findings.iter().any(is_false), "{how}: {findings:#?}");
    }
}
