//! Fatal signals: the record, the last call, and a death that is the program's own.

use std::fs;

use ada_event::{EventKind, ProcessId, ThreadId};
use ada_format::atf::{Crash, Manifest, Session};

use crate::run::text;
use crate::trace::program::Program;
use crate::trace::recorded::{RecordedEvent, RecordedProcess};
use crate::trace::tracing::{Traced, Tracing};

fn manifest(traced: &Traced) -> Manifest {
    let session = Session::open(traced.recorded.path()).unwrap();
    assert_eq!(session.processes().len(), 1);
    session.processes()[0].manifest.clone().unwrap()
}

/// The name of a function as a crash has it.
fn name_of(process: &RecordedProcess, id: &str) -> String {
    let (module, index) = id.split_once(':').unwrap();
    let module = process.modules.iter().find(|known| known.id.to_string() == module).unwrap();
    module.functions[index.parse::<usize>().unwrap()].name.clone()
}

fn frame_names(traced: &Traced, crash: &Crash) -> Vec<String> {
    crash.frames.iter().map(|id| name_of(traced.recorded.process(), id)).collect()
}

/// The calls of the program's own functions that did not come to an end, oldest first.
fn open_calls(traced: &Traced) -> Vec<String> {
    let process = traced.recorded.process();
    let mut open: Vec<String> = Vec::new();
    for thread in &process.threads {
        let is_own = |event: &&RecordedEvent| event.function.module() == process.own().id;
        for event in thread.iter().filter(is_own).filter(|event| process.row(event.function).verdict == "hooked") {
            match event.kind {
                EventKind::CALL => open.push(process.row(event.function).name.clone()),
                _ => drop(open.pop()),
            }
        }
    }
    open
}

#[test]
fn a_fatal_signal_is_recorded_with_thread_address_registers_and_frames() {
    for (how, signal, fault) in [("segv", 11, true), ("fpe", 8, true), ("ill", 4, true), ("trap", 5, true)] {
        for on_thread in [false, true] {
            let tracing = Tracing::new(&Program::new("crash.c")).argument(how);
            let traced = if on_thread { tracing.argument("thread") } else { tracing }.check();
            let manifest = manifest(&traced);
            let [crash] = &manifest.crashes[..] else { panic!("{how}: {:?}", manifest.crashes) };
            assert_eq!((crash.signal, crash.code > 0), (signal, fault), "{how}");
            assert_eq!(manifest.exit.as_ref().unwrap().signal, Some(signal));
            assert!(manifest.time_start_ns <= crash.time_ns);
            assert_eq!(crash.registers.len(), 18);
            assert_ne!(crash.registers["rip"].0, 0);
            if how == "segv" {
                assert_eq!(crash.address.unwrap().0, 0x1230);
            }
            let frames = frame_names(&traced, crash);
            assert_eq!(frames[..2], ["crash_now", "middle"], "{how}");
            assert!(frames.iter().any(|name| name == if on_thread { "body" } else { "main" }), "{frames:?}");
            assert_eq!(crash.depth, frames.len() as u64);
            let thread = manifest.threads.iter().find(|thread| thread.id == crash.thread).unwrap();
            assert_eq!(
                thread.tid == manifest.pid.map(ProcessId::first_thread),
                !on_thread,
                "the thread that crashed is named"
            );
        }
    }
}

#[test]
fn the_call_that_crashed_is_the_last_record_and_its_callers_are_open() {
    for how in ["segv", "ill", "kill"] {
        let traced = Tracing::new(&Program::new("crash.c")).argument(how).check();
        assert_eq!(open_calls(&traced), ["main", "middle", "crash_now"], "{how}");
        let process = traced.recorded.process();
        let last = process.threads[0].last().unwrap();
        assert_eq!(last.kind, EventKind::CALL);
        let name = &process.row(last.function).name;
        assert_eq!(name, if how == "kill" { "kill" } else { "crash_now" });
    }
}

#[test]
fn a_signal_that_was_sent_is_recorded_with_its_sender_and_still_kills() {
    for (how, signal) in [("abort", 6), ("raise", 11)] {
        for on_thread in [false, true] {
            let tracing = Tracing::new(&Program::new("crash.c")).argument(how);
            let traced = if on_thread { tracing.argument("thread") } else { tracing }.check();
            let manifest = manifest(&traced);
            let [crash] = &manifest.crashes[..] else { panic!("{how}: {:?}", manifest.crashes) };
            assert_eq!((crash.signal, crash.sender_pid, crash.address), (signal, manifest.pid, None), "{how}");
            assert!(frame_names(&traced, crash).contains(&"crash_now".to_owned()));
        }
    }
}

