//! Programs that are particular about what a stranger takes of their address space, registers, stacks and system calls.

use super::program::Program;
use super::tracing::{Traced, Tracing};

/// Runs a program alone and traced and compares.
fn check(program: &Program) -> Traced {
    Tracing::new(program).check()
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
        Tracing::new(&program).check_output();
    }
}

/// A filter kills whoever makes another system call than those that it allows.
#[test]
fn programs_that_forbid_themselves_system_calls_live() {
    let program = Program::new("own_filter.c").flags(&["-O1"]);
    // The kernel shows filters that a program inherits to the privileged only.
    let is_privileged = std::fs::read_to_string("/proc/self/status").unwrap().contains("\nUid:\t0\t0\t");
    let ways = ["prctl", "system call", "strict", "fork", "crash", "exec"];
    for way in ways.into_iter().filter(|way| is_privileged || *way != "exec") {
        let tracing = Tracing::new(&program).argument(way);
        let traced = tracing.check_output();
        let calls = match way {
            // The kernel takes the clock away too, and there is nothing to record.
            "strict" => 0,
            // The functions are those of the program that was run first.
            "exec" => 0,
            _ => 100 * 465,
        };
        traced.recorded.assert_balanced("fib", calls);
    }
}

#[test]
fn a_program_that_uses_the_gs_base_keeps_it() {
    let traced = check(&Program::new("own_gs.c").flags(&["-O1", "-pthread"]));
    traced.recorded.assert_balanced("fib", 0);
}

/// Why a function of a program is left alone; empty if it is hooked at all its ends.
fn left_alone(traced: &Traced, name: &str) -> String {
    let row = traced.recorded.process().own().functions.iter().find(|row| row.name == name).unwrap();
    row.reason.clone()
}

/// The kernel knows them by their addresses: none of their instructions may run elsewhere.
#[test]
fn restartable_sequences_run_where_they_are() {
    let traced = check(&Program::new("restartable.c").flags(&["-O1", "-pthread"]));
    assert_eq!(left_alone(&traced, "add"), "restartable");
}

#[test]
fn tables_behind_functions_are_no_code() {
    let traced = check(&Program::new("table_behind.c").flags(&["-O1"]));
    for name in ["first", "second", "third"] {
        assert_eq!(left_alone(&traced, name), "", "{name}");
    }
}

#[test]
fn threads_that_share_a_thread_pointer_are_distinguished() {
    let program = Program::new("shared_thread_pointer.c").flags(&["-O1"]);
    let traced = check(&program);
    // fib(10) to fib(13) fifty times each, and fib(9) four times.
    traced.recorded.assert_balanced("fib", 50 * (177 + 287 + 465 + 753) + 4 * 109);
    // The records of their first calls may be wrong.
    Tracing::new(&program).argument("instruction").check_output();
}

/// The calls of sixteen stacks have one another's depths.
#[test]
fn stacks_that_are_almost_full_are_enough() {
    let program = Program::new("tiny_stacks.c").flags(&["-O1", "-fno-stack-protector"]);
    for options in [&[][..], &["--detail", "all"]] {
        Tracing::new(&program).option(options).check_output();
    }
}

#[test]
fn programs_that_read_their_own_code_find_what_they_have() {
    let traced = check(&Program::new("own_code.c").flags(&["-O1"]));
    // What lies right behind the copied function is read with it, and left alone too.
    traced.recorded.assert_balanced("behind", 0);
}

/// What they see is where the program's own instructions are, and they can go on from there.
#[test]
fn handlers_of_faults_see_the_addresses_that_the_program_has() {
    for flags in [&["-O1"][..], &["-O2"], &["-O2", "-static"], &["-O1", "-no-pie"]] {
        let program = Program::new("fault_handlers.c").flags(flags);
        for options in [&[][..], &["--detail", "all"]] {
            Tracing::new(&program).option(options).check_output();
        }
    }
}

/// A signal comes between any two instructions. Its handler sees the registers that the program would have without hooks,
/// and what it changes, or hands to `setcontext`, is what the thread goes on with. It may have another function called first, or
/// leave for good.
#[test]
fn handlers_see_the_registers_that_the_program_has() {
    let program = Program::new("interrupted.c").flags(&["-O1"]);
    for options in [&[][..], &["--detail", "all"], &["--ring-memory", "1M"]] {
        for how in ["returns", "copies", "registers", "leaves", "injects"] {
            Tracing::new(&program).option(options).argument(how).check_output();
        }
    }
}

/// The same while a budget has the hottest functions counted, and then left alone: the handler is one of them.
#[test]
fn handlers_are_not_left_out_for_a_budget() {
    let program = Program::new("interrupted.c").flags(&["-O1", "-DSAMPLES=30000"]);
    Tracing::new(&program).option(&["--max-overhead", "5%"]).argument("injects").check_output();
}

/// What a handler changes does not make calls of what it interrupts.
#[test]
fn calls_are_recorded_once_though_their_registers_change_meanwhile() {
    for options in [&[][..], &["--detail", "all"], &["--ring-memory", "1M"]] {
        let program = Program::new("changed_register.c").flags(&["-O1"]);
        let traced = Tracing::new(&program).option(options).check_output();
        traced.recorded.assert_balanced("middle", 100_000);
        traced.recorded.assert_balanced("leaf", 200_000);
    }
}

#[test]
fn profilers_see_the_programs_frames() {
    let program = Program::new("profiled.c").flags(&["-O1", "-g", "-rdynamic"]);
    for options in [&[][..], &["--detail", "all"], &["--ring-memory", "1M"], &["--args", "own"]] {
        Tracing::new(&program).option(options).check_output();
    }
}

/// A handler throws from where the fault was.
#[test]
fn exceptions_come_out_of_faults() {
    for level in ["-O1", "-O2", "-Os"] {
        check(&Program::new("fault_exceptions.cpp").flags(&[level, "-fnon-call-exceptions"]));
    }
}

/// Nothing of what records is a descriptor of the program's. The child's calls end with its exec, and do not nest.
#[test]
fn a_program_that_closes_all_descriptors_is_recorded_on() {
    let traced = Tracing::new(&Program::new("closed_descriptors.c").flags(&["-O1"])).check_output();
    // fib(15) and fib(10) in the parent, fib(12) in the child.
    traced.recorded.assert_balanced("fib", 1973 + 177 + 465);
}

#[test]
fn hundreds_of_suspended_contexts_go_on_where_they_were() {
    let traced = Tracing::new(&Program::new("many_contexts.c")).argument("150").check_output();
    assert_eq!(traced.recorded.counts("work").calls, 150 * 3 * 9);
}

/// What a stopped thread was in the middle of keeps no other waiting.
#[test]
fn threads_that_are_stopped_anywhere_keep_nobody_waiting() {
    Tracing::new(&Program::new("stopped_threads.c").flags(&["-O1", "-pthread"])).check_output();
}
