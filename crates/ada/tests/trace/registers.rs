//! What is captured of a call beside its integer registers: vector registers, and the stack.

use ada_format::atf::{Payload, Session};

use super::program::Program;
use super::tracing::Tracing;

/// The payloads of the calls and returns of a function, on the first thread of a program.
fn payloads<T>(program: &'static str, options: &[&str], function: &str, read: impl Fn(&Payload<'_>) -> T) -> Vec<T> {
    let tracing = Tracing::new(&Program::new(program).flags(&["-O1", "-g", "-pthread"]));
    let traced = tracing.option(&["--detail", "all"]).option(options).check();
    let session = Session::open(traced.recorded.path()).unwrap();
    let process = traced.recorded.process();
    let thread = &session.processes()[0].threads[0];
    let detail = thread.detail().unwrap();
    let events = thread.index().events().filter(|event| process.row(event.function).name == function);
    events.map(|event| read(&detail.record(event.detail).unwrap().payload().unwrap())).collect()
}

/// The low halves of as many vector registers as `scaled` has arguments, or results.
fn vectors(payload: &Payload<'_>) -> Option<Vec<f64>> {
    let low = |register: u128| f64::from_bits(register as u64);
    match payload {
        Payload::X86Call(call) => call.vectors.map(|registers| vec![low(registers[0]), low(registers[1])]),
        Payload::X86Return(back) => back.vectors.map(|registers| vec![low(registers[0])]),
        other => panic!("{other:?}"),
    }
}

/// Where a call returns to, and what was captured of the stack.
fn stack(payload: &Payload<'_>) -> Option<(u64, Vec<u8>)> {
    match payload {
        Payload::X86Call(call) => Some((call.return_address.0, call.stack.to_vec())),
        _ => None,
    }
}

#[test]
fn vector_registers_are_captured_where_that_is_wanted() {
    // With its values, it is a probed function.
    for args in ["none", "scaled"] {
        let scaled =
            |options: &[&str]| payloads("known_registers.c", &[&["--args", args], options].concat(), "scaled", vectors);
        assert_eq!(scaled(&["--vectors"]), [Some(vec![1.5, 2.25]), Some(vec![3.375])], "{args}");
        assert_eq!(scaled(&[]), [None, None], "{args}");
    }
}

#[test]
fn so_much_of_the_stack_is_captured_as_is_wanted() {
    let above = |window: &str, args: &str| {
        let options = ["--stack-window", window, "--args", args];
        let found = payloads("known_registers.c", &options, "above", stack).into_iter().flatten().next();
        found.unwrap_or_else(|| panic!("no call with {options:?}"))
    };
    // With its values, it is a probed function.
    for args in ["none", "above"] {
        let (_, none) = above("0", args);
        assert!(none.is_empty());
        for window in ["13", "24", "512"] {
            let (return_address, stack) = above(window, args);
            // What lies at the stack pointer: where it returns to, and the arguments for which there are no registers.
            let words = [return_address, 0x1122_3344_5566_7788, 0x1122_3344_5566_7700];
            let expected: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let length = window.parse::<usize>().unwrap();
            // A window ends with the page, where the next one may not be readable.
            assert!(stack.len() == length || length == 512 && stack.len() >= 24, "{} of {window}", stack.len());
            let known = stack.len().min(expected.len());
            assert_eq!(stack[..known], expected[..known], "{window}, --args {args}");
        }
    }
}

/// Stubs keep what the probes want of some of these, the agent of others, and of two nothing is kept but what any call has.
#[test]
fn probed_calls_have_their_stack_and_vector_registers_too() {
    let known = 0x1122_3344_5566_7788_u64.to_le_bytes();
    for function in ["qsort", "sem_post", "pthread_create", "getenv", "prctl", "syscall"] {
        for options in [&[][..], &["--vectors"]] {
            let read = |payload: &Payload<'_>| (stack(payload), vectors(payload).is_some());
            let captured = payloads("probed_stacks.c", options, function, read);
            assert!(captured.iter().all(|(_, has_vectors)| *has_vectors != options.is_empty()), "{function}");
            let windows: Vec<_> = captured.iter().filter_map(|(stack, _)| stack.as_ref()).collect();
            assert!(windows.iter().all(|(back, stack)| stack[..8] == back.to_le_bytes()), "{function}");
            let is_ours =
                |(_, stack): &&(u64, Vec<u8>)| stack.len() == 128 && stack.windows(8).any(|word| word == known);
            assert!(windows.iter().any(is_ours), "{function}: {windows:x?}");
            assert!(captured.len() >= 2 * windows.len(), "{function}: each call has a return, with registers");
        }
    }
}
