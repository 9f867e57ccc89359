//! A thread that is about to run another program waits until the recorder has taken charge of it.

use ada_ring::control::{ExecCall, ExecCalls};
use ada_ring::{Control, ExecStage};
use core::sync::atomic::Ordering;

use crate::arch::number::FUTEX;
use crate::config::{Item, get};
use crate::memory::pool;
use crate::recorder::{Patience, WAIT_STEP};
use crate::syscall;

/// Notifies the recorder, and returns when the thread may go on. `path` is the first argument.
pub(crate) fn ask(path: u64) {
    if !syscall::may_ask_who() || !syscall::may(FUTEX) {
        return;
    }
    let pool = pool();
    let control = pool.control();
    let mut patience = Patience::new(pool);
    let thread = syscall::thread();
    let Some(call) = claim(control, thread, &mut patience) else { return };
    call.pid.store(syscall::process(), Ordering::Relaxed);
    call.program.store(get(Item::Program) as u32, Ordering::Relaxed);
    call.path.store(path, Ordering::Relaxed);
    call.stage.store(ExecStage::Asked as u32, Ordering::Release);
    control.execs.asked.fetch_add(1, Ordering::Release);
    syscall::futex_wake(&control.execs.asked);
    loop {
        let stage = call.stage.load(Ordering::Acquire);
        let is_open = stage == ExecStage::Asked as u32 || stage == ExecStage::Heard as u32;
        // The recorder gives the entry back, which may be another's by now, if it does not follow.
        if !is_open || call.tid.load(Ordering::Acquire) != thread {
            return;
        }
        if !patience.lasts() && call.advance(ExecStage::Asked, ExecStage::Idle) {
            give_back(&control.execs, call);
            return;
        }
        syscall::futex_wait(&call.stage, stage, WAIT_STEP);
    }
}

/// The other program could not be run.
pub(crate) fn failed() {
    if !syscall::may_ask_who() {
        return;
    }
    if let Some(call) = pool().control().execs.of_thread(syscall::thread()) {
        call.advance(ExecStage::Go, ExecStage::Failed);
    }
}

/// The entry that a thread has from its last try, or a free one.
fn claim<'c>(control: &'c Control, thread: u32, patience: &mut Patience) -> Option<&'c ExecCall> {
    let execs = &control.execs;
    let tries_again = |call: &&ExecCall| {
        call.advance(ExecStage::Failed, ExecStage::Idle) || call.advance(ExecStage::Go, ExecStage::Idle)
    };
    if let Some(call) = execs.of_thread(thread).filter(tries_again) {
        return Some(call);
    }
    loop {
        let freed = execs.freed.load(Ordering::Acquire);
        if let Some(call) = execs.claim(thread) {
            return Some(call);
        }
        if !patience.lasts() {
            return None;
        }
        syscall::futex_wait(&execs.freed, freed, WAIT_STEP);
    }
}

fn give_back(execs: &ExecCalls, call: &ExecCall) {
    execs.give_back(call);
    syscall::futex_wake(&execs.freed);
}
