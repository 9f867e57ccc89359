//! Frames that end without returning: longjmp, exceptions, panics; and stacks that are only looked at.

use std::os::unix::process::ExitStatusExt;

use ada_event::EventKind;

use super::program::Program;
use super::recorded::Counts;
use super::tracing::Tracing;
use crate::run::text;

#[test]
fn frames_that_longjmp_leaves_are_unwound() {
    let traced = Tracing::new(&Program::new("longjmp.c")).check();
    let recorded = &traced.recorded;
    assert_eq!(recorded.counts("descend"), Counts { calls: 30, returns: 0, unwound: 30 });
    recorded.assert_balanced("attempt", 3);
    recorded.assert_balanced("after", 4);
    let process = recorded.process();
    assert_eq!(process.depths("after", EventKind::CALL), [2, 2, 2, 1]);
    assert_eq!(process.depths("attempt", EventKind::RETURN), [1, 1, 1]);
    let unwound: Vec<i64> = (2..=11).rev().cycle().take(30).collect();
    assert_eq!(process.depths("descend", EventKind::EXCEPTION), unwound);
}

#[test]
fn longjmp_goes_to_where_a_child_of_vfork_has_left_a_call_open() {
    let traced = Tracing::new(&Program::new("vfork_longjmp.c")).check_output();
    assert_eq!(text(&traced.output.stdout), "7 4\n");
    let recorded = &traced.recorded;
    assert_eq!(recorded.counts("jump"), Counts { calls: 2, returns: 0, unwound: 2 });
    for (name, times) in [("after_exec", 1), ("after_exit", 1), ("status_of", 2)] {
        recorded.assert_balanced(name, times);
    }
}

#[test]
fn frames_are_unwound_before_the_function_that_longjmp_went_to_returns() {
    let traced = Tracing::new(&Program::new("longjmp_to_main.c")).check();
    let recorded = &traced.recorded;
    assert_eq!(recorded.counts("descend"), Counts { calls: 10, returns: 0, unwound: 10 });
    recorded.assert_balanced("main", 1);
    assert!(recorded.tree().ends_with("  exception descend\nreturn main\n"), "{}", recorded.tree());
}

/// Three times thirty thousand, on each of two stacks; and each frame costs the same, however many there are.
#[test]
fn frames_that_a_handler_on_a_stack_of_its_own_leaves_are_unwound() {
    for by_code in [false, true] {
        let mut tracing = Tracing::new(&Program::new("signal_stack_jump.c"));
        if by_code {
            tracing = tracing.argument("by code");
        }
        let traced = tracing.check_output();
        assert_eq!(text(&traced.output.stdout), "6\n");
        let recorded = &traced.recorded;
        assert_eq!(recorded.counts("deep"), Counts { calls: 180_000, returns: 0, unwound: 180_000 }, "{by_code}");
        assert_eq!(recorded.counts("leave"), Counts { calls: 6, returns: 0, unwound: 6 }, "{by_code}");
        recorded.assert_balanced("after", 6);
    }
}

#[test]
fn an_exception_unwinds_fifty_frames_and_the_others_return() {
    let traced = Tracing::new(&Program::new("exception.cpp")).check();
    let recorded = &traced.recorded;
    for name in ["plain", "guarded"] {
        assert_eq!(recorded.counts(name), Counts { calls: 100, returns: 0, unwound: 100 }, "{name}");
    }
    for (name, calls) in [("Guard::~Guard", 100), ("survivor", 4), ("outer", 4), ("after", 8), ("main", 1)] {
        recorded.assert_balanced(name, calls);
    }
    let process = recorded.process();
    assert_eq!(process.depths("survivor", EventKind::RETURN), [2; 4]);
    assert_eq!(process.depths("after", EventKind::CALL), [3, 2, 3, 2, 3, 2, 3, 2]);
    assert_eq!(process.depths("plain", EventKind::EXCEPTION), (3..=52).rev().cycle().take(100).collect::<Vec<i64>>());
}

