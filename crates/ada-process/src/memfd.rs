//! Which processes have a memfd mapped.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;

use ada_event::ProcessId;

use crate::maps::{self, Mapping};
use crate::procfs::{ProcessDir, all_processes};
use crate::this_process::this_process;

/// What a memfd is known by in the mappings of processes: its inode, which is unique among memfds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemfdId {
    inode: u64,
}

impl MemfdId {
    /// That of a memfd that is open.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Self { inode: file.metadata()?.ino() })
    }

    /// That of the memfd that a mapping belongs to, if it is one. Files on other file systems may have the same inode.
    pub fn of_mapping(mapping: &Mapping) -> Option<Self> {
        mapping.path.starts_with("/memfd:").then_some(Self { inode: mapping.inode })
    }

    /// Whether a mapping belongs to this memfd.
    pub fn is_mapped_by(self, mapping: &Mapping) -> bool {
        Self::of_mapping(mapping) == Some(self)
    }

    /// Whether a process has it mapped.
    pub fn is_used_by(self, pid: ProcessId) -> bool {
        ProcessDir::of(pid).maps().is_ok_and(|text| maps::parse(&text).any(|mapping| self.is_mapped_by(&mapping)))
    }

    /// The processes, other than this one, that have it mapped. They include those that were forked a moment ago and have
    /// not reported themselves: a fork has its parent's mappings.
    pub fn users(self) -> Vec<ProcessId> {
        let mut processes = OtherProcesses::default();
        std::iter::from_fn(|| processes.list_new()).flatten().filter(|pid| self.is_used_by(*pid)).collect()
    }

    /// Which parts of it other processes have mapped, as ranges in the file. `None` where that cannot be known, because
    /// the mappings of a process that may be traced cannot be read.
    pub fn mapped_parts(self, is_traced: impl Fn(ProcessId) -> bool) -> Option<Vec<Range<u64>>> {
        let mut processes = OtherProcesses::default();
        let mut parts = Vec::new();
        for pid in std::iter::from_fn(|| processes.list_new()).flatten() {
            match maps::of_process(pid) {
                Ok(mappings) => {
                    let own = mappings.iter().filter(|mapping| self.is_mapped_by(mapping));
                    parts.extend(own.map(|it| it.file_offset..it.file_offset + (it.end - it.start)));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(_) if !is_traced(pid) && is_certainly_not_traced(pid) => {}
                Err(_) => return None,
            }
        }
        Some(parts)
    }
}

fn is_certainly_not_traced(pid: ProcessId) -> bool {
    let process = ProcessDir::of(pid);
    process.is_older() || process.is_of_another_user()
}

/// All processes but this one, listed until there are no new ones.
///
/// No user of a memfd is missed: a process has it from the one that forked it, and if that one was gone before it was asked, the
/// fork is in the next list.
struct OtherProcesses {
    listed: HashSet<ProcessId>,
}

impl Default for OtherProcesses {
    fn default() -> Self {
        Self { listed: HashSet::from([this_process()]) }
    }
}

impl OtherProcesses {
    /// Those that were not in an earlier list; `None` if there are none.
    fn list_new(&mut self) -> Option<Vec<ProcessId>> {
        let new: Vec<ProcessId> = all_processes().filter(|pid| self.listed.insert(*pid)).collect();
        (!new.is_empty()).then_some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memfd_is_distinguished_from_other_files() {
        let maps = "55d0c0000000-55d0c0001000 r--p 00000000 fe:01 1057 /usr/bin/x\n\
            100000000000-100004000000 rw-s 00000000 00:01 1058 /memfd:ada (deleted)\n\
            7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n";
        let is_mapped = |inode| maps::parse(maps).any(|mapping| MemfdId { inode }.is_mapped_by(&mapping));
        assert!(is_mapped(1058));
        assert!(!is_mapped(1057), "a file of the same number");
        assert!(!is_mapped(105) && !is_mapped(0));
    }

    #[test]
    fn the_parts_that_processes_have_mapped_are_known() {
        // No memfd has this number.
        assert_eq!(MemfdId { inode: u64::MAX }.mapped_parts(|_| false), Some(Vec::new()));
    }
}
