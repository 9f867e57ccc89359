//! `threads.atb`: the files of many small threads in one.
//!
//! A thread of a few events is not worth a folder: a million of them would be a million folders. Each member is what the
//! thread's file would hold; the directory at the end says where each begins. `docs/formats/atf-v2.md` has the tables.

use std::ops::Range;

use ada_event::ThreadId;

use super::layout::{put, u32_at, u64_at};
use super::{AtfError, Platform, Store, preamble};

/// The file's name, in a process's folder.
pub(crate) const BUNDLE_FILE: &str = "threads.atb";

const MAGIC: [u8; 4] = *b"ATB2";
const END_MAGIC: [u8; 4] = *b"BEND";
const HEADER_SIZE: usize = 16;
const ENTRY_SIZE: usize = 40;
const TRAILER_SIZE: usize = 24;
const INDEX_IS_PACKED: u32 = 1;
const HAS_DETAIL: u32 = 2;
const DETAIL_IS_PACKED: u32 = 4;

/// A file that a bundle holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its bytes in the bundle.
    pub(crate) bytes: Range<usize>,
    pub(crate) store: Store,
}

/// A thread of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundledThread {
    pub(crate) thread: ThreadId,
    pub(crate) index: Member,
    pub(crate) detail: Option<Member>,
}

pub(crate) fn header(platform: Platform) -> [u8; HEADER_SIZE] {
    let mut bytes = [0; HEADER_SIZE];
    preamble::write(&mut bytes, MAGIC, platform.arch, platform.os);
    bytes
}

/// The directory and what leads to it, for the end of a bundle that has `offset` bytes so far.
pub(crate) fn end(offset: u64, threads: &[BundledThread]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(threads.len() * ENTRY_SIZE + TRAILER_SIZE);
    for BundledThread { thread, index, detail } in threads {
        let is_packed = |member: &Member| member.store == Store::Packed;
        let mut flags = if is_packed(index) { INDEX_IS_PACKED } else { 0 };
        if let Some(detail) = detail {
            flags |= HAS_DETAIL | if is_packed(detail) { DETAIL_IS_PACKED } else { 0 };
        }
        bytes.extend_from_slice(&thread.0.to_le_bytes());
        bytes.extend_from_slice(&flags.to_le_bytes());
        for range in [&index.bytes, &detail.as_ref().map_or(0..0, |detail| detail.bytes.clone())] {
            bytes.extend_from_slice(&(range.start as u64).to_le_bytes());
            bytes.extend_from_slice(&(range.len() as u64).to_le_bytes());
        }
    }
    let mut trailer = [0; TRAILER_SIZE];
    put(&mut trailer, 0, offset.to_le_bytes());
    put(&mut trailer, 8, (threads.len() as u32).to_le_bytes());
    put(&mut trailer, 12, crc32fast::hash(&bytes).to_le_bytes());
    let crc = crc32fast::hash(&trailer[..16]);
    put(&mut trailer, 16, crc.to_le_bytes());
    put(&mut trailer, 20, END_MAGIC);
    bytes.extend_from_slice(&trailer);
    bytes
}

