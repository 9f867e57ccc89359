//! Which processes have a memory file mapped.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::ops::Range;

use crate::maps;
use crate::procfs::{all_processes, is_of_another_user, is_older};

/// The processes, other than this one, that have the memory with this inode mapped. A process that was forked off a moment
/// ago has not been heard of yet, but it has its parent's mappings.
pub fn users_of(inode: u64) -> Vec<u32> {
    let mut asked = HashSet::from([std::process::id()]);
    let mut users = Vec::new();
    // Until nobody is new: one that was gone before it was asked may have forked another.
    loop {
        let new: Vec<u32> = all_processes().filter(|pid| asked.insert(*pid)).collect();
        if new.is_empty() {
            return users;
        }
        users.extend(new.into_iter().filter(|pid| uses(*pid, inode)));
    }
}

/// Whether a process has the memory with this inode mapped.
pub fn uses(pid: u32, inode: u64) -> bool {
    fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| has_memory(&maps, inode))
}

/// Which parts of the memory with this inode other processes have mapped, as places in its file. `None` where that cannot
/// be known, because the mappings of somebody cannot be read who may be one of those that are traced.
///
/// No part is missed: who has one has it from whoever forked it, and if that one was gone before it was asked, the fork is
/// in the next list. It ends with a list in which nobody is new.
pub fn mapped_parts(inode: u64, is_traced: impl Fn(u32) -> bool) -> Option<Vec<Range<u64>>> {
    let mut asked = HashSet::from([std::process::id()]);
    let mut parts = Vec::new();
    loop {
        let new: Vec<u32> = all_processes().filter(|pid| asked.insert(*pid)).collect();
        if new.is_empty() {
            return Some(parts);
        }
        for pid in new {
            match maps::of_process(pid) {
                Ok(mappings) => {
                    let its = mappings.into_iter().filter(|it| it.inode == inode && it.path.starts_with("/memfd:"));
                    parts.extend(its.map(|it| it.file_offset..it.file_offset + (it.end - it.start)));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(_) if !is_traced(pid) && (is_older(pid) || is_of_another_user(pid)) => {}
                Err(_) => return None,
            }
        }
    }
}

fn has_memory(maps: &str, inode: u64) -> bool {
    maps.lines().any(|line| {
        let mut fields = line.split_ascii_whitespace().skip(4);
        // Inodes of other file systems have the same numbers.
        fields.next().is_some_and(|known| known.parse() == Ok(inode))
            && fields.next().is_some_and(|path| path.starts_with("/memfd:"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_the_memory_mapped_is_told_from_others() {
        let maps = "55d0c0000000-55d0c0001000 r--p 00000000 fe:01 1057 /usr/bin/x\n\
            100000000000-100004000000 rw-s 00000000 00:01 1058 /memfd:ada (deleted)\n\
            7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n";
        assert!(has_memory(maps, 1058));
        assert!(!has_memory(maps, 1057), "a file of the same number");
        assert!(!has_memory(maps, 105) && !has_memory("", 1058));
    }

    #[test]
    fn the_parts_that_processes_have_mapped_are_known() {
        // Nobody has memory with this number.
        assert_eq!(mapped_parts(u64::MAX, |_| false), Some(Vec::new()));
    }
}