#[test]
fn where_no_handler_can_run_there_is_the_signal_alone() {
    for (how, signal) in [("kill", 9), ("overflow", 11)] {
        let traced = Tracing::new(&Program::new("crash.c")).argument(how).check();
        let manifest = manifest(&traced);
        assert_eq!(manifest.crashes, []);
        assert_eq!(manifest.exit.unwrap().signal, Some(signal), "{how}");
    }
}

#[test]
fn a_program_finds_default_actions_and_its_own_handlers_and_nothing_else() {
    for reporter in [false, true] {
        let tracing = Tracing::new(&Program::new("own_handler.c"));
        let traced = if reporter { tracing.argument("reporter") } else { tracing }.check_output();
        assert!(text(&traced.output.stdout).contains("survived 3"));
        // Handled faults are no crashes; the last one is.
        let manifest = manifest(&traced);
        let [crash] = &manifest.crashes[..] else { panic!("{:?}", manifest.crashes) };
        assert_eq!((crash.signal, crash.address.unwrap().0), (11, 0x1230));
        assert_eq!(frame_names(&traced, crash)[0], "fault");
    }
}

#[test]
fn a_rust_program_still_reports_its_stack_overflow() {
    let tracing = Tracing::new(&Program::new("overflow.rs"));
    let traced = tracing.check_output();
    assert!(text(&traced.output.stderr).contains("overflowed its stack"));
    let manifest = manifest(&traced);
    assert_eq!(manifest.crashes.iter().map(|crash| crash.signal).collect::<Vec<_>>(), [6]);
}

/// Where the agent's own handler has no room, the program still ends by the signal that it sends itself.
#[test]
fn a_handler_with_a_small_stack_can_abort() {
    let traced = Tracing::new(&Program::new("small_signal_stack.c")).check_output();
    assert_eq!(text(&traced.output.stderr).trim_end(), "gives up");
    assert_eq!(manifest(&traced).crashes.iter().map(|crash| crash.signal).collect::<Vec<_>>(), [6]);
}

#[test]
fn the_crash_of_a_static_program_is_recorded() {
    let program = Program::new("crash.c").flags(&["-static"]);
    let traced = Tracing::new(&program).argument("segv").check();
    assert_eq!(manifest(&traced).crashes.len(), 1);
    // Nobody knows by which function a stripped one would look at signal actions, so its signals are left alone.
    let traced = Tracing::new(&program.stripped()).argument("segv").check_output();
    let manifest = manifest(&traced);
    assert_eq!(manifest.crashes, []);
    assert!(manifest.limits.iter().any(|limit| limit.to_string().contains("no crash records")));
}

#[test]
fn children_that_crash_tell_of_it_in_their_own_folders() {
    let traced = Tracing::new(&Program::new("crash_children.c")).check();
    let session = Session::open(traced.recorded.path()).unwrap();
    let crashes: Vec<usize> =
        session.processes().iter().map(|process| process.manifest.as_ref().unwrap().crashes.len()).collect();
    let children = crashes.len() - 1;
    assert_eq!(children, 100);
    assert_eq!(crashes.iter().sum::<usize>(), children, "more than there are slots, and none is lost");
    for process in session.processes() {
        let manifest = process.manifest.as_ref().unwrap();
        let own: Vec<ThreadId> = manifest.threads.iter().map(|thread| thread.id).collect();
        assert!(manifest.crashes.iter().all(|crash| own.contains(&crash.thread)));
    }
}

#[test]
fn the_summary_names_the_signal_and_the_function() {
    let tracing = Tracing::new(&Program::new("crash.c")).argument("segv");
    let mut command = crate::run::command();
    command.args(["trace", "--output"]).arg(tracing.sessions()).arg("--").arg(Program::new("crash.c").build());
    let output = crate::run::bounded(
        {
            command.arg("segv");
            command
        },
        b"",
    );
    let words = text(&output.stderr);
    assert!(words.contains("ada: SIGSEGV hit thread ") && words.contains(" in crash_now\n"), "{words}");
    assert_eq!(fs::read_dir(tracing.sessions()).unwrap().count(), 1);
}
