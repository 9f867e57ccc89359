//! Any bytes as what descriptors were seen to stand for: read, and the same when it is written and read again. Whatever two processes
//! with such descriptors make of it, nothing is found where nobody has called anything.
#![no_main]
use std::sync::LazyLock;

use ada_event::{ProcessId, TraceNanos};
use ada_format::atf::{SeenDescriptor, parse_descriptors, parse_priorities, parse_shared_memory};
use ada_span::IoCalls;
use ada_span::io::{ProcessIo, correlate};
use libfuzzer_sys::fuzz_target;

static NO_CALLS: LazyLock<IoCalls> = LazyLock::new(IoCalls::default);

fn written(seen: &[SeenDescriptor]) -> String {
    let line = |it: &SeenDescriptor| {
        let times = format!("{}\t{}\t{}", it.from.0, it.to.0, it.descriptor);
        [&times, &it.name, &it.access, &it.form, &it.local, &it.remote, &it.peer].map(String::as_str).join("\t") + "\n"
    };
    seen.iter().map(line).collect()
}

fn process(pid: u32, parent: Option<ProcessId>, seen: Vec<SeenDescriptor>) -> ProcessIo<'static> {
    ProcessIo {
        pid: ProcessId(pid),
        parent,
        start: TraceNanos(0),
        end: TraceNanos::MAX,
        first_thread: None,
        io: &NO_CALLS,
        waits: &[],
        seen,
        has_slept: Box::new(|_, _, _| false),
        thread_of_handle: Box::new(|_, _| None),
        known_until: None,
    }
}

fuzz_target!(|bytes: &[u8]| {
    // Of two ends of a line, one belongs to the line.
    if bytes.contains(&b'\r') {
        return;
    }
    // The other files of this form.
    assert!(parse_shared_memory(bytes).iter().all(|it| it.from <= it.to));
    assert!(parse_priorities(bytes).iter().all(|it| it.from <= it.to && it.written() != ""));
    let seen = parse_descriptors(bytes);
    assert!(seen.len() <= bytes.iter().filter(|byte| **byte == b'\n').count());
    assert!(seen.iter().all(|it| it.from <= it.to));
    let again = parse_descriptors(written(&seen).as_bytes());
    assert_eq!(again, seen);
    let (one, other) = seen.split_at(seen.len() / 2);
    let processes = [process(1, None, one.to_vec()), process(2, Some(ProcessId(1)), other.to_vec())];
    assert!(correlate(&processes).waits.iter().all(Vec::is_empty));
});