#[test]
fn exceptions_that_are_thrown_again_unwind_each_frame_once() {
    let traced = Tracing::new(&Program::new("rethrow.cpp")).check();
    let recorded = &traced.recorded;
    for name in ["rethrower", "replacer", "keeper", "cleaning"] {
        assert_eq!(recorded.counts(name), Counts { calls: 3, returns: 0, unwound: 3 }, "{name}");
    }
    assert_eq!(recorded.counts("thrower"), Counts { calls: 6, returns: 0, unwound: 6 });
    recorded.assert_balanced("Cleaner::~Cleaner", 3);
    recorded.assert_balanced("main", 1);
    assert_eq!(recorded.process().depths("cleaning", EventKind::EXCEPTION), [1, 1, 1]);
}

#[test]
fn a_cold_part_that_begins_with_a_landing_pad_is_landed_in() {
    let traced = Tracing::new(&Program::new("cold_pad.cpp")).check();
    traced.recorded.assert_balanced("main", 1);
    assert_eq!(traced.recorded.counts("work"), Counts { calls: 6, returns: 3, unwound: 3 });
    // Without its symbol, only the exception table distinguishes the part from a function.
    Tracing::new(&Program::new("cold_pad.cpp").stripped()).check();
}

#[test]
fn an_exception_that_nobody_catches_aborts_as_ever() {
    let tracing = Tracing::new(&Program::new("uncaught.cpp"));
    assert_eq!(tracing.alone().status.signal(), Some(6));
    let traced = tracing.check();
    assert_eq!(traced.output.status.signal(), Some(6));
    assert_eq!(traced.recorded.counts("thrower").calls, 1);
}

#[test]
fn exceptions_in_other_builds() {
    for flags in [&["-O0"][..], &["-O3", "-flto"], &["-static"], &["-static-libgcc", "-static-libstdc++"]] {
        let traced = Tracing::new(&Program::new("exception.cpp").flags(flags)).check();
        let expected = Counts { calls: 100, returns: 0, unwound: 100 };
        assert_eq!(traced.recorded.counts("guarded"), expected, "{flags:?}");
        traced.recorded.assert_balanced("survivor", 4);
        traced.recorded.assert_balanced("outer", 4);
    }
}

#[test]
fn longjmp_in_other_builds() {
    let program = || Program::new("longjmp.c");
    for program in [program().flags(&["-O0"]), program().flags(&["-static"]), program().compiler("musl-gcc")] {
        let traced = Tracing::new(&program).check();
        let expected = Counts { calls: 30, returns: 0, unwound: 30 };
        assert_eq!(traced.recorded.counts("descend"), expected, "{program:?}");
        traced.recorded.assert_balanced("attempt", 3);
    }
}

#[test]
fn a_stack_that_is_walked_is_whole() {
    let traced = Tracing::new(&Program::new("backtrace.c")).check();
    assert_eq!(traced.recorded.counts("descend").calls, 6 + 21 + 1);
    assert_eq!(traced.recorded.counts("walk").calls, 4);
}

#[test]
fn a_stack_that_is_walked_is_whole_and_returns_all_the_same() {
    let traced = Tracing::new(&Program::new("backtrace.c")).check();
    let recorded = &traced.recorded;
    recorded.assert_balanced("descend", 6 + 21 + 1);
    recorded.assert_balanced("walk", 4);
    recorded.assert_balanced("main", 1);
}

/// What it finds is what is there: each frame has its name.
#[test]
fn libunwind_finds_the_frames_that_there_are() {
    let program = Program::new("walked_stack.c").flags(&["-O1", "-rdynamic", "-lunwind"]);
    Tracing::new(&program).check().recorded.assert_balanced("descend", 5);
}

#[test]
fn a_panic_that_is_caught_unwinds_its_frames() {
    let traced = Tracing::new(&Program::new("panic.rs")).check();
    let recorded = &traced.recorded;
    assert_eq!(recorded.counts("descend"), Counts { calls: 123, returns: 0, unwound: 123 });
    recorded.assert_balanced("attempt", 6);
    recorded.assert_balanced("after", 6);
}
