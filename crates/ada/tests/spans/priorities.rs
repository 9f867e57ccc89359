//! Priority inversions: the program says whom it kept from running, and for how long.

use serde_json::Value;

use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

/// What was found, and what the program says; nothing where it may not have priorities.
fn trace(kind: &str) -> Option<(Vec<Value>, Vec<u64>)> {
    let sessions = tempfile::tempdir().unwrap();
    let program = Program::new("wait_priorities.c").flags(&["-pthread"]).build();
    let mut command = run::command_that_signals_end();
    command.args(["trace", "--quiet", "--output"]).arg(sessions.path()).arg("--").arg(program).arg(kind);
    let output = run::bounded(command, b"");
    let printed = run::text(&output.stdout);
    if printed.trim() == "forbidden" {
        return None;
    }
    let numbers = printed.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let session = TracedProgram::from_folder(sessions, "program");
    let has_states = session.json("query", &["SELECT DISTINCT known_by FROM states"]);
    let has_states = has_states.as_array().unwrap().iter().any(|it| it["known_by"] == "kernel");
    if !has_states {
        return None;
    }
    let found = session.json("ask", &["findings", "--limit", "100"])["findings"].as_array().unwrap().clone();
    Some((found.into_iter().filter(|it| it["kind"] == "priority_inversion").collect(), numbers))
}

const FORBIDDEN: &str =
    "NOT TESTED: this needs the right to SCHED_FIFO, and to ask the kernel who runs (see ada doctor)";

#[test]
fn a_lock_whose_holder_others_keep_from_running_is_an_inversion() {
    let Some((found, truth)) = trace("fifo") else { return eprintln!("{FORBIDDEN}") };
    let [low, high, kept] = truth[..] else { panic!("{truth:?}") };
    assert!(kept >= 10_000, "the middle one ran for 30 ms: {kept}");
    let [it] = &found[..] else { panic!("{found:#?}") };
    let facts = &it["facts"];
    assert_eq!((&facts["holder_thread_id"], &facts["waiter_thread_id"]), (&low.into(), &high.into()), "{it:#}");
    assert_eq!((&facts["taken_in"], &facts["waited_in"]), (&"take_low".into(), &"take_high".into()), "{it:#}");
    assert_eq!(
        (&facts["holder_priority"], &facts["waiter_priority"]),
        (&"SCHED_FIFO 10".into(), &"SCHED_FIFO 30".into()),
        "{it:#}"
    );
    let ready = facts["ready_ns"].as_u64().unwrap() / 1000;
    // The wait may begin when the holder has been kept from running for a while.
    assert!(ready >= 5_000 && ready <= kept + 2_000, "{ready} of {kept}: {it:#}");
}

#[test]
fn without_different_priorities_or_with_inherited_ones_there_is_no_inversion() {
    for kind in ["same", "inherit"] {
        let Some((found, _)) = trace(kind) else { return eprintln!("{FORBIDDEN}") };
        assert!(found.is_empty(), "{kind}: {found:#?}");
    }
}
