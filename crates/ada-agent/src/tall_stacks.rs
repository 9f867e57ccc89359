//! Which tall shadow stacks are taken, and by which stacks.

use ada_ring::shadow_stack::{MOST_TALLS, TALL_BYTES};
use core::sync::atomic::Ordering;

use crate::arch::number::{MADVISE, MMAP};
use crate::growth::map_private;
use crate::memory::{process_block, tall_address, tall_start};
use crate::syscall;

const DONT_NEED: u64 = 4;

/// Claims a tall shadow stack for a stack, and says where its memory is.
pub(crate) fn claim(number: u32) -> Option<u64> {
    let block = process_block();
    let of = |tall: &usize| &block.tall_of[*tall];
    let tall = (0..MOST_TALLS)
        .find(|tall| of(tall).compare_exchange(0, number, Ordering::AcqRel, Ordering::Relaxed).is_ok())?;
    block.talls_used.fetch_max(tall as u32 + 1, Ordering::AcqRel);
    if block.talls_mapped.load(Ordering::Acquire) & 1 << tall == 0 {
        if !syscall::may(MMAP) || !map_private(tall_address(tall), TALL_BYTES as u64) {
            of(&tall).store(0, Ordering::Release);
            return None;
        }
        block.talls_mapped.fetch_or(1 << tall, Ordering::Release);
    }
    Some(tall_address(tall))
}

/// Gives back the tall shadow stack of a stack that is no more.
pub(crate) fn give_back(number: usize) {
    if let Some(start) = tall_start(number) {
        if syscall::may(MADVISE) {
            // SAFETY: nobody's memory any more. It stays mapped.
            unsafe { syscall::call(MADVISE, [start, TALL_BYTES as u64, DONT_NEED, 0, 0, 0]) };
        }
        for of in &process_block().tall_of {
            let _ = of.compare_exchange(number as u32, 0, Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}
