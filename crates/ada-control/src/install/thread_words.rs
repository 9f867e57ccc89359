//! Says to the agent where threads have their `errno`, and what they end with.

use std::mem::offset_of;

use ada_event::RuntimeAddr;
use ada_patch::ErrnoPlace;
use ada_process::Remote;
use ada_ring::state::ProcessBlock;

use crate::plan::module::Module;

/// Notes what a module tells, if it is the C library. Without it results lack the reasons of failures, and threads what they
/// end with, and nothing else.
pub(super) fn note(remote: &dyn Remote, process_block: RuntimeAddr, module: &Module) {
    let mut word = [0; 8];
    let errno = match module.captured.errno {
        None => None,
        Some(ErrnoPlace::Distance(distance)) => Some(distance.to_le_bytes()),
        Some(ErrnoPlace::Word(at)) => {
            remote.read(RuntimeAddr(at.0.wrapping_add(module.bias)), &mut word).ok().map(|()| word)
        }
    };
    let result = module.captured.thread_result.map(u64::to_le_bytes);
    for (distance, place) in
        [(errno, offset_of!(ProcessBlock, errno_distance)), (result, offset_of!(ProcessBlock, thread_result_distance))]
    {
        if let Some(distance) = distance {
            let _ = remote.write(process_block + place as u64, &distance);
        }
    }
}
