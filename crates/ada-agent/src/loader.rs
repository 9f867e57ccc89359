//! The loader has mapped or unmapped libraries: waits until the recorder has hooked the new ones.

use core::sync::atomic::Ordering;

use ada_ring::control::ASKING;
use ada_ring::orders::MAX_RINGS;

use crate::arch::number::FUTEX;
use crate::config::{Item, get};
use crate::memory::pool;
use crate::recorder::{Patience, WAIT_STEP};
use crate::syscall;

/// `r_debug.r_state` once the list of libraries is complete.
const CONSISTENT: u32 = 0;
const STATE_OFFSET: u64 = 24;

/// Notifies the recorder, makes the system calls it asks for, and returns when it is done.
pub(crate) fn libraries_changed() {
    let debug = get(Item::LoaderDebug);
    if debug == 0 {
        return;
    }
    // SAFETY: the loader's own structure, in its data.
    if unsafe { ((debug + STATE_OFFSET) as *const u32).read_volatile() } != CONSISTENT {
        return;
    }
    let pool = pool();
    let control = pool.control();
    let (loader, order) = (&control.loader, &pool.orders().loader);
    if !syscall::may_ask_who() || !syscall::may(FUTEX) {
        return;
    }
    // One at a time: another process may be loading something too.
    let mut patience = Patience::new(pool);
    loop {
        match loader.waiting.compare_exchange(0, ASKING, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => break,
            Err(other) if patience.lasts() => syscall::futex_wait(&loader.waiting, other, WAIT_STEP),
            Err(_) => return,
        }
    }
    let process = syscall::process();
    // What was said before was said to others.
    // The number is in memory that this user's processes can write: to none but themselves.
    let own_releases = &order.releases[control.number.load(Ordering::Relaxed) as usize % MAX_RINGS];
    let releases = own_releases.load(Ordering::Acquire);
    let mut made = order.wanted.load(Ordering::Acquire);
    loader.made.store(made, Ordering::Relaxed);
    loader.program.store(get(Item::Program) as u32, Ordering::Relaxed);
    loader.waiting.store(process, Ordering::Release);
    syscall::futex_wake(&loader.waiting);
    loop {
        // Read before the rest, so that a message between the look and the wait ends the wait.
        let said = order.said.load(Ordering::Acquire);
        if own_releases.load(Ordering::Acquire) != releases {
            return;
        }
        let wanted = order.wanted.load(Ordering::Acquire);
        if wanted != made && order.process.load(Ordering::Relaxed) == process {
            let word = |at: usize| order.call[at].load(Ordering::Relaxed);
            // SAFETY: the recorder asks only for mappings where nothing is mapped, and nobody else can write here.
            let result = unsafe { syscall::call(word(0), [word(1), word(2), word(3), word(4), word(5), word(6)]) };
            made = wanted;
            loader.result.store(result as u64, Ordering::Relaxed);
            loader.made.store(made, Ordering::Release);
            syscall::futex_wake(&loader.made);
            continue;
        }
        syscall::futex_wait(&order.said, said, WAIT_STEP);
        if !patience.lasts() {
            let _ = loader.waiting.compare_exchange(process, 0, Ordering::AcqRel, Ordering::Relaxed);
            return;
        }
    }
}
