//! Tells the agent which calls were open when the process was attached to.

use std::io;
use std::mem::offset_of;

use ada_event::{FunctionId, RuntimeAddr, ThreadId};
use ada_process::Remote;
use ada_ring::state::{MAX_OPEN_FRAMES, ProcessBlock, private};

/// A call that was open when ada attached, and whose exits are hooked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenFrame {
    pub(crate) tid: ThreadId,
    /// Where its return address lies.
    pub(crate) slot: u64,
    pub(crate) return_address: RuntimeAddr,
    pub(crate) function: FunctionId,
    /// The function's number in its process.
    pub(crate) number: u32,
}

/// Lists as many as there is room for. What is left of a thread that does not fit would lack what it is called by.
pub(crate) fn list(remote: &dyn Remote, process_block: RuntimeAddr, frames: &[OpenFrame], tsc: u64) -> io::Result<()> {
    let frames = &frames[..frames.len().min(MAX_OPEN_FRAMES)];
    let words = |frame: &OpenFrame| {
        let of_thread = u64::from(frame.tid.0) | u64::from(frame.number) << 32;
        [frame.slot, frame.return_address.0, of_thread].map(u64::to_le_bytes)
    };
    let bytes: Vec<u8> = frames.iter().flat_map(words).flatten().collect();
    let table = process_block + (private::OPEN_FRAMES_AT - private::PROCESS_AT) as u64;
    remote.write(table, &bytes)?;
    remote.write(process_block + offset_of!(ProcessBlock, attached_at) as u64, &tsc.to_le_bytes())?;
    let count = frames.len() as u32;
    remote.write(process_block + offset_of!(ProcessBlock, open_frames) as u64, &count.to_le_bytes())
}
