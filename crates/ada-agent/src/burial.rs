//! Frames that end without returning: whether they are dead, and how they are taken from the shadow stack.

use ada_ring::record::RecordKind;
use ada_ring::state::{Buried, FRAME_PARKED, FRAME_RESTORED, FRAME_RETURNING, FRAME_WALKED, GRAVES};
use ada_ring::{ChunkState, RawRecord, ShadowFrame, ThreadState};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::config::{Item, get};
use crate::memory::pool;
use crate::{chunks, probes, registers, syscall};

/// The longest stretch that counts as one stack.
const LONGEST_STACK: u64 = 16 << 20;

/// Whether a frame whose slot is not above `slot`, where a call or return is happening, is dead.
///
/// # Safety
/// `frame` is a frame of the state's shadow stack.
pub(crate) unsafe fn is_dead(state: *mut ThreadState, frame: *mut ShadowFrame, slot: u64) -> bool {
    // SAFETY: frames between base and top are initialised.
    unsafe {
        // The real return address is there while an unwinder looks, and between the push of the frame and the stub's
        // call: then the stacks have to tell.
        let word = syscall::read_word((*frame).slot());
        if word != Some((*frame).trampoline) && word != Some((*frame).return_address) {
            return true;
        }
        if (*frame).has(FRAME_PARKED) {
            return false;
        }
        // A handler on a stack of its own comes to its end before the thread goes on elsewhere, unless it jumps there.
        let is_left = |stack: Range<u64>| stack.contains(&(*frame).slot()) && !stack.contains(&slot);
        if syscall::signal_stack().is_some_and(is_left) {
            return true;
        }
        let base = (*state).shadow_base as *mut ShadowFrame;
        let mut older = frame.sub(1);
        while older > base {
            if (*older).slot_complement != 0 && !(*older).has(FRAME_PARKED) && (*older).slot() >= slot {
                return is_one_stack((*frame).slot(), (*older).slot());
            }
            older = older.sub(1);
        }
        // The outermost frame: nothing above it is known, but a call cannot come from below a live frame of its own
        // stack either.
        is_one_stack((*frame).slot(), slot)
    }
}

/// Records that a frame was unwound, and leaves its slot as if it had never been caught. A frame whose return was cut
/// off by a jump out of a signal handler has returned all the same, and so has one that was let go for a look at it.
///
/// # Safety
/// As [`is_dead`], with signals blocked.
pub(crate) unsafe fn bury(state: *mut ThreadState, frame: *mut ShadowFrame) {
    // SAFETY: the caller's promise.
    unsafe {
        if !release_slot(frame) && !(*frame).has(FRAME_RESTORED) {
            remember(state, frame);
        }
        write_cut_off_record(state, frame);
        if !(*frame).has(FRAME_RETURNING) {
            let walked = (*frame).has(FRAME_RESTORED) && (*frame).has(FRAME_WALKED);
            let kind = if walked { RecordKind::Return } else { RecordKind::Unwound };
            chunks::write(state, (*frame).function, frame as u32 | kind as u32);
        }
    }
}

/// Takes a frame out of the shadow stack; it keeps its place where newer ones live.
///
/// # Safety
/// As [`is_dead`], with signals blocked; all newer frames have been taken out unless `lives_above`.
pub(crate) unsafe fn take_out(state: *mut ThreadState, frame: *mut ShadowFrame, lives_above: bool) {
    // SAFETY: the caller's promise.
    unsafe {
        probes::close(state, frame);
        (*frame).slot_complement = 0;
        if !lives_above {
            (*state).shadow_top = frame.sub(1) as u64;
        }
    }
}

/// Puts the real return address back. False where the slot does not hold the trampoline's.
///
/// # Safety
/// As [`is_dead`].
pub(crate) unsafe fn release_slot(frame: *mut ShadowFrame) -> bool {
    // SAFETY: the slot was readable a moment ago, and lies on a stack; if its memory is used otherwise by now, the
    // comparison fails.
    unsafe {
        let slot = (*frame).slot();
        syscall::read_word(slot) == Some((*frame).trampoline)
            && AtomicU64::from_ptr(slot as *mut u64)
                .compare_exchange((*frame).trampoline, (*frame).return_address, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}

/// # Safety
/// As [`is_dead`].
unsafe fn remember(state: *mut ThreadState, frame: *mut ShadowFrame) {
    // SAFETY: the caller's promise.
    unsafe {
        let ShadowFrame { trampoline, return_address, .. } = *frame;
        let grave = (*state).buried as usize % GRAVES;
        (*state).graves[grave] = Buried { slot: (*frame).slot(), trampoline, return_address };
        (*state).buried += 1;
    }
}

/// Where a buried frame that comes back to life returns to; its slot still holds its trampoline's address.
///
/// # Safety
/// `state` is the calling thread's own, and `slot` the return slot that was just used.
pub(crate) unsafe fn return_of_buried(state: *mut ThreadState, slot: *mut u64) -> Option<u64> {
    // SAFETY: the caller's promise.
    unsafe {
        let (newest, trampoline) = ((*state).buried as usize, *slot);
        (newest.saturating_sub(GRAVES)..newest)
            .rev()
            .map(|number| (*state).graves[number % GRAVES])
            .find(|grave| grave.slot == slot as u64 && grave.trampoline == trampoline)
            .map(|grave| grave.return_address)
    }
}

/// Writes the frame's newest record if a handler jumped away before its stub could.
///
/// # Safety
/// As [`is_dead`].
unsafe fn write_cut_off_record(state: *mut ThreadState, frame: *mut ShadowFrame) {
    // SAFETY: the caller's promise. A record in a chunk that this thread owns is written by nobody else.
    unsafe {
        let base = get(Item::Pool);
        let place = base & !0xffff_ffff | u64::from((*frame).record_and_flags & !ShadowFrame::FLAGS);
        let Some(chunk) = chunks::chunk_of(place) else { return };
        let pool = pool();
        let (owner, chunk_state) = (pool.header(chunk), pool.state(chunk));
        let is_ours = owner.tid.load(Ordering::Relaxed) == (*state).tid
            && owner.pid.load(Ordering::Relaxed) == (*state).pid
            && (chunk_state == ChunkState::Active as u32 || chunk_state == ChunkState::Full as u32);
        let position = (*state).index_position;
        let is_reserved = chunks::chunk_of(position) != Some(chunk) || place < position;
        let words = place as *mut u64;
        if !is_ours || !is_reserved || words.read_volatile() != 0 {
            return;
        }
        let top_and_kind = if (*frame).has(FRAME_RETURNING) {
            frame as u32 | RecordKind::Return as u32
        } else {
            frame.sub(1) as u32 | RecordKind::Call as u32
        };
        words.add(1).write_volatile(u64::from(top_and_kind) << 32 | u64::from((*frame).function));
        AtomicU64::from_ptr(words).store(registers::clock(), Ordering::Release);
    }
}

/// Whether memory is readable all the way between two addresses, as it is on one stack.
pub(crate) fn is_one_stack(low: u64, high: u64) -> bool {
    let (low, high) = (low & !4095, high & !4095);
    high >= low && high - low <= LONGEST_STACK && syscall::is_readable(low, ((high - low) / 4096 + 1) as usize)
}

const _: () = assert!(RawRecord::SIZE > ShadowFrame::FLAGS as usize, "flags lie below a record's alignment");
