//! `threads.atb`: the files of many small threads in one.
//!
//! A thread of a few events is not worth a folder: a million of them would be a million folders. The file is a chain: each
//! thread has an entry that says how long its files are, and these follow. So it can be read while it is being written, and
//! when its writer was killed. `docs/formats/atf-v2.md` has the tables.

use std::iter::FusedIterator;
use std::ops::Range;

use ada_event::ThreadId;

use super::layout::{put, u32_at, u64_at};
use super::{AtfError, Platform, Store, preamble};

/// The file's name, in a process's folder.
pub(crate) const BUNDLE_FILE: &str = "threads.atb";

const MAGIC: [u8; 4] = *b"ATB3";
const ENTRY_MAGIC: [u8; 4] = *b"BTHR";
const HEADER_SIZE: usize = 16;
const ENTRY_SIZE: usize = 32;
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

/// What comes before the files of a thread, which have these lengths.
pub(crate) fn entry(thread: ThreadId, store: Store, index: usize, detail: Option<usize>) -> [u8; ENTRY_SIZE] {
    let is_packed = store == Store::Packed;
    let mut flags = if is_packed { INDEX_IS_PACKED } else { 0 };
    if detail.is_some() {
        flags |= HAS_DETAIL | if is_packed { DETAIL_IS_PACKED } else { 0 };
    }
    let mut bytes = [0; ENTRY_SIZE];
    put(&mut bytes, 0, ENTRY_MAGIC);
    put(&mut bytes, 4, thread.0.to_le_bytes());
    put(&mut bytes, 8, (index as u64).to_le_bytes());
    put(&mut bytes, 16, (detail.unwrap_or(0) as u64).to_le_bytes());
    put(&mut bytes, 24, flags.to_le_bytes());
    let crc = crc32fast::hash(&bytes[..28]);
    put(&mut bytes, 28, crc.to_le_bytes());
    bytes
}

/// The threads of a bundle, in the order in which they were written. An error is the last that it gives.
#[derive(Debug)]
pub struct BundleReader<'a> {
    file: &'a [u8],
    at: usize,
}

impl<'a> BundleReader<'a> {
    /// Reads a file's header.
    pub fn new(file: &'a [u8]) -> Result<Self, AtfError> {
        let header = file.first_chunk::<HEADER_SIZE>().ok_or(AtfError::BundleCut { offset: 0 })?;
        preamble::check(header, MAGIC)?;
        Ok(Self { file, at: HEADER_SIZE })
    }

    fn read(&mut self) -> Result<BundledThread, AtfError> {
        let begin = self.at;
        let wrong = |reason| AtfError::Bundle { offset: begin as u64, reason };
        // Whatever comes of it, nothing behind can be found.
        self.at = self.file.len();
        let cut = || AtfError::BundleCut { offset: begin as u64 };
        let entry = self.file[begin..].first_chunk::<ENTRY_SIZE>().ok_or_else(cut)?;
        if entry[..4] != ENTRY_MAGIC || crc32fast::hash(&entry[..28]) != u32_at(entry, 28) {
            return Err(wrong("this is not the entry of a thread"));
        }
        let flags = u32_at(entry, 24);
        let mut end = begin + ENTRY_SIZE;
        let mut member = |length: u64, packed: u32| {
            let start = end;
            let behind = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
            end = behind.filter(|&behind| behind <= self.file.len()).ok_or_else(cut)?;
            let store = if flags & packed == 0 { Store::Raw } else { Store::Packed };
            Ok::<_, AtfError>(Member { bytes: start..end, store })
        };
        let index = member(u64_at(entry, 8), INDEX_IS_PACKED)?;
        let detail = match flags & HAS_DETAIL {
            0 => None,
            _ => Some(member(u64_at(entry, 16), DETAIL_IS_PACKED)?),
        };
        self.at = end;
        Ok(BundledThread { thread: ThreadId(u32_at(entry, 4)), index, detail })
    }
}

impl Iterator for BundleReader<'_> {
    type Item = Result<BundledThread, AtfError>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.at < self.file.len()).then(|| self.read())
    }
}

impl FusedIterator for BundleReader<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(ids: &[u32]) -> Vec<u8> {
        let mut bytes = header(Platform::LINUX_X86_64).to_vec();
        for &id in ids {
            let detail = (id % 2 == 1).then_some(40);
            bytes.extend_from_slice(&entry(ThreadId(id), Store::Packed, 60, detail));
            bytes.resize(bytes.len() + 60 + detail.unwrap_or(0), id as u8);
        }
        bytes
    }

    fn read(file: &[u8]) -> Result<Vec<BundledThread>, AtfError> {
        BundleReader::new(file)?.collect()
    }

    #[test]
    fn threads_come_back() {
        let bytes = bundle(&[7, 2, 1]);
        let threads = read(&bytes).unwrap();
        assert_eq!(threads.iter().map(|it| it.thread.0).collect::<Vec<_>>(), [7, 2, 1]);
        assert_eq!(bytes[threads[1].index.bytes.clone()], [2; 60]);
        assert_eq!((threads[1].detail.clone(), threads[0].index.store), (None, Store::Packed));
        let detail = threads[0].detail.clone().unwrap();
        assert_eq!((&bytes[detail.bytes], detail.store), (&[7; 40][..], Store::Packed));
        assert!(read(&bundle(&[])).unwrap().is_empty());
    }

    #[test]
    fn what_was_written_before_a_cut_comes_back() {
        let whole = bundle(&[1, 2]);
        let first = HEADER_SIZE + ENTRY_SIZE + 100;
        for len in 0..whole.len() {
            let threads: Result<Vec<_>, _> = BundleReader::new(&whole[..len]).map(Iterator::collect);
            let Ok(threads) = threads else {
                assert!(len < HEADER_SIZE, "{len}");
                continue;
            };
            let is_whole = len == HEADER_SIZE || len == first;
            let count = usize::from(len >= first);
            assert_eq!(threads.len(), count + usize::from(!is_whole), "{len}");
            assert!(is_whole || matches!(threads.last(), Some(Err(AtfError::BundleCut { .. }))), "{len}");
        }
    }

    #[test]
    fn a_changed_entry_ends_the_chain() {
        let whole = bundle(&[2, 4]);
        for at in HEADER_SIZE..HEADER_SIZE + ENTRY_SIZE {
            let mut changed = whole.clone();
            changed[at] ^= 0x40;
            let threads: Vec<_> = BundleReader::new(&changed).unwrap().collect();
            assert!(matches!(threads[..], [Err(AtfError::Bundle { .. })]), "{at}");
        }
    }
}
