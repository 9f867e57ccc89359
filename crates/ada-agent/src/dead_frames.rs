//! Frames that end without returning: whether they are dead, and how they are taken from the shadow stack.

use ada_ring::record::RecordKind;
use ada_ring::shadow_frame::FRAME_RETURNING;
use ada_ring::{ChunkState, Lane, RawRecord, ShadowFrame, ThreadState};
use core::ops::Range;
use core::sync::atomic::Ordering;

use crate::config::{Item, get};
use crate::memory::pool;
use crate::{arch, chunks, handlers, open_probes, syscall};

/// Looks which frames of a stack are dead where something happens at an address of it.
pub(crate) struct LivenessCheck {
    address: u64,
    signal_stack: Option<Option<Range<u64>>>,
}

impl LivenessCheck {
    pub(crate) fn at(address: u64) -> Self {
        Self { address, signal_stack: None }
    }

    /// Whether the newest frame is dead, if the thread is on its stack.
    ///
    /// # Safety
    /// `frame` is a frame of the thread's shadow stack.
    pub(crate) unsafe fn is_dead(&mut self, frame: *mut ShadowFrame) -> bool {
        // SAFETY: frames between base and top are initialised.
        let slot = unsafe { (*frame).slot() };
        if slot >= self.address {
            return false;
        }
        // A handler may have a stack of its own. It comes to its end before the thread goes on elsewhere, unless it jumps
        // there.
        let signal_stack = self.signal_stack.get_or_insert_with(syscall::signal_stack);
        let is_handlers = |address: u64| signal_stack.as_ref().is_some_and(|stack| stack.contains(&address));
        is_handlers(slot) || !is_handlers(self.address)
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

/// Takes the newest frame off the shadow stack.
///
/// # Safety
/// As [`LivenessCheck::is_dead`], with signals blocked.
pub(crate) unsafe fn take_out(state: *mut ThreadState, frame: *mut ShadowFrame) {
    // SAFETY: the caller's promise.
    unsafe {
        open_probes::close(state, frame);
        handlers::forget(state, frame);
        (*state).shadow_top = frame.sub(1) as u64;
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
        let address = base & !0xffff_ffff | u64::from((*frame).record_and_flags & !ShadowFrame::FLAGS);
        let Some(chunk) = chunks::chunk_of(address) else { return };
        let pool = pool();
        let (header, chunk_state) = (pool.header(chunk), pool.state(chunk));
        // What was written long ago is gone, and the chunk may have another thread's records by now, or none of calls.
        let is_ours = header.owner() == (*state).thread_key()
            && header.lane.load(Ordering::Relaxed) == Lane::Index as u32
            && (chunk_state == ChunkState::Active as u32 || chunk_state == ChunkState::Full as u32);
        let position = (*state).index_position;
        let is_reserved = chunks::chunk_of(position) != Some(chunk) || address < position;
        let record = address as *mut RawRecord;
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
