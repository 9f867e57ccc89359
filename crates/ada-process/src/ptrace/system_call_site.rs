//! A system call instruction that a process has, for others to run in it.

use ada_event::RuntimeAddr;

use crate::arch::SYSTEM_CALL;
use crate::maps::Mapping;
use crate::procfs::ProcessMemory;

/// The address of one: the kernel's own page has it, and so has the C library.
pub(super) fn find(memory: &ProcessMemory, mappings: &[Mapping]) -> Option<RuntimeAddr> {
    let mut candidates: Vec<&Mapping> = mappings.iter().filter(|mapping| mapping.executable).collect();
    candidates.sort_by_key(|mapping| mapping.path != "[vdso]");
    let mut bytes = vec![0; 1 << 16];
    for mapping in candidates {
        let mut at = mapping.start;
        while at < mapping.end {
            let length = bytes.len().min((mapping.end - at) as usize);
            if memory.read(at, &mut bytes[..length]).is_err() {
                break;
            }
            let mut windows = bytes[..length].windows(SYSTEM_CALL.len());
            if let Some(found) = windows.position(|window| window == SYSTEM_CALL) {
                return Some(at + found as u64);
            }
            at += length as u64;
            if at < mapping.end {
                // An instruction may lie across the border.
                at -= SYSTEM_CALL.len() as u64 - 1;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps;
    use crate::procfs::ProcessDir;
    use crate::this_process::this_process;

    #[test]
    fn this_process_has_one() {
        let memory = ProcessDir::own().memory().unwrap();
        let at = find(&memory, &maps::of_process(this_process()).unwrap()).unwrap();
        let mut bytes = [0; SYSTEM_CALL.len()];
        memory.read(at, &mut bytes).unwrap();
        assert_eq!(bytes, SYSTEM_CALL);
    }
}