/// The threads of a bundle, in the order of the directory.
pub fn read_bundle(file: &[u8]) -> Result<impl Iterator<Item = BundledThread> + '_, AtfError> {
    preamble::check(&file[..file.len().min(HEADER_SIZE)], MAGIC)?;
    let wrong = |offset: usize, reason: &'static str| AtfError::Bundle { offset: offset as u64, reason };
    let at = file.len().saturating_sub(TRAILER_SIZE);
    let Some(trailer) = file[at..].first_chunk::<TRAILER_SIZE>().filter(|it| it[20..] == END_MAGIC) else {
        return Err(wrong(at, "the directory's end is missing"));
    };
    if crc32fast::hash(&trailer[..16]) != u32_at(trailer, 16) {
        return Err(wrong(at, "the directory's end is damaged"));
    }
    let length = u32_at(trailer, 8) as usize * ENTRY_SIZE;
    let begin = usize::try_from(u64_at(trailer, 0)).unwrap_or(usize::MAX);
    let directory = match file.get(begin..at) {
        Some(directory) if directory.len() == length => directory,
        _ => return Err(wrong(at, "the directory is not where it is said to be")),
    };
    if crc32fast::hash(directory) != u32_at(trailer, 12) {
        return Err(wrong(begin, "the directory is damaged"));
    }
    let mut last = None;
    for (number, entry) in directory.as_chunks::<ENTRY_SIZE>().0.iter().enumerate() {
        let offset = begin + number * ENTRY_SIZE;
        let thread = decode(entry, begin).ok_or_else(|| wrong(offset, "a file lies outside the bundle"))?.thread;
        if last.replace(thread).is_some_and(|last| last >= thread) {
            return Err(wrong(offset, "the threads are not in the order of their ids"));
        }
    }
    Ok(directory.as_chunks().0.iter().filter_map(move |entry| decode(entry, begin)))
}

/// An entry of the directory, whose members must end before `end`.
fn decode(entry: &[u8; ENTRY_SIZE], end: usize) -> Option<BundledThread> {
    let flags = u32_at(entry, 4);
    let member = |at: usize, packed: u32| {
        let start = usize::try_from(u64_at(entry, at)).ok()?;
        let length = usize::try_from(u64_at(entry, at + 8)).ok()?;
        let store = if flags & packed == 0 { Store::Raw } else { Store::Packed };
        let bytes = start..start.checked_add(length).filter(|&behind| start >= HEADER_SIZE && behind <= end)?;
        Some(Member { bytes, store })
    };
    let detail = match flags & HAS_DETAIL {
        0 => None,
        _ => Some(member(24, DETAIL_IS_PACKED)?),
    };
    Some(BundledThread { thread: ThreadId(u32_at(entry, 0)), index: member(8, INDEX_IS_PACKED)?, detail })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(ids: &[u32]) -> Vec<u8> {
        let mut bytes = header(Platform::LINUX_X86_64).to_vec();
        let mut threads = Vec::new();
        for &id in ids {
            let from = bytes.len();
            bytes.extend_from_slice(&[id as u8; 100]);
            let member = |bytes, store| Member { bytes, store };
            let detail = (id % 2 == 1).then(|| member(from + 60..from + 100, Store::Packed));
            threads.push(BundledThread { thread: ThreadId(id), index: member(from..from + 60, Store::Raw), detail });
        }
        let end = end(bytes.len() as u64, &threads);
        bytes.extend_from_slice(&end);
        bytes
    }

    #[test]
    fn threads_come_back() {
        let bytes = bundle(&[1, 2, 7]);
        let threads: Vec<_> = read_bundle(&bytes).unwrap().collect();
        assert_eq!(threads.iter().map(|it| it.thread.0).collect::<Vec<_>>(), [1, 2, 7]);
        assert_eq!(bytes[threads[1].index.bytes.clone()], [2; 60]);
        assert_eq!((threads[1].detail.clone(), threads[0].index.store), (None, Store::Raw));
        let detail = threads[2].detail.clone().unwrap();
        assert_eq!((&bytes[detail.bytes], detail.store), (&[7; 40][..], Store::Packed));
        assert_eq!(read_bundle(&bundle(&[])).unwrap().count(), 0);
    }

    #[test]
    fn what_was_cut_or_changed_is_refused() {
        let whole = bundle(&[1, 2]);
        for len in 0..whole.len() {
            assert!(read_bundle(&whole[..len]).is_err(), "{len}");
        }
        let begin = whole.len() - TRAILER_SIZE - 2 * ENTRY_SIZE;
        for at in begin..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x40;
            assert!(read_bundle(&changed).is_err(), "{at}");
        }
        assert!(read_bundle(&bundle(&[2, 2])).is_err());
    }
}
