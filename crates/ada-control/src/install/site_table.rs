//! What was written over code, kept beside the stubs that it leads to.
//!
//! An ada that is killed takes along what it knows. The process keeps its hooks, and with this table whoever comes next
//! can take them out: it lies at the end of each arena, in memory that the process has mapped.
//!
//! ```text
//! …                    entries of 70 bytes, one for each site
//! end of the arena-32  magic, bytes of what programs share of the arena, number of entries, and of its bytes
//! ```
//!
//! Addresses are distances from the arena's end, because programs that have the arena elsewhere share the table.

use std::io;

use ada_event::RuntimeAddr;
use ada_patch::{CopiedCode, HookSite, PATCH_BYTES, Patch};
use ada_process::maps::Mapping;

use crate::install::sites::Site;

const MAGIC: u64 = u64::from_le_bytes(*b"adasites");
const ENTRY: usize = 3 * 8 + 2 * PART + 2;
/// Of each patch: how many bytes, they themselves, and those that they replace.
const PART: usize = 1 + 2 * PATCH_BYTES;
const FOOTER: usize = 32;
const PAGE: u64 = 4096;
/// Nobody hooks that much: fifteen million sites, and what they lie in. A process that says so made it up, and must not have
/// ada take that memory, or look through it for hours.
const LARGEST_TABLE: u64 = 1 << 30;
const LARGEST_MAPPING: u64 = 1 << 36;

/// Bytes that the table of an arena with so many sites takes, in whole pages.
pub(crate) fn room_for(sites: usize) -> u64 {
    ((sites * ENTRY + FOOTER) as u64).next_multiple_of(PAGE)
}

/// The table's bytes, which end where the arena does; programs share so many bytes of it.
pub(crate) fn bytes_of(sites: &[Site], arena_end: RuntimeAddr, common: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(sites.len() * ENTRY + FOOTER);
    for Site { site, originals, .. } in sites {
        let relay = site.relay.as_ref();
        let copy = site.copy.as_ref();
        for address in [Some(site.jump.at), relay.map(|relay| relay.at), copy.map(|copy| copy.at)] {
            bytes.extend(address.map_or(0, |address| address.wrapping_sub(arena_end)).to_le_bytes());
        }
        for (patch, original) in [Some(&site.jump), relay].into_iter().zip(originals) {
            let code = patch.map_or(&[][..], Patch::bytes);
            bytes.push(code.len() as u8);
            bytes.extend_from_slice(code);
            bytes.resize(bytes.len() + original.len() - code.len(), 0);
            bytes.extend_from_slice(original);
        }
        bytes.push(copy.map_or(0, |copy| copy.length));
        bytes.push(0);
    }
    for word in [MAGIC, common, sites.len() as u64, (sites.len() * ENTRY) as u64] {
        bytes.extend(word.to_le_bytes());
    }
    bytes
}

/// Where a table is: its arena's end in the process, and in the shared memory.
pub(crate) type TableAt = (RuntimeAddr, u64);

/// The sites that a process has tables of, by where the tables are: forks have the same ones. `mappings` are those of its arenas, and
/// `read` reads its memory.
pub(crate) fn find<'m>(
    mappings: impl Iterator<Item = &'m Mapping>,
    read: impl Fn(RuntimeAddr, &mut [u8]) -> io::Result<()>,
) -> Vec<(TableAt, Vec<Site>)> {
    let mut found = Vec::new();
    for mapping in mappings.filter(|mapping| mapping.end - mapping.start <= LARGEST_MAPPING) {
        let mut end = mapping.end;
        // Arenas that follow each other are shown as one. One that was not finished has no table, and no hooks.
        while end > mapping.start {
            let Some((sites, room)) = table_at(end, end - mapping.start, &read) else {
                end -= PAGE;
                continue;
            };
            found.push(((end, mapping.file_offset + (end - mapping.start)), sites));
            end -= room;
        }
    }
    found
}

/// The sites of the arena that ends here, if one does, and its bytes; these are `most` at most.
fn table_at(
    end: RuntimeAddr,
    most: u64,
    read: &impl Fn(RuntimeAddr, &mut [u8]) -> io::Result<()>,
) -> Option<(Vec<Site>, u64)> {
    let mut footer = [0; FOOTER];
    read(RuntimeAddr(end.0.checked_sub(FOOTER as u64)?), &mut footer).ok()?;
    let (words, _) = footer.as_chunks::<8>();
    let [magic, room, count, bytes] = [0, 1, 2, 3].map(|number| u64::from_le_bytes(words[number]));
    let is_whole = magic == MAGIC
        && (PAGE..=most).contains(&room)
        && room.is_multiple_of(PAGE)
        && count.checked_mul(ENTRY as u64) == Some(bytes)
        && bytes <= room - FOOTER as u64
        && bytes <= LARGEST_TABLE;
    if !is_whole {
        return None;
    }
    let mut entries = vec![0; bytes as usize];
    read(end - FOOTER as u64 - bytes, &mut entries).ok()?;
    let (entries, _) = entries.as_chunks::<ENTRY>();
    let sites = entries.iter().map(|entry| site_of(entry, end)).collect::<Option<_>>();
    Some((sites?, room))
}

