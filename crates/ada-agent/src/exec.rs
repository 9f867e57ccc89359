//! A thread that is about to run another program waits until the recorder has taken charge of it.

use ada_ring::{Control, ExecStage};
use core::sync::atomic::Ordering;

use crate::arch::number::FUTEX;
use crate::memory::pool;
use crate::recorder::{Patience, WAIT_STEP};
use crate::syscall;

/// Tells the recorder, and returns when it may go on. `path` is the first argument.
pub(crate) fn ask(path: u64) {
    if !syscall::may_ask_who() || !syscall::may(FUTEX) {
        return;
    }
    let pool = pool();
    let control = pool.control();
    let (stage, exec) = (&control.exec.stage, &control.exec);
    let mut patience = Patience::new(control);
    while let Err(other) = change(control, ExecStage::Free, ExecStage::Taken) {
        if !patience.is_left() {
            return;
        }
        syscall::futex_wait(stage, other, WAIT_STEP);
    }
    let thread = syscall::thread();
    exec.pid.store(syscall::process(), Ordering::Relaxed);
    exec.tid.store(thread, Ordering::Relaxed);
    exec.path.store(path, Ordering::Relaxed);
    stage.store(ExecStage::Asked as u32, Ordering::Release);
    syscall::futex_wake(stage);
    // Any other stage is an answer, which the recorder may have taken back since, and so is another thread's question.
    let is_open =
        || stage.load(Ordering::Acquire) == ExecStage::Asked as u32 && exec.tid.load(Ordering::Relaxed) == thread;
    while is_open() {
        if !patience.is_left() {
            let _ = change(control, ExecStage::Asked, ExecStage::Free);
            break;
        }
        syscall::futex_wait(stage, ExecStage::Asked as u32, WAIT_STEP);
    }
    if exec.tid.load(Ordering::Relaxed) == thread {
        let _ = change(control, ExecStage::Go, ExecStage::Free);
    }
    syscall::futex_wake(stage);
}

/// The other program could not be run.
pub(crate) fn failed() {
    if !syscall::may_ask_who() {
        return;
    }
    pool().control().exec.failed.store(syscall::thread(), Ordering::Release);
}

fn change(control: &Control, from: ExecStage, to: ExecStage) -> Result<u32, u32> {
    control.exec.stage.compare_exchange(from as u32, to as u32, Ordering::AcqRel, Ordering::Relaxed)
}
