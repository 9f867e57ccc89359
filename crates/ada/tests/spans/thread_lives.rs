//! What threads are called, when they lived and how they ended, where their start routines do not say so.

use serde_json::Value;

use crate::program::Program;
use crate::run;
use crate::traced_program::{TracedProgram, outcome};

fn threads(traced: &TracedProgram) -> Vec<Value> {
    traced.spans(&["--runtime", "pthread"])
}

fn said<'a>(span: &'a Value, name: &str) -> Option<&'a str> {
    span["attributes"][name].as_str()
}

/// Name, status and reason, and by what they ended.
fn ends(spans: &[Value]) -> Vec<(String, String, String)> {
    let end = |span: &Value| {
        let name = span["name"].as_str().expect("each has one").to_owned();
        (name, outcome(span), said(span, "end_by").expect("each has one").to_owned())
    };
    spans.iter().map(end).collect()
}

fn end(name: &str, outcome: &str, by: &str) -> (String, String, String) {
    (name.into(), outcome.into(), by.into())
}

fn lives_of_quiet_routines(program: &Program) {
    let traced = TracedProgram::trace_with(program, &["--exclude", "quiet_*"]);
    let spans = threads(&traced);
    assert_eq!(traced.outcomes("quiet_return").len(), 0, "it is not hooked");
    assert_eq!(
        ends(&spans),
        [
            end("quiet_return", "completed", "return"),
            end("quiet_exit", "exited unwind", "pthread_exit"),
            end("quiet_cancel", "canceled canceled", "canceled"),
            end("quiet_loop", "unmatched process_exit", "process_end"),
        ]
    );
    for span in &spans {
        assert!(span["duration_ns"].as_u64() >= Some(20_000_000), "{span}");
        assert_eq!(span["attributes"]["uncertain"], Value::Null, "{span}");
        assert!(said(span, "start_routine_address").is_some());
    }
    let values: Vec<Option<&str>> = spans.iter().map(|span| said(span, "exit_value")).collect();
    assert_eq!(values, [Some("0x5"), Some("0x6"), None, None]);
}

#[test]
fn start_routines_without_hooks_name_their_threads_and_last_as_long_as_these() {
    lives_of_quiet_routines(&Program::new("unseen_routines.c"));
}

#[test]
fn the_same_holds_where_the_c_library_is_part_of_the_program() {
    lives_of_quiet_routines(&Program::new("unseen_routines.c").flags(&["-static"]));
}

#[test]
fn threads_of_static_programs_bear_the_names_of_their_routines() {
    let traced = TracedProgram::trace(&Program::new("thread_exit.c").flags(&["-static"]));
    assert_eq!(ends(&threads(&traced)), vec![end("body", "exited unwind", "pthread_exit"); 10]);
}

/// What threads end with is known without registers, whether or not somebody asks for it; of main nothing is said.
#[test]
fn threads_tell_what_they_ended_with() {
    for flags in [&[][..], &["-static"]] {
        let traced = TracedProgram::trace(&Program::new("exit_values.c").flags(flags));
        let spans = threads(&traced);
        let told: Vec<_> = spans.iter().map(|span| (&span["name"], &span["attributes"]["exit_value"])).collect();
        let expected = serde_json::json!([["returning", "0x6b"], ["leaving", "0xd1"], ["detached", "0x137"]]);
        assert_eq!(serde_json::json!(told), expected, "{flags:?}");
        let values = traced.json("query", &["SELECT count(exit_value) AS n FROM threads"]);
        assert_eq!(values[0]["n"], 3, "{flags:?}");
    }
}

#[test]
fn handlers_that_catch_the_end_of_a_thread_and_throw_it_on_do_not_hide_it() {
    let traced = TracedProgram::trace(&Program::new("rethrown_end.cpp"));
    let spans = threads(&traced);
    assert_eq!(
        ends(&spans),
        [
            end("exiting(void*)", "exited unwind", "pthread_exit"),
            end("canceled(void*)", "canceled canceled", "canceled")
        ]
    );
    for (function, expected) in [
        ("exiting*", "exited unwind"),
        ("leave*", "exited unwind"),
        ("canceled*", "canceled canceled"),
        ("wait_for_ever*", "canceled canceled"),
    ] {
        let outcomes = traced.outcomes(function);
        assert_eq!(outcomes.keys().collect::<Vec<_>>(), [expected], "{function}: {outcomes:?}");
    }
    // The handler's frame is of both ends; what a destructor throws and catches is an exception as ever.
    assert_eq!(traced.outcomes("pass_on*").keys().collect::<Vec<_>>(), ["canceled canceled", "exited unwind"]);
    assert_eq!(traced.outcomes("throw_number*").keys().collect::<Vec<_>>(), ["unmatched exception"]);
    assert_eq!(traced.outcomes("try_it*").keys().collect::<Vec<_>>(), ["completed"]);
}

