//! Targets that are enemies of a root ada: another user's process that writes what it likes into the memory that it shares with ada.
//!
//! Whatever it writes, ada ends, in a line, in bounded memory; and it touches no process but the target.

use std::fs;
use std::mem::offset_of;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ada_ring::control::{ExecCall, ExecCalls, LoaderCall};
use ada_ring::pool::CHUNKS_AT;
use ada_ring::{CHUNK_SIZE, Control, ExecStage};

use super::set_up::is_root;
use super::target::Target;
use crate::run::{Started, bounded, command, text};
use crate::trace::program::Program;
use crate::trace::tracing::{Tracing, assert_sound};

/// What ada may take: no target that is not hostile has it take a fifth of this.
const MOST_MEMORY_KIB: u64 = 1 << 20;

/// A process of root's that has nothing to do with it.
struct Bystander(Child);

impl Bystander {
    /// One that has begun to sleep.
    fn new() -> Self {
        let bystander = Self(Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap());
        while !bystander.is_in_sleep() {
            std::thread::sleep(Duration::from_millis(1));
        }
        bystander
    }

    /// On a busy machine it may take a while until it calls what it was started for.
    fn is_in_sleep(&self) -> bool {
        const CLOCK_NANOSLEEP: &str = "230 ";
        fs::read_to_string(format!("/proc/{}/syscall", self.0.id())).is_ok_and(|it| it.starts_with(CLOCK_NANOSLEEP))
    }

