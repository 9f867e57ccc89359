//! Frames that end without returning: whether they are dead, and how they are taken from the shadow stack.

use ada_ring::record::RecordKind;
use ada_ring::shadow_frame::{FRAME_PARKED, FRAME_RETURNING};
use ada_ring::{ChunkState, RawRecord, ShadowFrame, ThreadState};
use core::ops::Range;

use crate::config::{Item, get};
use crate::memory::pool;
use crate::stretch::Stretch;
use crate::{arch, chunks, handlers, open_probes, syscall};

/// Looks which frames are dead where a call or return is happening with the return slot `slot`. There may be thousands of
/// them, and what is found out of the stacks for one holds for the others.
pub(crate) struct LivenessCheck {
    slot: u64,
    signal_stack: Option<Option<Range<u64>>>,
    /// The newest frame above the slot, or the sentinel where there is none.
    survivor: *mut ShadowFrame,
    stretch: Stretch,
}

impl LivenessCheck {
    pub(crate) fn at(slot: u64) -> Self {
        Self { slot, signal_stack: None, survivor: core::ptr::null_mut(), stretch: Stretch::default() }
    }

    /// Whether a frame whose slot is not above ours is dead.
    ///
    /// # Safety
    /// `frame` is a frame of the state's shadow stack. Of one look to the next, frames may be taken out, and nothing else.
    pub(crate) unsafe fn is_dead(&mut self, state: *mut ThreadState, frame: *mut ShadowFrame) -> bool {
        // SAFETY: frames between base and top are initialised.
        unsafe {
            // The slot may be gone: posix_spawn unmaps its child's stack.
            if syscall::read_word((*frame).slot()) != Some((*frame).return_address) {
                return true;
            }
            if (*frame).has(FRAME_PARKED) {
                return false;
            }
            // A handler on a stack of its own comes to its end before the thread goes on elsewhere, unless it jumps there.
            let signal_stack = self.signal_stack.get_or_insert_with(syscall::signal_stack);
            let is_left = |stack: &Range<u64>| stack.contains(&(*frame).slot()) && !stack.contains(&self.slot);
            if signal_stack.as_ref().is_some_and(is_left) {
                return true;
            }
            let base = (*state).shadow_base as *mut ShadowFrame;
            let survivor = self.survivor_below(base, frame);
            // Above the outermost frame nothing is known, but a call cannot come from below a live frame of its own stack
            // either.
            let above = if survivor > base { (*survivor).slot() } else { self.slot };
            self.stretch.leads((*frame).slot(), above)
        }
    }

    /// The newest frame older than this one whose slot is not below ours.
    unsafe fn survivor_below(&mut self, base: *mut ShadowFrame, frame: *mut ShadowFrame) -> *mut ShadowFrame {
        if self.survivor.is_null() || self.survivor >= frame {
            let mut older = frame.wrapping_sub(1);
            // SAFETY: the caller's promise.
            let is_below = |older: *mut ShadowFrame| unsafe {
                (*older).slot_complement == 0 || (*older).has(FRAME_PARKED) || (*older).slot() < self.slot
            };
            while older > base && is_below(older) {
                older = older.wrapping_sub(1);
            }
            self.survivor = older.max(base);
        }
        self.survivor
    }
}

/// Records that a frame was unwound. One whose return was cut off by a jump out of a signal handler has returned all the
/// same.
///
/// # Safety
/// As [`LivenessCheck::is_dead`], with signals blocked.
pub(crate) unsafe fn end_unwound(state: *mut ThreadState, frame: *mut ShadowFrame) {
    // SAFETY: the caller's promise.
    unsafe {
        write_cut_off_record(state, frame);
        if !(*frame).has(FRAME_RETURNING) {
            chunks::write(state, (*frame).function, frame as u32 | RecordKind::Unwound as u32);
        }
    }
}

/// Takes a frame out of the shadow stack; it keeps its place where newer ones live.
///
/// # Safety
/// As [`LivenessCheck::is_dead`], with signals blocked; all newer frames have been taken out unless `lives_above`.
pub(crate) unsafe fn take_out(state: *mut ThreadState, frame: *mut ShadowFrame, lives_above: bool) {
    // SAFETY: the caller's promise.
    unsafe {
        open_probes::close(state, frame);
        handlers::forget(state, frame);
        (*frame).slot_complement = 0;
        if !lives_above {
            (*state).shadow_top = frame.sub(1) as u64;
        }
    }
}

/// Writes the frame's newest record if a handler jumped away before its stub could.
///
/// # Safety
/// As [`LivenessCheck::is_dead`].
unsafe fn write_cut_off_record(state: *mut ThreadState, frame: *mut ShadowFrame) {
    // SAFETY: the caller's promise. A record in a chunk that this thread owns is written by nobody else.
    unsafe {
        let base = get(Item::Pool);
        let place = base & !0xffff_ffff | u64::from((*frame).record_and_flags & !ShadowFrame::FLAGS);
        let Some(chunk) = chunks::chunk_of(place) else { return };
        let pool = pool();
        let (header, chunk_state) = (pool.header(chunk), pool.state(chunk));
        let is_ours = header.owner() == (*state).thread_key()
            && (chunk_state == ChunkState::Active as u32 || chunk_state == ChunkState::Full as u32);
        let position = (*state).index_position;
        let is_reserved = chunks::chunk_of(position) != Some(chunk) || place < position;
        let record = place as *mut RawRecord;
        if !is_ours || !is_reserved || (&raw const (*record).tsc).read_volatile() != 0 {
            return;
        }
        let top_and_kind = if (*frame).has(FRAME_RETURNING) {
            frame as u32 | RecordKind::Return as u32
        } else {
            frame.sub(1) as u32 | RecordKind::Call as u32
        };
        RawRecord::publish(record, (*frame).function, top_and_kind, arch::clock());
    }
}

const _: () = assert!(RawRecord::SIZE > ShadowFrame::FLAGS as usize, "flags lie below a record's alignment");
