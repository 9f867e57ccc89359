//! Calls that were open when the process was attached to. A thread takes over its own with its state, so that their exits are
//! caught like those of others.

use ada_ring::record::RecordKind;
use ada_ring::state::{MAX_OPEN_FRAMES, OpenFrame};
use ada_ring::{ShadowFrame, ThreadState};
use core::sync::atomic::Ordering;

use crate::memory::{open_frame, process_block};
use crate::shadow_stack::{set_ceiling, top};
use crate::{chunks, syscall};

/// Puts the calls that the calling thread was in onto its shadow stack, which is empty, and records them as of the attach.
/// `slot` is the return slot of the call or return at hand: what lies below has returned.
///
/// # Safety
/// `state` is the calling thread's own, with signals blocked.
pub(crate) unsafe fn take_over(state: *mut ThreadState, thread: u32, slot: u64) {
    let block = process_block();
    let count = (block.open_frames.load(Ordering::Acquire) as usize).min(MAX_OPEN_FRAMES);
    let time = block.attached_at.load(Ordering::Relaxed);
    let is_own = |open: &&OpenFrame| open.thread.load(Ordering::Relaxed) == thread;
    for open in (0..count).map(open_frame).filter(is_own) {
        // Thread ids are used again: each entry serves once.
        open.thread.store(0, Ordering::Relaxed);
        let (own_slot, function) = (open.slot.load(Ordering::Relaxed), open.function.load(Ordering::Relaxed));
        let return_address = open.return_address.load(Ordering::Relaxed);
        let is_there = own_slot >= slot && syscall::read_word(own_slot) == Some(return_address);
        // SAFETY: the thread's own shadow stack, with room for one more.
        unsafe {
            if !is_there || (*state).shadow_top >= (*state).shadow_limit {
                continue;
            }
            let newest = top(state);
            if newest as u64 == (*state).shadow_base {
                set_ceiling(state, own_slot + 8);
            }
            chunks::write_at(state, function, newest as u32 | RecordKind::Call as u32, time);
            newest.add(1).write(ShadowFrame {
                slot_complement: !own_slot,
                return_address,
                function,
                record_and_flags: 0,
                probe: 0,
            });
            (*state).shadow_top = newest.add(1) as u64;
        }
    }
}
