//! Programs that are particular about what a stranger takes of their address space, registers, stacks and system calls.

use super::program::Program;
use super::tracing::{Traced, Tracing};

/// Runs a program alone and traced, with returns caught at exits, and compares.
fn check(program: &Program) -> Traced {
    Tracing::new(program).option(&["--returns", "exits"]).check()
}

#[test]
fn addresses_that_a_program_asks_for_are_free() {
    for flags in [&["-O1"][..], &["-O1", "-no-pie"], &["-O1", "-static"]] {
        check(&Program::new("wanted_addresses.c").flags(flags));
    }
}

#[test]
fn sanitizers_find_the_address_space_that_they_need() {
    for sanitizer in ["-fsanitize=address,undefined", "-fsanitize=thread", "-fsanitize=leak"] {
        let program = Program::new("sanitized.c").flags(&["-O1", "-pthread", "-Wno-unused-result", sanitizer]);
        Tracing::new(&program).option(&["--returns", "exits"]).check_output();
    }
}

/// A filter kills whoever makes another system call than those that it allows.
#[test]
fn programs_that_forbid_themselves_system_calls_live() {
    let program = Program::new("own_filter.c").flags(&["-O1"]);
    for way in ["prctl", "system call", "strict", "fork", "crash"] {
        let tracing = Tracing::new(&program).argument(way).option(&["--returns", "exits"]);
        let traced = tracing.check_output();
        // Where the kernel takes the clock away too, there is nothing to record.
        traced.recorded.assert_balanced("fib", if way == "strict" { 0 } else { 100 * 465 });
    }
}
