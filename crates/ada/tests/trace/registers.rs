//! What is captured of a call beside its integer registers: vector registers, and the stack.

use ada_format::atf::{Payload, Session};

use super::program::Program;
use super::tracing::Tracing;

/// The payloads of the calls and returns of a function.
fn with_payloads<T>(options: &[&str], function: &str, read: impl Fn(&Payload<'_>) -> T) -> Vec<T> {
    let tracing = Tracing::new(&Program::new("known_registers.c").flags(&["-O1"]));
    let traced = tracing.option(&["--detail", "all"]).option(options).check();
    let session = Session::open(traced.recorded.path()).unwrap();
    let process = traced.recorded.process();
    let thread = &session.processes()[0].threads[0];
    let detail = thread.detail().unwrap();
    let events = thread.index().events().filter(|event| process.row(event.function).name == function);
    events.map(|event| read(&detail.record(event.detail).unwrap().payload().unwrap())).collect()
}

#[test]
fn vector_registers_are_captured_where_that_is_wanted() {
    let low = |register: u128| f64::from_bits(register as u64);
    let vectors = |payload: &Payload<'_>| match payload {
        Payload::X86Call(call) => call.vectors.map(|registers| vec![low(registers[0]), low(registers[1])]),
        Payload::X86Return(back) => back.vectors.map(|registers| vec![low(registers[0])]),
        other => panic!("{other:?}"),
    };
    let captured = with_payloads(&["--vectors"], "scaled", vectors);
    assert_eq!(captured, [Some(vec![1.5, 2.25]), Some(vec![3.375])]);
    assert_eq!(with_payloads(&[], "scaled", vectors), [None, None]);
}

#[test]
fn so_much_of_the_stack_is_captured_as_is_wanted() {
    let above = |window: &str| {
        let stack = |payload: &Payload<'_>| match payload {
            Payload::X86Call(call) => Some((call.return_address.0, call.stack.to_vec())),
            _ => None,
        };
        let captured = with_payloads(&["--stack-window", window], "above", stack);
        captured.into_iter().flatten().next().unwrap()
    };
    let (_, none) = above("0");
    assert!(none.is_empty());
    for window in ["13", "24", "512"] {
        let (return_address, stack) = above(window);
        // What lies at the stack pointer: where it returns to, and the arguments for which there are no registers.
        let words = [return_address, 0x1122_3344_5566_7788, 0x1122_3344_5566_7700];
        let expected: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let length = window.parse::<usize>().unwrap();
        // A window ends with the page, where the next one may not be readable.
        assert!(stack.len() == length || length == 512 && stack.len() >= 24, "{} of {window}", stack.len());
        let known = stack.len().min(expected.len());
        assert_eq!(stack[..known], expected[..known], "{window}");
    }
}
