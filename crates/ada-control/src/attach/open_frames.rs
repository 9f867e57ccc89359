//! Puts real return addresses back into the frames of functions that have yet to return.

use std::io;
use std::mem::offset_of;

use ada_event::ThreadId;
use ada_process::Remote;
use ada_ring::state::{Buried, GRAVES, MAX_REGIONS, ProcessBlock, STATE_STRIDE, STATES, private};
use ada_ring::{ShadowFrame, ThreadState};

use crate::install::target_memory::PRIVATE;

/// Puts them back for every thread that has a state, except those that are excepted because they are just changing it.
pub(super) fn put_back(remote: &dyn Remote, is_excepted: impl Fn(ThreadId) -> bool) -> io::Result<()> {
    let first = PRIVATE.start + private::PROCESS_AT as u64;
    let mut further = [0; 4];
    remote.read(first + offset_of!(ProcessBlock, further_regions) as u64, &mut further)?;
    let regions = 1 + (u32::from_le_bytes(further) as usize).min(MAX_REGIONS - 1);
    for region in (0..regions).map(|region| PRIVATE.start + (region * private::REGION_STRIDE) as u64) {
        put_back_region(remote, region, &is_excepted)?;
    }
    Ok(())
}

fn put_back_region(remote: &dyn Remote, region: u64, is_excepted: impl Fn(ThreadId) -> bool) -> io::Result<()> {
    let mut threads = [0; 4 * STATES];
    let block = region + private::PROCESS_AT as u64;
    remote.read(block + offset_of!(ProcessBlock, state_threads) as u64, &mut threads)?;
    let (threads, _) = threads.as_chunks::<4>();
    for (number, thread) in threads.iter().enumerate() {
        let thread = u32::from_le_bytes(*thread);
        if thread != 0 && !is_excepted(ThreadId(thread)) {
            put_back_one(remote, region + (private::STATES_AT + number * STATE_STRIDE) as u64)?;
        }
    }
    Ok(())
}

fn put_back_one(remote: &dyn Remote, state: u64) -> io::Result<()> {
    let mut bytes = [0; size_of::<ThreadState>()];
    remote.read(state, &mut bytes)?;
    let word = |offset: usize| word_at(&bytes, offset);
    let base = word(offset_of!(ThreadState, shadow_base));
    let top = word(offset_of!(ThreadState, shadow_top));
    let alarm = (word(offset_of!(ThreadState, alarm_frame)), word(offset_of!(ThreadState, alarm_saved)));
    // A state that was claimed and not yet prepared has neither.
    let used = top.saturating_sub(base).min(private::SHADOW_BYTES as u64 - ShadowFrame::SIZE as u64);
    let mut frames = vec![0; used as usize];
    remote.read(base + ShadowFrame::SIZE as u64, &mut frames)?;
    // Newest first: a function that was jumped to as the last thing of another has its slot, and goes back to its stub.
    for (number, frame) in frames.chunks_exact(ShadowFrame::SIZE).enumerate().rev() {
        let at = base + ((number + 1) * ShadowFrame::SIZE) as u64;
        let own = word_at(frame, offset_of!(ShadowFrame, slot_complement));
        // The frame that watches for the end of an unwinding has its slot elsewhere.
        let slot = !if at == alarm.0 { alarm.1 } else { own };
        let trampoline = word_at(frame, offset_of!(ShadowFrame, trampoline));
        replace(remote, slot, trampoline, word_at(frame, offset_of!(ShadowFrame, return_address)))?;
    }
    for number in (0..GRAVES.min(word(offset_of!(ThreadState, buried)) as usize)).rev() {
        let grave = offset_of!(ThreadState, graves) + number * size_of::<Buried>();
        let field = |offset: usize| word(grave + offset);
        let slot = field(offset_of!(Buried, slot));
        let trampoline = field(offset_of!(Buried, trampoline));
        replace(remote, slot, trampoline, field(offset_of!(Buried, return_address)))?;
    }
    Ok(())
}

/// Only where the trampoline is: the stack may have gone, or be used by others.
fn replace(remote: &dyn Remote, slot: u64, trampoline: u64, return_address: u64) -> io::Result<()> {
    let mut found = [0; 8];
    if trampoline == 0 || remote.read(slot, &mut found).is_err() || u64::from_le_bytes(found) != trampoline {
        return Ok(());
    }
    remote.write(slot, &return_address.to_le_bytes())
}

fn word_at(bytes: &[u8], offset: usize) -> u64 {
    bytes.get(offset..offset + 8).map_or(0, |word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
}
