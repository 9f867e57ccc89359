//! What the agent may read of a target without asking the kernel: `ada-agent/src/lasting.rs` says why.

use ada_event::RuntimeAddr;
use ada_process::maps::{LoadedFile, Mapping, loaded_files};
use ada_ring::lasting::{LASTING_RANGES, LastingRange};

/// Memory that is there for as long as the program.
pub(crate) struct LastingMemory {
    /// What is mapped read-only of files that are never unmapped, in the order of addresses.
    pub(super) ranges: Vec<LastingRange>,
    /// Where the stack ends that the kernel has made.
    pub(super) stack_end: RuntimeAddr,
}

impl LastingMemory {
    /// Of a program that has run none of its own code: all that is loaded by now was loaded by its loader.
    pub(crate) fn at_start(mappings: &[Mapping]) -> Self {
        Self::of(mappings, |_| true)
    }

    /// Of a process that has loaded other files meanwhile: those that have one of these addresses are its first.
    pub(crate) fn of_running(mappings: &[Mapping], first: &[RuntimeAddr]) -> Self {
        Self::of(mappings, |file| first.iter().any(|address| (file.start..file.end).contains(address)))
    }

    fn of(mappings: &[Mapping], is_lasting: impl Fn(&LoadedFile) -> bool) -> Self {
        let files: Vec<LoadedFile> = loaded_files(mappings).into_iter().filter(is_lasting).collect();
        let is_part = |mapping: &&Mapping| {
            let holds = |file: &LoadedFile| file.start <= mapping.start && mapping.end <= file.end;
            mapping.read_only && files.iter().any(|file| holds(file) && file.path.as_os_str() == mapping.path.as_str())
        };
        // What is side by side stays apart: nothing is read across a border that the program may have made a use of.
        let range = |mapping: &Mapping| LastingRange { start: mapping.start.0, end: mapping.end.0 };
        let ranges = mappings.iter().filter(is_part).map(range).take(LASTING_RANGES).collect();
        let stack = mappings.iter().find(|mapping| mapping.path == "[stack]");
        Self { ranges, stack_end: stack.map_or(RuntimeAddr(0), |stack| stack.end) }
    }

    /// The list as the agent has it.
    pub(super) fn words(&self) -> impl Iterator<Item = u64> + '_ {
        let rest = std::iter::repeat(&LastingRange::END);
        self.ranges.iter().chain(rest).take(LASTING_RANGES + 1).flat_map(|range| [range.start, range.end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, permissions: &str, path: &str) -> Mapping {
        Mapping {
            start: RuntimeAddr(start),
            end: RuntimeAddr(start + 0x1000),
            executable: permissions.contains('x'),
            read_only: permissions == "r--p",
            file_offset: start & 0xffff,
            inode: 1,
            path: path.into(),
        }
    }

    #[test]
    fn constants_of_programs_last_and_other_memory_does_not() {
        let mappings = [
            mapping(0x10000, "r--p", "/bin/x"),
            mapping(0x11000, "r-xp", "/bin/x"),
            mapping(0x12000, "r--p", "/bin/x"),
            mapping(0x13000, "r--p", "/bin/x"),
            mapping(0x14000, "rw-p", "/bin/x"),
            mapping(0x20000, "r--p", "/etc/cache"),
            mapping(0x30000, "r--p", "/lib/y"),
            mapping(0x31000, "r-xp", "/lib/y"),
            mapping(0x40000, "r--p", ""),
            mapping(0x50000, "rw-p", "[stack]"),
        ];
        let at_start = LastingMemory::at_start(&mappings);
        let range = |start| LastingRange { start, end: start + 0x1000 };
        assert_eq!(at_start.ranges, [0x10000, 0x12000, 0x13000, 0x30000].map(range));
        assert_eq!(at_start.stack_end, RuntimeAddr(0x51000));
        let words: Vec<u64> = at_start.words().collect();
        assert_eq!(words.len(), 2 * LASTING_RANGES + 2);
        assert!(words.is_sorted() && words.ends_with(&[u64::MAX; 2]));
        let running = LastingMemory::of_running(&mappings, &[RuntimeAddr(0x31010), RuntimeAddr(0)]);
        assert_eq!(running.ranges, [range(0x30000)]);
    }

    #[test]
    fn what_the_list_has_no_room_for_is_left_out() {
        let files = (0..100_u64).flat_map(|file| {
            let start = (file + 1) << 16;
            [mapping(start, "r--p", "/lib/y"), mapping(start + 0x1000, "r-xp", "/lib/y")]
        });
        assert_eq!(LastingMemory::at_start(&files.collect::<Vec<_>>()).words().last(), Some(u64::MAX));
    }
}
