//! Stubs and patched code that were made once, for every program that has the same code.
//!
//! Stubs address their image and each other by distances, so that an arena serves wherever it is as far from its image as it
//! was. What differs from program to program are the agent's entry points and the switches, in the first pages: these are
//! copied, and all others shared.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use ada_event::RuntimeAddr;
use ada_patch::{AgentEntries, Arena, PATCH_BYTES, Patch};
use ada_process::Remote;
use ada_process::maps::{self, Mapping};

use crate::install::open_in_target::{MappedPart, OpenInTarget};
use crate::install::shared_memory::SharedMemory;
use crate::install::shift::Shift;
use crate::install::sites::{Site, windows, write_jumps, write_original_starts};

const PAGE: u64 = 4096;

/// An arena, and the code that leads to it, as the first program has them.
pub(crate) struct ReadyArena {
    /// Where the program has the arena.
    addresses: Range<RuntimeAddr>,
    /// Where the arena is in the shared memory.
    offset: u64,
    /// Bytes of stubs and displaced code.
    code_bytes: u64,
    /// The first pages, as they were before the program ran.
    front: Vec<u8>,
    sites: Vec<Site>,
    /// The numbers of the sites in the order of their functions, once somebody has asked for one's.
    by_function: OnceLock<Vec<u32>>,
    /// The code, once a second program has come.
    text: OnceLock<Vec<Text>>,
}

/// An arena in a process.
pub(crate) struct MappedArena {
    pub(super) arena: Arc<ReadyArena>,
    pub(super) shift: Shift,
    /// The process's own part of the shared memory.
    pub(super) front: Range<u64>,
}

/// Code before and after it was patched.
struct Text {
    /// Where the first program has it.
    at: RuntimeAddr,
    /// Which sites are in it.
    sites: Range<usize>,
    original: Vec<u8>,
    patched: Vec<u8>,
}

impl Text {
    /// What is to be written, with the original bytes instead of some jumps.
    fn without(&self, jumps: &[(Patch, [u8; PATCH_BYTES])]) -> Cow<'_, [u8]> {
        let mut bytes = Cow::Borrowed(&self.patched[..]);
        for (jump, original) in jumps {
            let length = jump.bytes().len();
            let offset = jump.at.checked_sub(self.at).map(|from| from as usize);
            if let Some(from) = offset.filter(|from| from + length <= self.patched.len()) {
                bytes.to_mut()[from..from + length].copy_from_slice(&original[..length]);
            }
        }
        bytes
    }
}

impl ReadyArena {
    /// Of an arena for so many functions and exits that was written to `offset` of the shared memory and starts with the
    /// bytes of `front`.
    pub(crate) fn new(
        addresses: Range<RuntimeAddr>,
        offset: u64,
        (functions, exits): (usize, usize),
        mut front: Vec<u8>,
        sites: Vec<Site>,
    ) -> Self {
        front.resize(Self::front_bytes(functions), 0);
        let code_bytes = Arena::room_for(functions, exits) as u64;
        Self { addresses, offset, code_bytes, front, sites, by_function: OnceLock::new(), text: OnceLock::new() }
    }

    /// Bytes of the pages that each program has its own of.
    pub(crate) fn front_bytes(functions: usize) -> usize {
        Arena::switches_end(functions).next_multiple_of(PAGE as usize)
    }

    /// The part of the shared memory that is the first program's own.
    pub(crate) fn first_front(&self) -> Range<u64> {
        self.offset..self.offset + self.front.len() as u64
    }

    /// The part of the shared memory that all programs have mapped.
    pub(crate) fn common(&self) -> Range<u64> {
        self.offset + self.front.len() as u64..self.offset + (self.addresses.end - self.addresses.start)
    }

    /// Where a program has it.
    pub(crate) fn addresses(&self, shift: Shift) -> Range<RuntimeAddr> {
        shift.apply(self.addresses.start)..shift.apply(self.addresses.end)
    }

    /// Where a program has its code.
    pub(crate) fn code(&self, shift: Shift) -> Range<RuntimeAddr> {
        let start = self.addresses(shift).start;
        start..start + self.code_bytes
    }

    /// Where a program has the part that all have.
    pub(crate) fn common_addresses(&self, shift: Shift) -> Range<RuntimeAddr> {
        let addresses = self.addresses(shift);
        addresses.start + self.front.len() as u64..addresses.end
    }

