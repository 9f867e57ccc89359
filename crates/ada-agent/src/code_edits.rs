//! Carries out what the recorder wants changed in the program's code.

use ada_ring::code_edits::Order;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::config::{Item, get};
use crate::memory::{pool, process_block};
use crate::syscall::raw;
use crate::x86_64::registers::clock;

const MPROTECT: u64 = 10;
const READ_AND_RUN: u64 = 1 | 4;
const WRITE: u64 = 2;
const PAGE: u64 = 4096;

/// Does what this process has not done yet, unless another of its threads is at it. Called with signals blocked.
pub(crate) fn carry_out() {
    let pool = pool();
    let orders = &pool.control().orders;
    let (given, block) = (orders.given(), process_block());
    if block.orders_done.load(Ordering::Relaxed) as usize >= given
        || block.orders_busy.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err()
    {
        return;
    }
    let done = block.orders_done.load(Ordering::Relaxed) as usize;
    for order in (done..given).filter_map(|number| orders.get(number)) {
        let is_ours = order.image.load(Ordering::Relaxed) == get(Item::Image) as u32;
        if !is_ours || clock() > order.until.load(Ordering::Relaxed) {
            continue;
        }
        let result = if change(order) { &order.done } else { &orders.failed };
        result.fetch_add(1, Ordering::Relaxed);
    }
    block.orders_done.store(given as u32, Ordering::Relaxed);
    block.orders_busy.store(0, Ordering::Release);
}

/// Changes a word of code. Its page stays executable all the time, since other threads may be in it.
fn change(order: &Order) -> bool {
    let [address, old, new] = [&order.address, &order.old, &order.new].map(|word| word.load(Ordering::Relaxed));
    let page = address & !(PAGE - 1);
    // SAFETY: the page holds code of the program, and this takes nothing away from it.
    if unsafe { raw(MPROTECT, [page, PAGE, READ_AND_RUN | WRITE, 0, 0, 0]) } != 0 {
        return false;
    }
    // SAFETY: writable since the call above; libraries that the program started with are never unmapped.
    let word = unsafe { AtomicU64::from_ptr(address as *mut u64) };
    let is_done = word.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    // SAFETY: as it was before.
    unsafe { raw(MPROTECT, [page, PAGE, READ_AND_RUN, 0, 0, 0]) };
    is_done
}
