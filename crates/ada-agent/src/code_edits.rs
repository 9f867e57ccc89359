//! Makes the edits of the program's code that the recorder has listed.

use ada_ring::code_edits::{CodeEdit, is_in_a_line};
use core::sync::atomic::Ordering;

use crate::arch::number::MPROTECT;
use crate::arch::{clock, exchange_code};
use crate::config::{Item, get};
use crate::memory::{pool, process_block};
use crate::{handlers, syscall};

const READ_AND_RUN: u64 = 1 | 4;
const WRITE: u64 = 2;
const PAGE: u64 = 4096;

/// Makes those that this process has not made yet, unless another of its threads is at it. Called with signals blocked.
pub(crate) fn make() {
    let pool = pool();
    let (edits, made) = (&pool.orders().code_edits, &pool.control().edits_made);
    let (added, block) = (edits.added(), process_block());
    if block.edits_done.load(Ordering::Relaxed) as usize >= added
        || block.edits_busy.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err()
    {
        return;
    }
    // The exit of a handler may be among them, and has to be seen. The next one who comes by tries again.
    if handlers::any_is_shown() {
        block.edits_busy.store(0, Ordering::Release);
        return;
    }
    let done = block.edits_done.load(Ordering::Relaxed) as usize;
    for (edit, times) in (done..added).filter_map(|number| edits.get(number).zip(made.done.get(number))) {
        let is_ours = edit.program.load(Ordering::Relaxed) == get(Item::Program) as u32;
        if !is_ours || clock() > edit.until.load(Ordering::Relaxed) {
            continue;
        }
        let result = if change(edit) { times } else { &made.failed };
        result.fetch_add(1, Ordering::Relaxed);
    }
    block.edits_done.store(added as u32, Ordering::Relaxed);
    block.edits_busy.store(0, Ordering::Release);
}

/// Changes a word of code. Its page stays executable all the time, since other threads may be in it.
fn change(edit: &CodeEdit) -> bool {
    let [address, old, new] = [&edit.address, &edit.old, &edit.new].map(|word| word.load(Ordering::Relaxed));
    if !is_in_a_line(address) {
        return false;
    }
    let page = address & !(PAGE - 1);
    // SAFETY: the page holds code of the program, and this takes nothing away from it.
    if unsafe { syscall::call(MPROTECT, [page, PAGE, READ_AND_RUN | WRITE, 0, 0, 0]) } != 0 {
        return false;
    }
    // SAFETY: writable since the call above; libraries that the program started with are never unmapped.
    let is_done = unsafe { exchange_code(address, old, new) };
    // SAFETY: as it was before.
    unsafe { syscall::call(MPROTECT, [page, PAGE, READ_AND_RUN, 0, 0, 0]) };
    is_done
}
