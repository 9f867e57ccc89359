//! Callbacks as logical spans, found from function addresses in registers.

use serde_json::Value;

use crate::program::Program;
use crate::traced_program::TracedProgram;

fn callbacks(traced: &TracedProgram, function: &str) -> Vec<Value> {
    traced.spans(&["--runtime", "callback", "--function", function])
}

#[test]
fn a_comparator_is_certainly_called_back_by_qsort() {
    let traced = TracedProgram::trace_with_registers(&Program::new("callback.c").flags(&["-lm"]));
    let calls = traced.spans(&["--type", "frame", "--function", "compare"]).len();
    let found = callbacks(&traced, "compare");
    assert!(calls > 100);
    assert_eq!(found.len(), calls, "every call of it is one");
    for span in &found {
        let attributes = &span["attributes"];
        assert_eq!((&attributes["initiator"], &attributes["confidence"]), (&"qsort".into(), &1.0.into()));
        assert_eq!(span["parent_span_id"], attributes["initiator_span_id"]);
    }
    let initiators: Vec<&Value> = found.iter().map(|span| &span["attributes"]["initiator_span_id"]).collect();
    assert!(initiators.iter().all(|it| *it == initiators[0]), "one sort");
    assert_eq!(traced.json("show", &[initiators[0].as_str().unwrap()])["name"], "qsort");
}

#[test]
fn sessions_without_registers_have_the_callbacks_of_the_c_library_and_say_what_they_lack() {
    let traced = TracedProgram::trace(&Program::new("callbacks.c"));
    for (function, count, initiator, confidence) in
        [("initialise", 1, "pthread_once", 1.0), ("handler", 2, "signal", 0.6), ("at_exit", 1, "atexit", 0.6)]
    {
        let found = callbacks(&traced, function);
        assert_eq!(found.len(), count, "{function}");
        for attributes in found.iter().map(|span| &span["attributes"]) {
            let by = attributes["initiator"].as_str().unwrap_or_default();
            assert!(by.ends_with(initiator), "{function} by {by}");
            assert_eq!(attributes["confidence"], confidence, "{function}");
        }
    }
    assert_eq!(callbacks(&traced, "compare").len(), 0, "bsearch is called too often to be looked at each time");
    let sorted = TracedProgram::trace(&Program::new("callback.c").flags(&["-lm"]));
    let calls = sorted.spans(&["--type", "frame", "--function", "compare"]).len();
    assert_eq!(callbacks(&sorted, "compare").len(), calls);
    let words = "others need registers (ada trace --detail all)";
    assert!(traced.text("report", &["--wide"]).contains(words));
    let output = traced.ada("spans", &["--runtime", "callback"]);
    assert!(crate::run::text(&output.stderr).contains(words), "{}", crate::run::text(&output.stderr));
    let with_registers = TracedProgram::trace_with_registers(&Program::new("callbacks.c"));
    assert!(!with_registers.text("report", &["--wide"]).contains(words));
    assert!(with_registers.ada("spans", &["--runtime", "callback"]).stderr.is_empty());
}

#[test]
fn callbacks_are_jumped_to_and_last_until_what_they_jump_to_ends() {
    let program = Program::new("jumping_callbacks.c").flags(&["-foptimize-sibling-calls"]);
    let traced = TracedProgram::trace_with_registers(&program);
    let of = |function: &str| traced.spans(&["--runtime", "callback", "--function", function]);
    let initiators = |spans: &[Value]| -> Vec<(String, f64)> {
        let of = |span: &Value| {
            let attributes = &span["attributes"];
            (attributes["initiator"].as_str().unwrap().to_owned(), attributes["confidence"].as_f64().unwrap())
        };
        spans.iter().map(of).collect()
    };
    assert_eq!(initiators(&of("jumped_to")), [("apply_by_jump".into(), 1.0)]);
    let jumping = of("jumps_on");
    assert_eq!(initiators(&jumping), [("apply".into(), 1.0), ("apply_by_jump".into(), 1.0)]);
    for span in jumping {
        assert!(span["duration_ns"].as_u64() >= Some(1_000_000), "{span}");
        assert_eq!((&span["status"], &span["reason"]), (&"completed".into(), &Value::Null));
    }
}

/// What is open on another stack calls nothing meanwhile.
#[test]
fn a_stack_that_was_left_calls_nothing_back() {
    let traced = TracedProgram::trace_with_registers(&Program::new("coroutine_callback.c"));
    let frames = traced.spans(&["--type", "frame", "--function", "visit"]);
    let found = callbacks(&traced, "visit");
    let certain = found.iter().filter(|span| span["attributes"]["confidence"] == 1.0);
    let starts: Vec<&Value> = certain.map(|span| &span["start_ns"]).collect();
    assert_eq!(starts, [&frames[0]["start_ns"], &frames[2]["start_ns"]], "of {} calls", frames.len());
}

/// In time that does not grow with the square of the depth.
#[test]
fn callbacks_at_all_levels_of_deep_recursion_are_of_the_outermost_that_handed_them_on() {
    let traced = TracedProgram::trace_with_registers(&Program::new("deep_callbacks.c"));
    let walks = traced.spans(&["--type", "frame", "--function", "walk"]);
    let visits = callbacks(&traced, "visit");
    assert_eq!((walks.len(), visits.len()), (60_000, 60_000));
    for visit in visits {
        let attributes = &visit["attributes"];
        assert_eq!((&attributes["initiator_span_id"], &attributes["confidence"]), (&walks[0]["span_id"], &1.0.into()));
    }
}

#[test]
fn functions_that_are_called_later_know_who_registered_them() {
    let traced = TracedProgram::trace_with_registers(&Program::new("callbacks.c"));
    for (function, count, initiator, least) in [
        ("initialise", 1, "pthread_once", 1.0),
        ("handler", 2, "signal", 0.9),
        ("destroy", 1, "pthread_key_create", 0.6),
        ("at_exit", 1, "atexit", 0.6),
    ] {
        let found = callbacks(&traced, function);
        assert_eq!(found.len(), count, "{function}");
        for span in &found {
            let attributes = &span["attributes"];
            let by = attributes["initiator"].as_str().unwrap_or_default();
            assert!(by.ends_with(initiator), "{function} by {by}");
            assert!(attributes["confidence"].as_f64() >= Some(least), "{function}: {attributes}");
        }
    }
    let destroy = &callbacks(&traced, "destroy")[0];
    assert_ne!(destroy["thread_id"], destroy["attributes"]["initiator_thread_id"], "on another thread");
    assert_eq!(callbacks(&traced, "body").len() + callbacks(&traced, "main").len(), 0, "starts are not callbacks");
}