    /// The sites that lead to it.
    pub(crate) fn sites(&self, shift: Shift) -> impl Iterator<Item = Site> {
        self.sites.iter().map(move |site| site.shifted(shift))
    }

    /// Those of one function.
    pub(crate) fn sites_of(&self, function: usize, shift: Shift) -> impl Iterator<Item = Site> {
        let function_of = |number: &u32| self.sites[*number as usize].function;
        let by_function = self.by_function.get_or_init(|| {
            let mut numbers: Vec<u32> = (0..self.sites.len() as u32).collect();
            numbers.sort_by_key(function_of);
            numbers
        });
        let first = by_function.partition_point(|number| function_of(number) < function);
        let its = by_function[first..].iter().take_while(move |number| function_of(number) == function);
        its.map(move |number| self.sites[*number as usize].shifted(shift))
    }

    /// Maps it into another program. Gives that program's own part of the shared memory; none where there is no room.
    pub(crate) fn map(
        &self,
        shift: Shift,
        entries: &AgentEntries,
        shared: &SharedMemory,
        remote: &dyn Remote,
        open: &OpenInTarget,
        mappings: &[Mapping],
    ) -> Option<Range<u64>> {
        let addresses = self.addresses(shift);
        if addresses.start > addresses.end || !maps::is_free(mappings, &addresses) {
            return None;
        }
        let length = self.front.len() as u64;
        let offset = shared.code.reserve(length)?;
        let mut front = self.front.clone();
        for (word, entry) in front.chunks_exact_mut(8).zip(entries.to_words()) {
            word.copy_from_slice(&entry.to_le_bytes());
        }
        shared.code.write(offset, &front);
        let is_mapped = self.map_parts(shift, offset, remote, open).is_ok();
        if !is_mapped {
            shared.release(offset..offset + length);
        }
        is_mapped.then_some(offset..offset + length)
    }

    /// Maps it into a program whose own part is at `front`.
    pub(crate) fn map_parts(
        &self,
        shift: Shift,
        front: u64,
        remote: &dyn Remote,
        open: &OpenInTarget,
    ) -> io::Result<()> {
        let (start, common, protection) =
            (self.addresses(shift).start, self.common_addresses(shift), libc::PROT_READ | libc::PROT_EXEC);
        let front = MappedPart { address: start, length: common.start - start, protection, offset: front };
        let (address, length, offset) = (common.start, common.end - common.start, self.common().start);
        open.map(remote, &[front, MappedPart { address, length, protection, offset }])
    }

    /// The jumps of a function that can be taken out one by one, its start's first, and the bytes that each replaces.
    /// None where the start has no such jump.
    pub(crate) fn jumps_of(&self, function: usize, shift: Shift) -> Vec<(Patch, [u8; PATCH_BYTES])> {
        let sites = self.removable_sites_of(function, shift);
        sites.into_iter().map(|site| (site.site.jump, site.originals[0])).collect()
    }

    fn removable_sites_of(&self, function: usize, shift: Shift) -> Vec<Site> {
        let of_function = self.sites_of(function, shift).filter(Site::is_removable);
        let (exits, mut starts): (Vec<Site>, Vec<Site>) = of_function.partition(|site| site.is_exit);
        if !starts.is_empty() {
            starts.extend(exits);
        }
        starts
    }

