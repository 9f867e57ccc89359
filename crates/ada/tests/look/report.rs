//! The report: what is wrong comes first, and it fits.

use crate::program::Program;
use crate::run;
use crate::traced_program::TracedProgram;

/// The cause of a bug is on the first screen, with a command that works.
#[test]
fn the_first_screen_names_the_cause_and_the_next_command() {
    let causes = [
        ("bug_deadlock.c", &["-pthread"][..], &["transfer_money", "write_journal"][..]),
        ("bug_leak.c", &[], &["remember_request"]),
        ("bug_slow_path.c", &[], &["search_list"]),
    ];
    for (source, flags, functions) in causes {
        let traced = TracedProgram::trace(&Program::new(source).flags(flags));
        let report = traced.text("report", &[]);
        let screen: Vec<&str> = report.lines().take(24).collect();
        assert_eq!(screen[0], "What stands out");
        let title = screen[1..4].join(" ");
        assert!(functions.iter().any(|it| title.contains(it)), "{source}: {report}");
        let next = screen.iter().find_map(|line| line.trim().strip_prefix("next: ada ")).expect("there is one");
        let output = run::ada(next.split(' ').map(|word| word.trim_matches('\'')));
        assert!(output.status.success() && !output.stdout.is_empty(), "{next}: {}", run::text(&output.stderr));
        let json = traced.json("report", &[]);
        assert_eq!(json["findings"][0]["next"], next_without_session(next, &traced), "{source}");
    }
}

fn next_without_session(next: &str, traced: &TracedProgram) -> String {
    format!("ada {}", next.trim_end_matches(&traced.path().display().to_string()).trim_end())
}

#[test]
fn lines_fit_into_eighty_columns_and_have_no_colours_in_a_pipe() {
    let traced = TracedProgram::trace(&Program::new("exception.cpp"));
    for (command, options) in [
        ("report", &[][..]),
        ("report", &["--all"]),
        ("top", &["--all"]),
        ("tree", &["--all"]),
        ("top", &["--sort", "p99"]),
    ] {
        let text = traced.text(command, options);
        let path = traced.path().display().to_string();
        let long = text.lines().find(|line| line.chars().count() > 80 && !line.contains(&path));
        assert_eq!(long, None, "{command} {options:?}");
        assert!(!text.contains('\x1b'), "{command}");
    }
    let wide = traced.text("top", &["--all", "--wide", "--limit", "0"]);
    assert!(!wide.lines().any(|line| line.contains("<…>")), "{wide}");
    let narrow = run::bounded(
        {
            let mut ada = run::command();
            ada.arg("top").arg(traced.path()).env("COLUMNS", "60");
            ada
        },
        b"",
    );
    assert!(run::text(&narrow.stdout).lines().all(|line| line.chars().count() <= 70));
}

/// A wrapper of malloc keeps nothing: whoever calls it does.
#[test]
fn a_leak_is_charged_to_who_keeps_and_not_to_a_wrapper() {
    let traced = TracedProgram::trace(&Program::new("leak_wrapped.c"));
    let findings = traced.json("report", &[])["findings"].clone();
    let leaks: Vec<&str> = findings
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["kind"] == "leak")
        .map(|it| it["function"].as_str().unwrap())
        .collect();
    assert_eq!(leaks, ["hoard"]);
    let leak = findings.as_array().unwrap().iter().find(|it| it["kind"] == "leak").unwrap();
    assert_eq!(
        (&leak["facts"]["taken"], &leak["facts"]["given"], &leak["certainty"]),
        (&3000.into(), &0.into(), &"likely".into())
    );
}

/// What a panic takes for its backtrace is no leak of who panicked.
#[test]
fn a_panic_is_no_leak() {
    let program = Program::new("panic.rs").build();
    let traced =
        TracedProgram::trace_running_file("/usr/bin/env".as_ref(), &["RUST_BACKTRACE=1", program.to_str().unwrap()]);
    let findings = traced.json("report", &[])["findings"].clone();
    // `env` keeps its locale until it becomes the program.
    let is_own = |it: &&serde_json::Value| it["function"].as_str().is_some_and(|name| name.starts_with("panic::"));
    let leaks: Vec<&serde_json::Value> =
        findings.as_array().unwrap().iter().filter(|it| it["kind"] == "leak").filter(is_own).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
}

