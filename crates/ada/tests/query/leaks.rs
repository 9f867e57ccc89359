//! Leaks are told from what programs hold until they end.

use serde_json::Value;

use crate::program::Program;
use crate::traced_program::TracedProgram;

fn leaks(traced: &TracedProgram) -> Vec<Value> {
    let findings = traced.json("report", &[])["findings"].clone();
    findings.as_array().unwrap().iter().filter(|it| it["kind"] == "leak").cloned().collect()
}

fn assert_leaks(program: &Program, function: &str) {
    let all = leaks(&TracedProgram::trace(program));
    let named: Vec<(&Value, &Value)> = all.iter().map(|it| (&it["function"], &it["certainty"])).collect();
    assert_eq!(named, [(&function.into(), &"likely".into())], "{all:#?}");
}

/// What was there before the worker took as many as it gave back, so that memory does not grow: the numbers agree.
#[test]
fn a_thread_that_keeps_what_it_makes() {
    assert_leaks(&Program::new("leak_in_thread.c").flags(&["-pthread"]), "render");
}

/// `operator delete` jumps to another one, and that to `free`: counted by its calls, more was given back than was taken.
#[test]
fn objects_that_nobody_deletes() {
    assert_leaks(&Program::new("leak_shapes.cpp").flags(&["-O1"]), "read_shape(int)");
}

#[test]
fn a_table_that_is_held_until_the_end_is_no_leak() {
    let all = leaks(&TracedProgram::trace(&Program::new("held_table.c")));
    assert!(all.is_empty(), "{all:#?}");
}

/// They allocate what they need at the start, in part in one call of `setlocale`, and exit without giving it back.
#[test]
fn commands_that_exit_without_freeing_do_not_leak() {
    for command in ["seq 2000 | sort -r | tail -1", "x=; for i in 1 2 3 4 5 6 7 8 9; do x=$x$i; done; echo $x"] {
        let traced = TracedProgram::trace_running_file("/bin/sh".as_ref(), &["-c", command]);
        let all = leaks(&traced);
        assert!(all.is_empty(), "{command}: {all:#?}");
    }
}

/// `main` is called once, and nobody needs sixty descriptors. Of the last one, no later call proves that it was still open.
#[test]
fn a_loop_that_opens_what_nobody_closes() {
    let all = leaks(&TracedProgram::trace(&Program::new("kept_open.c")));
    let [leak] = &all[..] else { panic!("{all:#?}") };
    assert_eq!((&leak["function"], &leak["facts"]["kept"]), (&"main".into(), &59.into()), "{leak:#}");
}

#[test]
fn buffers_go_with_the_files_that_they_belong_to() {
    let program = Program::new("appended_log.c");
    let all = leaks(&TracedProgram::trace(&program));
    assert!(all.is_empty(), "{all:#?}");
    let all = leaks(&TracedProgram::trace_running(&program, &[], &["open"]));
    let named: Vec<(&Value, &Value)> = all.iter().map(|it| (&it["function"], &it["facts"]["what"])).collect();
    let [descriptors, files] = ["descriptors", "files"].map(Value::from);
    assert_eq!(named, [(&"append".into(), &descriptors), (&"append".into(), &files)], "{all:#?}");
}
