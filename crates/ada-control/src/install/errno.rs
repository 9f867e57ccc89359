//! Says to the agent where threads have their `errno`.

use std::mem::offset_of;

use ada_event::RuntimeAddr;
use ada_patch::ErrnoPlace;
use ada_process::Remote;
use ada_ring::state::ProcessBlock;

use crate::plan::module::Module;

/// Notes what a module tells, if it is the C library. Without it results lack the reasons of failures, and nothing else.
pub(super) fn note(remote: &dyn Remote, process_block: RuntimeAddr, module: &Module) {
    let mut word = [0; 8];
    let distance = match module.captured.errno {
        None => return,
        Some(ErrnoPlace::Distance(distance)) => distance.to_le_bytes(),
        Some(ErrnoPlace::Word(at)) => match remote.read(RuntimeAddr(at.0.wrapping_add(module.bias)), &mut word) {
            Ok(()) => word,
            Err(_) => return,
        },
    };
    let address = process_block + offset_of!(ProcessBlock, errno_distance) as u64;
    let _ = remote.write(address, &distance);
}