/// A lock that six threads stand in line for is what stands out, whatever the machine does meanwhile.
#[test]
fn a_lock_convoy_is_among_the_first() {
    let traced = TracedProgram::trace(&Program::new("bug_convoy.c").flags(&["-pthread"]));
    let findings = traced.json("report", &[])["findings"].clone();
    let first: Vec<&str> =
        findings.as_array().unwrap().iter().take(3).map(|it| it["title"].as_str().unwrap()).collect();
    assert!(
        first.iter().any(|it| it.starts_with("handle_request waited ")
            && it.contains("for a lock in ")
            && it.ends_with("360 calls")),
        "{first:#?}"
    );
}

/// What waits when a signal kills it has waited until then, though nothing was recorded meanwhile.
#[test]
fn a_program_that_is_killed_while_it_waits_has_lived_until_then() {
    // A busy machine may be late with either end.
    const WAITED: std::ops::Range<u64> = 400_000_000..5_000_000_000;
    let program = Program::new("killed_idle.c").flags(&["-pthread"]);
    for arguments in [&[][..], &["child"]] {
        let traced = TracedProgram::trace_running(&program, &[], arguments);
        for function in ["pthread_join", "pthread_cond_wait"] {
            let spans = traced.spans(&["--type", "frame", "--function", function]);
            let [span] = &spans[..] else { panic!("{arguments:?} {function}: {spans:#?}") };
            assert!(WAITED.contains(&span["duration_ns"].as_u64().unwrap()), "{arguments:?}: {span:#}");
        }
        let report = traced.json("report", &[]);
        let duration = &report["run"]["duration"]["duration_ns"];
        assert!(WAITED.contains(&duration.as_u64().unwrap()), "{report:#}");
        // It was about to be joined.
        let findings = report["findings"].as_array().unwrap();
        assert!(findings.iter().all(|it| it["kind"] != "never_joined"), "{findings:#?}");
        assert!(findings.iter().any(|it| it["kind"] == "lost_wakeup"), "{findings:#?}");
    }
}

/// The medians are those of the function's calls, whatever came before.
#[test]
fn what_grows_late_in_a_run_grows() {
    let traced = TracedProgram::trace(&Program::new("late_growth.c").flags(&["-O1"]));
    let findings = traced.json("report", &[])["findings"].clone();
    let growing: Vec<&serde_json::Value> =
        findings.as_array().unwrap().iter().filter(|it| it["kind"] == "growing_cost").collect();
    let [growing] = growing[..] else { panic!("{findings:#?}") };
    assert_eq!(growing["function"], "add");
}

/// What a function jumped to may be missing where functions are left out: the next call is its caller's then.
#[test]
fn a_tail_call_is_shown_below_its_caller_only_where_all_functions_are_recorded() {
    let program = Program::new("tail_call.c").flags(&["-O2", "-foptimize-sibling-calls"]);
    for (options, below) in [(&[][..], 1), (&["--exclude", "last"], 0)] {
        let traced = TracedProgram::trace_with(&program, options);
        let tree = traced.json("tree", &["--limit", "0"]);
        let level = |name: &str| {
            let node = tree["nodes"].as_array().unwrap().iter().find(|node| node["name"] == name).unwrap();
            node["level"].as_u64().unwrap()
        };
        assert_eq!(level("middle"), level("first") + below, "{options:?}: {tree}");
    }
}

#[test]
fn how_long_programs_waited_to_be_hooked_is_the_recordings_doing() {
    let traced = TracedProgram::trace(&Program::new("spawn.c"));
    let report = traced.json("report", &[]);
    let first = &report["findings"][0];
    assert_eq!((&first["kind"], &first["certainty"]), (&"disturbed".into(), &"certain".into()), "{report}");
    assert!(first["title"].as_str().unwrap().contains("to be hooked"), "{first}");
    // Children of vfork and posix_spawn have run other programs: nothing went wrong with their calls.
    let spans = traced.json("spans", &["--all", "--function", "execve", "--limit", "0"]);
    let calls = spans["spans"].as_array().unwrap();
    let is_over = |call: &&serde_json::Value| {
        call["reason"] == "process_exit" && call["duration_ns"].as_u64().unwrap() < 50_000_000
    };
    assert!(calls.len() >= 3 && calls.iter().filter(is_over).count() >= 3, "{spans}");
}

#[test]
fn a_limit_of_0_lists_all() {
    let traced = TracedProgram::trace(&Program::new("exception.cpp"));
    let functions = |options: &[&str]| traced.json("report", options)["functions"]["by_self"].as_array().unwrap().len();
    assert!(functions(&["--all", "--limit", "0"]) > functions(&["--all"]));
    assert_eq!(functions(&["--all"]), 10);
}