fn site_of(entry: &[u8; ENTRY], arena_end: RuntimeAddr) -> Option<Site> {
    let address = |number: usize| {
        let word = entry[number * 8..][..8].try_into().expect("eight bytes");
        match u64::from_le_bytes(word) {
            0 => RuntimeAddr(0),
            distance => arena_end.wrapping_add(distance),
        }
    };
    let mut originals = [[0; PATCH_BYTES]; 2];
    let mut patches = [None; 2];
    for number in 0..2 {
        let part = &entry[24 + number * PART..][..PART];
        let (code, original) = part[1..].split_at(PATCH_BYTES);
        originals[number].copy_from_slice(original);
        patches[number] = Some(code.get(..usize::from(part[0]))?)
            .filter(|code| !code.is_empty())
            .and_then(|code| Patch::of(address(number), code));
    }
    let copy = CopiedCode { at: address(2), length: entry[ENTRY - 2] };
    let copy = Some(copy).filter(|copy| copy.at.0 != 0);
    let [jump, relay] = patches;
    Some(Site { site: HookSite { jump: jump?, relay, copy }, originals, function: 0, is_exit: false, is_shared: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: RuntimeAddr = RuntimeAddr(0x5555_0000_0000);

    fn sites() -> Vec<Site> {
        let patch = |at: u64, bytes: &[u8]| Patch::of(RuntimeAddr(at), bytes).unwrap();
        let far = HookSite { jump: patch(0x1000, &[0xe9, 1, 2, 3, 4]), relay: None, copy: None };
        let near = HookSite {
            jump: patch(0x2000, &[0xeb, 7]),
            relay: Some(patch(0x2010, &[0xe9, 5, 6, 7, 8])),
            copy: Some(CopiedCode { at: RuntimeAddr(0x9000), length: 9 }),
        };
        let site = |site| Site {
            site,
            originals: [[1; PATCH_BYTES], [2; PATCH_BYTES]],
            function: 0,
            is_exit: false,
            is_shared: false,
        };
        vec![site(far), site(near)]
    }

    fn mapping(pages: u64) -> Mapping {
        let path = "/memfd:ada (deleted)".to_owned();
        Mapping {
            start: AT,
            end: AT + pages * PAGE,
            executable: true,
            read_only: false,
            file_offset: 0x7000,
            inode: 7,
            path,
        }
    }

    /// What is found in so many pages, with the tables of arenas of two pages that end behind these.
    fn found(pages: u64, ends: &[u64], spoil: impl Fn(&mut [u8])) -> Vec<(u64, usize)> {
        let mut memory = vec![0; (pages * PAGE) as usize];
        for end in ends {
            let table = bytes_of(&sites(), AT + end * PAGE, 2 * PAGE);
            let end = (end * PAGE) as usize;
            memory[end - table.len()..end].copy_from_slice(&table);
            spoil(&mut memory[end - table.len()..end]);
        }
        let read = |address: RuntimeAddr, bytes: &mut [u8]| {
            let from = (address - AT) as usize;
            bytes.copy_from_slice(memory.get(from..from + bytes.len()).ok_or(io::ErrorKind::InvalidInput)?);
            Ok(())
        };
        let found = find([mapping(pages)].iter(), read);
        let parts = |site: &Site| (site.site, site.originals);
        let is_same = |(_, these): &(TableAt, Vec<Site>)| these.iter().map(parts).eq(sites().iter().map(parts));
        assert!(found.iter().all(is_same), "{found:?}");
        found.into_iter().map(|((_, offset), sites)| (offset, sites.len())).collect()
    }

    #[test]
    fn sites_come_back_as_they_were_written() {
        assert_eq!(found(2, &[2], |_| {}), [(0x7000 + 2 * PAGE, 2)]);
    }

    #[test]
    fn arenas_that_follow_each_other_are_all_found_and_an_unfinished_one_is_passed_over() {
        assert_eq!(found(7, &[2, 7], |_| {}), [(0x7000 + 7 * PAGE, 2), (0x7000 + 2 * PAGE, 2)]);
        assert_eq!(found(7, &[], |_| {}), []);
    }

    #[test]
    fn what_is_no_table_is_not_taken_for_one() {
        let footer = bytes_of(&sites(), AT, PAGE).len() - FOOTER;
        for byte in [0, 8, 10, 16, 22, 24, 30] {
            assert_eq!(found(2, &[2], |table| table[footer + byte] ^= 0x55), [], "{byte}");
        }
        // A patch that is longer than one can be.
        assert_eq!(found(2, &[2], |table| table[24] = PATCH_BYTES as u8 + 1), []);
        assert_eq!(found(1, &[1], |_| {}), [], "larger than the mapping");
    }

    #[test]
    fn sizes_that_a_process_made_up_are_not_believed() {
        let forged = |pages: u64, entries: u64| {
            let words = [MAGIC, pages * PAGE, entries, entries * ENTRY as u64];
            let most = std::cell::Cell::new(0);
            find([mapping(pages)].iter(), |address, bytes| {
                most.set(most.get().max(bytes.len()));
                if address + FOOTER as u64 == AT + pages * PAGE {
                    bytes.copy_from_slice(&words.map(u64::to_le_bytes).concat());
                    return Ok(());
                }
                Err(io::ErrorKind::InvalidInput.into())
            });
            most.get()
        };
        assert_eq!(forged(16, 100), 100 * ENTRY);
        assert_eq!(forged(LARGEST_TABLE / PAGE + 1, LARGEST_TABLE / ENTRY as u64 + 1), FOOTER);
        assert_eq!(forged(LARGEST_MAPPING / PAGE + 1, 100), 0);
    }
}