    /// Nobody traces it, and it sleeps.
    fn assert_untouched(&self) {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        assert!(status.contains("\nState:\tS") && status.contains("\nTracerPid:\t0\n"), "{status}");
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Records a process that is given these orders (see `hostile.c`) once it is hooked, for two seconds.
fn withstands(orders: impl Fn(&Bystander, u32, u32) -> Vec<String>) {
    if !is_root() {
        eprintln!("not tested: only root can start processes of other users");
        return;
    }
    let mut target = Target::of_nobody("hostile.c");
    let bystander = Bystander::new();
    let folder = tempfile::tempdir().unwrap();
    let sessions = folder.path().join("sessions");
    let id = target.id().to_string();
    let mut command = target.ada(&["attach", &id, "--quiet", "--max-overhead", "none", "--duration", "2s", "--output"]);
    command.arg(&sessions);
    let ada = Started::new(command, b"");
    let orders = orders(&bystander, target.id(), ada.id());
    for order in &orders {
        assert_eq!(target.asked(order), "done\n", "{order}");
    }
    let (begun, mut most) = (Instant::now(), 0);
    while let Some(memory) = peak_memory(ada.id()) {
        most = most.max(memory);
        bystander.assert_untouched();
        assert!(begun.elapsed() < Duration::from_secs(60), "ada does not end: {orders:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
    let output = ada.finish();
    let words = text(&output.stderr);
    assert!(most > 0 && most < MOST_MEMORY_KIB, "{most} KiB: {orders:?}");
    assert!(words.lines().count() <= 1 && !words.contains("panicked"), "{orders:?}: {words}");
    assert!(words.is_empty() || words.starts_with("ada: "), "{orders:?}: {words}");
    assert!(matches!(output.status.code(), Some(0 | 1 | 4 | 125)), "{:?}: {orders:?}: {words}", output.status);
    let beside: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(beside.iter().all(|name| name == "sessions"), "{beside:?}");
}

/// The most that a process had in memory, while it runs.
fn peak_memory(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok())
}

fn keep(offset: usize, bytes: usize, value: u64) -> String {
    format!("keep {offset} {bytes} {value}")
}

#[test]
fn threads_that_are_not_the_targets_are_not_seized() {
    let call = offset_of!(Control, execs) + offset_of!(ExecCalls, calls);
    let asks = |pid: u32, tid: u32| {
        vec![
            keep(call + offset_of!(ExecCall, pid), 4, pid.into()),
            keep(call + offset_of!(ExecCall, tid), 4, tid.into()),
            keep(call + offset_of!(ExecCall, path), 8, 4096),
            keep(call + offset_of!(ExecCall, stage), 4, ExecStage::Asked as u64),
        ]
    };
    withstands(|bystander, _, _| asks(bystander.0.id(), bystander.0.id()));
    withstands(|bystander, target, _| asks(target, bystander.0.id()));
    withstands(|_, _, ada| asks(ada, ada));
}

#[test]
fn processes_that_are_not_the_targets_are_not_opened() {
    let call = offset_of!(Control, loader);
    let waits = |pid: u32| {
        vec![
            keep(call + offset_of!(LoaderCall, made), 4, 1),
            keep(call + offset_of!(LoaderCall, result), 8, 4096),
            keep(call + offset_of!(LoaderCall, waiting), 4, pid.into()),
        ]
    };
    withstands(|bystander, _, _| waits(bystander.0.id()));
    withstands(|_, _, ada| waits(ada));
    withstands(|_, _, _| waits(1));
    // It does what it is asked for with lies.
    withstands(|_, target, _| waits(target));
}

/// Records, their headers, and who has which chunk.
#[test]
fn whatever_is_in_the_rings_is_recorded_or_not() {
    withstands(|_, _, _| vec![format!("random {CHUNKS_AT} {} 77", 4 * CHUNK_SIZE)]);
    let states = offset_of!(Control, chunks);
    withstands(|_, _, _| {
        let headers = (0..4).map(|chunk| CHUNKS_AT + (chunk + 1) * CHUNK_SIZE - 1024);
        let mut orders: Vec<String> = headers.map(|header| format!("random {header} 128 {header}")).collect();
        orders.push(format!("random {states} 64 5"));
        orders
    });
}

/// How many chunks and counters there are, and everything else that is counted.
#[test]
fn counts_of_the_control_block_are_not_believed() {
    for value in [u64::from(u32::MAX), 0] {
        withstands(|_, _, _| {
            let words = [offset_of!(Control, chunk_end), offset_of!(Control, recorder_gone)];
            words.map(|offset| keep(offset, 4, value)).to_vec()
        });
    }
    withstands(|_, _, _| vec![format!("random 0 {} 99", offset_of!(Control, loader))]);
}

/// All tables of the control block, one after the other, and then all of it.
#[test]
fn words_at_random_do_not_keep_ada_from_ending() {
    let tables = [
        offset_of!(Control, loader),
        offset_of!(Control, execs),
        offset_of!(Control, crashes),
        offset_of!(Control, edits_made),
        offset_of!(Control, handlers),
        offset_of!(Control, counter_sharers),
        offset_of!(Control, chunks),
        size_of::<Control>(),
    ];
    for table in tables.windows(2) {
        withstands(|_, _, _| vec![format!("random {} {} {}", table[0], table[1] - table[0], 3 + table[0])]);
    }
    for seed in 1..=4 {
        withstands(|_, _, _| vec![format!("random 0 {} {seed}", size_of::<Control>())]);
    }
}

/// A worker that has given up its rights, and shares ada's memory with its master since the fork.
#[test]
fn a_worker_of_another_user_does_not_change_what_its_master_runs() {
    if !is_root() {
        eprintln!("not tested: only root can become another user");
        return;
    }
    let program = Program::new("hostile_worker.c").build();
    let alone = bounded(Command::new(&program), b"");
    assert_eq!((alone.status.code(), text(&alone.stderr)), (Some(0), ""));
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..5 {
        let mut command = command();
        command.args(["trace", "--quiet", "--output"]).arg(folder.path()).arg("--").arg(&program);
        let traced = bounded(command, b"");
        assert_eq!((traced.status.code(), text(&traced.stdout)), (Some(0), text(&alone.stdout)));
    }
}

/// Everything that both have recorded is there, and nothing of the one in what the other can read or write.
#[test]
fn a_worker_that_gives_up_its_rights_has_rings_of_its_own() {
    if !is_root() {
        eprintln!("not tested: only root can become another user");
        return;
    }
    let program = Program::new("own_rings.c").flags(&["-pthread"]);
    for options in [&[][..], &["--detail", "all"], &["--store", "raw"]] {
        let traced = Tracing::new(&program).option(options).traced();
        assert_eq!(text(&traced.output.stdout), "its own rings, 0 of its master's chunks\n", "{options:?}");
        traced.recorded.assert_no_drops();
        traced.recorded.assert_nested();
        for (function, count) in [("master_step", "master"), ("worker_step", "worker"), ("thread_step", "thread")] {
            traced.recorded.assert_balanced(function, traced.printed(count));
        }
        assert_sound(traced.recorded.path());
    }
    for deed in ["scribble", "forge"] {
        let traced = Tracing::new(&program).argument(deed).traced();
        assert_eq!(text(&traced.output.stdout), "its own rings, 0 of its master's chunks\n");
        traced.recorded.assert_balanced("master_step", traced.printed("master"));
        let master = traced.recorded.processes.iter().find(|process| process.counts("master_step").calls > 0).unwrap();
        assert_eq!(master.counts("worker_step").calls, 0, "{deed}");
    }
}
