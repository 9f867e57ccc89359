//! What a run under a budget teaches the next one of the same program.

use std::path::Path;

use ada_format::atf::Switch;

use super::running::{Ended, Running};
use crate::run::text;

const CALLS: u64 = 20_000_000;
const EARLIER: &str = "budget, by earlier runs";

fn run(cache: &Path, options: &[&str]) -> Ended {
    let options = [&["--max-overhead", "10%", "--detail", "off"], options].concat();
    let mut running = Running::start_learning(cache, &options);
    running.have_done(&format!("tick {CALLS} 1"));
    running.end()
}

fn switches_of_tick(ended: &Ended) -> Vec<Switch> {
    ended.switches("tick").remove(0)
}

#[test]
fn what_was_too_hot_has_no_hook_from_the_start_and_the_session_says_so() {
    let cache = tempfile::tempdir().unwrap();
    let first = run(cache.path(), &[]);
    assert!(switches_of_tick(&first).iter().all(|switch| switch.why == "budget"));
    assert!(first.recorded().counts("tick").calls > 0);
    // In one of sixteen runs it is counted, to see whether it is still hot.
    let two = [run(cache.path(), &[]), run(cache.path(), &[])];
    let has_no_hook = |ended: &&Ended| switches_of_tick(ended)[0].mode == "unhooked";
    let second = two.iter().find(has_no_hook).expect("one of two is not one of sixteen");
    let switches = switches_of_tick(second);
    assert_eq!((switches.len(), &*switches[0].why, switches[0].from_ns.0), (1, EARLIER, 0), "{switches:?}");
    assert_eq!((switches[0].count, switches[0].to_ns), (None, None));
    let recorded = second.recorded();
    assert_eq!((recorded.counts("tick").calls, recorded.counts("main").calls), (0, 1));
    let words = text(&second.output.stderr);
    assert!(words.contains("1 of these had no hooks from the start") && words.contains("tick"), "{words}");
    assert!(!words.contains("hooks were removed"), "{words}");
}

#[test]
fn it_is_hooked_where_nothing_is_to_be_learnt_or_everything_is_wanted() {
    let cache = tempfile::tempdir().unwrap();
    run(cache.path(), &[]);
    for options in [&["--no-learning"][..], &["--exact-counts"], &["--only", "tick"]] {
        let ended = run(cache.path(), options);
        let switches = switches_of_tick(&ended);
        assert!(switches.iter().all(|switch| switch.why == "budget"), "{options:?}: {switches:?}");
        assert!(ended.recorded().counts("tick").calls > 0, "{options:?}");
    }
}

#[test]
fn a_library_of_many_programs_has_the_hooks_that_each_can_bear() {
    // The shell has libc as it is; the program that calls a function of it all the time has been learnt, and is run twice.
    let cache = tempfile::tempdir().unwrap();
    let traced = |lines: &str| {
        let folder = tempfile::tempdir().unwrap();
        let program = crate::trace::program::Program::new("switched.c").build();
        let mut command = crate::run::command();
        command.env_remove("ADA_NO_LEARNING").env("ADA_CACHE_DIR", cache.path());
        command.args(["trace", "--max-overhead", "10%", "--detail", "off", "--output"]).arg(folder.path());
        let script = format!("echo '{lines}' | {0}; echo '{lines}' | {0}; exit 3", program.display());
        let output = command.args(["--", "sh", "-c", &script]).output().unwrap();
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(3), "done\ndone\n"), "{output:?}");
        text(&output.stderr).to_owned()
    };
    let line = format!("tick {CALLS} 1");
    let first = traced(&line);
    assert!(!first.contains("no hooks from the start"), "{first}");
    let rest = [traced(&line), traced(&line)];
    assert!(
        rest.iter().any(|words| words.contains("had no hooks from the start") && words.contains("tick")),
        "{rest:?}"
    );
}