#[test]
fn what_is_alive_goes_by_lives_and_not_by_events() {
    let traced = TracedProgram::trace(&Program::new("waiting_main.c"));
    let listed = traced.json("threads", &[]);
    assert_eq!(listed["active"]["most"], 9);
    let main = &listed["threads"][0];
    assert_eq!((&main["name"], &main["level"]), (&"main".into(), &0.into()));
    assert!(main["lifetime_ns"].as_u64() >= Some(100_000_000), "{main}");
    let failed = listed["failed"].as_array().expect("a list");
    assert_eq!((failed.len(), &failed[0]["errno"]), (1, &11.into()), "{failed:?}");
    assert_eq!(failed[0]["creator_thread_id"], main["thread_id"]);
    assert!(traced.text("threads", &[]).contains("1 call of pthread_create failed: "));

    let report = traced.json("report", &[]);
    let section = &report["threads"];
    assert_eq!(
        (&section["created"], &section["most_alive"], &section["deepest_level"]),
        (&8.into(), &9.into(), &1.into())
    );
    assert_eq!(section["never_joined"], 8, "the join did not return");
    assert!(section["start_latency"]["p99_ns"].as_u64() >= section["start_latency"]["p50_ns"].as_u64());
    assert_eq!(report["run"]["threads"]["count"], 9);
}

/// Every attribute of a thread's span that SQL has a column for is the same there.
#[test]
fn sql_and_json_say_the_same_of_threads() {
    let columns = [
        "create_ns",
        "start_ns",
        "end_ns",
        "lifetime_ns",
        "spawn_latency_ns",
        "status",
        "reason",
        "end_by",
        "exit_value",
        "level",
        "mode",
        "joiner_thread_id",
        "join_ns",
        "join_wait_ns",
        "canceler_thread_id",
        "cancel_ns",
        "creator_thread_id",
        "start_routine",
        "start_routine_address",
        "argument",
        "handle",
    ];
    for program in ["thread_cancel.c", "thread_tree.c"] {
        let traced = TracedProgram::trace(&Program::new(program));
        let query = format!("SELECT {} FROM threads ORDER BY start_ns", columns.join(", "));
        let mut command = run::command();
        command.arg("query").arg(traced.path()).arg(&query).args(["--format", "json"]);
        let output = run::bounded(command, b"");
        assert_eq!(output.status.code(), Some(0), "{}", run::text(&output.stderr));
        let rows: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
        let rows = rows["rows"].as_array().or(rows.as_array()).expect("a list").clone();
        let listed = traced.json("threads", &["--limit", "0"]);
        let mut threads = listed["threads"].as_array().expect("a list").clone();
        threads.sort_by_key(|thread| thread["start_ns"].as_u64());
        assert!(rows.len() == threads.len() && rows.len() > 1);
        for (row, thread) in rows.iter().zip(&threads) {
            for (at, column) in columns.iter().enumerate() {
                let in_sql = row.get(column).or_else(|| row.get(at)).expect("a cell");
                assert_eq!(in_sql, &thread[column], "{program}: {column}");
            }
        }
    }
}

#[test]
fn threads_behind_wrappers_of_libraries_are_named_after_what_they_run() {
    let traced = TracedProgram::trace(&Program::new("wrapped_threads.cpp"));
    let spans = threads(&traced);
    let names: Vec<&str> = spans.iter().filter_map(|span| span["name"].as_str()).collect();
    assert_eq!(names, ["Worker::run(int)", "compute(int)", "main::{lambda()#1}", "compute(int)"]);
    let traced = TracedProgram::trace(&Program::new("parallel.c").flags(&["-fopenmp"]));
    let spans = threads(&traced);
    assert_eq!(spans.len(), 3, "and the first thread");
    assert!(spans.iter().all(|span| span["name"] == "main._omp_fn.0"), "{spans:?}");
}