    /// Leads the code of another program to it, except for functions in `left_out`. Gives the sites where the code is not
    /// what it was in the first one; these are left alone. Code that is certain to be of the same file need not be looked at,
    /// unless it was written to.
    pub(crate) fn patch(
        &self,
        shift: Shift,
        remote: &dyn Remote,
        is_same_file: bool,
        left_out: &[usize],
    ) -> io::Result<Vec<Site>> {
        let Some(text) = self.text.get() else {
            let different = self.patch_and_keep(shift, remote)?;
            let left_out = left_out.iter().flat_map(|function| self.removable_sites_of(*function, shift));
            let mut left_out: Vec<Site> = left_out.collect();
            left_out.sort_unstable_by_key(|site| site.site.jump.at);
            write_original_starts(remote, &left_out)?;
            return Ok(different);
        };
        let mut different = Vec::new();
        let mut bytes = Vec::new();
        let range_of = |part: &Text| {
            let at = shift.apply(part.at);
            at..at + part.original.len() as u64
        };
        // As a rule, one question answers for all of it.
        let whole = text.first().zip(text.last()).map(|(first, last)| range_of(first).start..range_of(last).end);
        let left_out: Vec<_> = left_out.iter().flat_map(|function| self.jumps_of(*function, Shift(0))).collect();
        let is_unwritten = is_same_file && whole.is_none_or(|whole| remote.is_as_in_file(&whole));
        for part in text {
            let at = range_of(part).start;
            let mut is_same = is_unwritten || is_same_file && remote.is_as_in_file(&range_of(part));
            if !is_same {
                bytes.resize(part.original.len(), 0);
                remote.read(at, &mut bytes)?;
                is_same = bytes == part.original;
            }
            if is_same {
                remote.write(at, &part.without(&left_out))?;
            } else {
                let sites: Vec<Site> = self.sites[part.sites.clone()].iter().map(|it| it.shifted(shift)).collect();
                different.extend(write_jumps(remote, &sites)?.into_iter().copied());
            }
        }
        Ok(different)
    }

    /// Writes the jumps one by one, and keeps the patched code for the next program.
    fn patch_and_keep(&self, shift: Shift, remote: &dyn Remote) -> io::Result<Vec<Site>> {
        let sites: Vec<Site> = self.sites(shift).collect();
        let read = |window: &(Range<usize>, Range<RuntimeAddr>)| {
            let mut bytes = vec![0; (window.1.end - window.1.start) as usize];
            remote.read(window.1.start, &mut bytes).map(|()| bytes)
        };
        let windows: Vec<_> = windows(&sites).collect();
        let originals = windows.iter().map(read).collect::<io::Result<Vec<_>>>()?;
        let different: Vec<Site> = write_jumps(remote, &sites)?.into_iter().copied().collect();
        if different.is_empty() {
            let patched = windows.iter().map(read).collect::<io::Result<Vec<_>>>()?;
            let text = windows.into_iter().zip(originals).zip(patched).map(|(((sites, range), original), patched)| {
                Text { at: shift.undo(range.start), sites, original, patched }
            });
            // Another thread may have kept the same meanwhile.
            let _ = self.text.set(text.collect());
        }
        Ok(different)
    }
}

#[cfg(test)]
mod tests {
    use ada_patch::{CopiedCode, HookSite};

    use super::*;

    fn site(at: u64, function: usize, is_exit: bool, is_shared: bool) -> Site {
        let jump = Patch::of(RuntimeAddr(at), &[0xe9, 0, 1, 0, 0]).unwrap();
        let site = HookSite { jump, relay: None, copy: None::<CopiedCode> };
        Site { site, originals: [[0x90; PATCH_BYTES], [0; PATCH_BYTES]], function, is_exit, is_shared }
    }

    #[test]
    fn a_function_that_is_left_out_has_its_own_bytes() {
        let sites = vec![site(16, 1, false, false), site(32, 0, false, false), site(48, 1, true, false)];
        let arena = ReadyArena::new(RuntimeAddr(0)..RuntimeAddr(8192), 0, (2, 1), Vec::new(), sites);
        let of = |function| arena.sites_of(function, Shift(4096)).map(|it| it.site.jump.at.0).collect::<Vec<_>>();
        assert_eq!((of(0), of(1), of(2)), (vec![4096 + 32], vec![4096 + 16, 4096 + 48], vec![]));
        let text = Text { at: RuntimeAddr(16), sites: 0..3, original: vec![0x90; 48], patched: vec![0xe9; 48] };
        assert!(matches!(text.without(&[]), Cow::Borrowed(_)), "nothing is copied for nothing");
        let written = text.without(&arena.jumps_of(1, Shift(0)));
        let jumps: Vec<usize> = (0..48).filter(|at| written[*at] != 0xe9).collect();
        assert_eq!(jumps, [0, 1, 2, 3, 4, 32, 33, 34, 35, 36]);
    }

    #[test]
    fn an_exit_that_others_share_stays() {
        let sites = vec![site(16, 1, false, false), site(48, 1, true, true)];
        let arena = ReadyArena::new(RuntimeAddr(0)..RuntimeAddr(8192), 0, (2, 1), Vec::new(), sites);
        assert_eq!(arena.jumps_of(1, Shift(0)).len(), 1);
    }
}
