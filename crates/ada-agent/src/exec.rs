//! A thread that is about to run another program waits until the recorder has taken charge of it.

use ada_ring::{Control, ExecStage};
use core::sync::atomic::Ordering;

use crate::memory::pool;
use crate::recorder::{Patience, WAIT_STEP};
use crate::syscall;

/// Tells the recorder, and returns when it may go on. `path` is the first argument.
pub(crate) fn ask(path: u64) {
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
    exec.pid.store(syscall::process(), Ordering::Relaxed);
    exec.tid.store(syscall::thread(), Ordering::Relaxed);
    exec.path.store(path, Ordering::Relaxed);
    stage.store(ExecStage::Asked as u32, Ordering::Release);
    syscall::futex_wake(stage);
    while stage.load(Ordering::Acquire) != ExecStage::Go as u32 {
        if !patience.is_left() {
            break;
        }
        syscall::futex_wait(stage, ExecStage::Asked as u32, WAIT_STEP);
    }
    stage.store(ExecStage::Free as u32, Ordering::Release);
    syscall::futex_wake(stage);
}

/// The other program could not be run.
pub(crate) fn failed() {
    pool().control().exec.failed.store(syscall::thread(), Ordering::Release);
}

fn change(control: &Control, from: ExecStage, to: ExecStage) -> Result<u32, u32> {
    control.exec.stage.compare_exchange(from as u32, to as u32, Ordering::AcqRel, Ordering::Relaxed)
}
