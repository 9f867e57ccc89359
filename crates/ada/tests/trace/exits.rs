//! Returns that are caught at the functions' exits, with nothing written to the program's stack.

use ada_event::EventKind;

use super::program::Program;
use super::tracing::{Traced, Tracing};

/// Runs a program alone and traced so, and compares.
fn check(program: &Program) -> Traced {
    Tracing::new(program).check()
}

#[test]
fn every_call_has_its_return() {
    let traced = check(&Program::new("recursion.c"));
    let recorded = &traced.recorded;
    recorded.assert_balanced("main", 1);
    recorded.assert_balanced("chain", 201);
    recorded.assert_balanced("fib", 1973);
    assert_eq!(recorded.process().depths("chain", EventKind::CALL), (1..=201).collect::<Vec<i64>>());
    assert_eq!(recorded.process().depths("chain", EventKind::RETURN), (1..=201).rev().collect::<Vec<i64>>());
}

#[test]
fn functions_that_look_at_their_return_addresses_find_their_own() {
    let flags = ["-O1", "-fno-omit-frame-pointer", "-rdynamic", "-ldl"];
    let traced = check(&Program::new("own_return_address.c").flags(&flags));
    traced.recorded.assert_balanced("nest", 7);
    traced.recorded.assert_balanced("asks", 1);
}

#[test]
fn stacks_that_are_copied_away_and_back_are_the_programs_own() {
    check(&Program::new("copied_stack.c").flags(&["-O1"]));
}

/// A record that was interrupted may come a few events too early: see docs/exits.md.
#[test]
fn contexts_that_a_signal_handler_leaves_go_on_where_they_were() {
    let program = Program::new("preempted_contexts.c").flags(&["-O1"]);
    Tracing::new(&program).check_output();
}

#[test]
fn functions_without_unwind_tables_have_returns() {
    let flags = ["-fno-asynchronous-unwind-tables", "-fno-exceptions"];
    let traced = check(&Program::new("recursion.c").flags(&flags));
    traced.recorded.assert_balanced("fib", 1973);
}

#[test]
fn exceptions_end_the_calls_that_they_go_through() {
    let traced = check(&Program::new("exception.cpp"));
    for name in ["plain", "guarded"] {
        let ends = traced.recorded.process().depths(name, EventKind::EXCEPTION);
        assert_eq!(ends.len(), 100, "{name}: each of two throws goes through fifty calls");
    }
    traced.recorded.assert_balanced("outer", 4);
}

/// No hook is written over a place that an indirect jump leads to, however it finds it.
#[test]
fn cases_and_labels_are_reached_by_whatever_means() {
    let gcc = [
        &["-O2"][..],
        &["-Os"],
        &["-O1", "-no-pie"],
        &["-O2", "-fno-align-labels", "-fno-align-jumps", "-fno-align-loops"],
        &["-O2", "-fno-asynchronous-unwind-tables"],
    ];
    let clang = [&["-O2"][..], &["-Os"], &["-Oz"]];
    let builds = gcc.map(|flags| ("gcc", flags)).into_iter().chain(clang.map(|flags| ("clang", flags)));
    for (compiler, flags) in builds {
        let program = Program::new("indirect_jumps.c").compiler(compiler).flags(&[flags, &["-w"]].concat());
        Tracing::new(&program).check_output();
    }
}

/// Whoever has a function's address has those behind it, too.
#[test]
fn functions_that_are_entered_at_their_second_byte_are_left_alone_there() {
    for flags in [&["-O1"][..], &["-O1", "-no-pie"]] {
        Tracing::new(&Program::new("second_byte.c").flags(flags)).check();
    }
}
