//! `summary.bin`: items, then a directory, then where the directory is.
//!
//! | bytes | |
//! | --- | --- |
//! | 32 each | items: start, duration, seq (8 bytes each), function (4), outcome (1), count (3) |
//! | … | the directory: per thread its levels, per level its width and rows, per row its first item and count |
//! | 32 | the directory's offset and length, the tables' key, the CRC-32 of everything before it and a magic |
//!
//! All numbers are little-endian.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use ada_event::TraceNanos;
use ada_format::private::Replacement;
use ada_span::table::FunctionIndex;

use super::build::ThreadSummary;
use super::error::SummaryError;
use crate::item::Item;

pub(super) const ITEM: usize = 32;
const TAIL: usize = 32;
const MAGIC: u32 = u32::from_le_bytes(*b"ADV2");
const MOST_COUNT: u32 = 0xff_ffff;

/// Where things are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) threads: Vec<ThreadEntry>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ThreadEntry {
    pub(super) levels: Vec<LevelEntry>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LevelEntry {
    pub(super) width: u64,
    /// Indexes of the first item and behind the last.
    pub(super) rows: Vec<(u64, u64)>,
}

pub(super) fn encode_item(item: &Item) -> [u8; ITEM] {
    let mut bytes = [0; ITEM];
    bytes[0..8].copy_from_slice(&item.start.0.to_le_bytes());
    bytes[8..16].copy_from_slice(&item.duration.to_le_bytes());
    bytes[16..24].copy_from_slice(&item.seq.to_le_bytes());
    bytes[24..28].copy_from_slice(&item.function.0.to_le_bytes());
    let last = item.count.min(MOST_COUNT) << 8 | u32::from(item.outcome);
    bytes[28..32].copy_from_slice(&last.to_le_bytes());
    bytes
}

pub(super) fn decode_item(bytes: &[u8; ITEM]) -> Item {
    let word = |at: usize| u64::from_le_bytes(bytes.as_chunks::<8>().0[at]);
    let last = word(3);
    Item {
        start: TraceNanos(word(0)),
        duration: word(1),
        seq: word(2),
        function: FunctionIndex(last as u32),
        count: (last >> 40) as u32,
        outcome: (last >> 32) as u8,
    }
}

/// Writes a summary under another name and renames it, so that nobody finds half of one.
pub(super) fn write(path: &Path, key: u64, threads: &[ThreadSummary]) -> io::Result<()> {
    let (replacement, file) = Replacement::begin(path)?;
    write_to(BufWriter::with_capacity(1 << 20, file), key, threads)?;
    replacement.finish()
}

/// What writes and knows the checksum of what it has written.
struct Summed<W> {
    out: W,
    crc: crc32fast::Hasher,
}

impl<W: Write> Summed<W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc.update(bytes);
        self.out.write_all(bytes)
    }
}

pub(super) fn write_to(out: impl Write, key: u64, threads: &[ThreadSummary]) -> io::Result<()> {
    let mut out = Summed { out, crc: crc32fast::Hasher::new() };
    let mut directory = Vec::new();
    let mut put = |number: u64| directory.extend(number.to_le_bytes());
    let mut index = 0_u64;
    put(threads.len() as u64);
    for thread in threads {
        put(thread.levels.len() as u64);
        for level in &thread.levels {
            put(level.width);
            put(level.rows.len() as u64);
            for row in &level.rows {
                put(index);
                put(row.len() as u64);
                index += row.len() as u64;
                for item in row {
                    out.put(&encode_item(item))?;
                }
            }
        }
    }
    out.put(&directory)?;
    out.put(&(index * ITEM as u64).to_le_bytes())?;
    out.put(&(directory.len() as u64).to_le_bytes())?;
    out.put(&key.to_le_bytes())?;
    let Summed { mut out, crc } = out;
    out.write_all(&crc.finalize().to_le_bytes())?;
    out.write_all(&MAGIC.to_le_bytes())?;
    out.flush()
}

/// What the end of a file says.
struct Tail {
    /// Where it begins.
    offset: u64,
    directory: std::ops::Range<usize>,
    key: u64,
    crc: u32,
}

fn read_tail(bytes: &[u8]) -> Result<Tail, SummaryError> {
    let length = bytes.len() as u64;
    let (_, tail) = bytes.split_last_chunk::<TAIL>().ok_or(SummaryError::TooShort { length })?;
    let word = |at: usize| u64::from_le_bytes(tail.as_chunks::<8>().0[at]);
    let offset = length - TAIL as u64;
    if (word(3) >> 32) as u32 != MAGIC {
        return Err(SummaryError::OtherFormat { offset: length - 4 });
    }
    let (start, end) = (word(0), word(0).checked_add(word(1)));
    if end != Some(offset) || !start.is_multiple_of(ITEM as u64) {
        return Err(SummaryError::Lengths { offset });
    }
    Ok(Tail { offset, directory: start as usize..offset as usize, key: word(2), crc: word(3) as u32 })
}

/// The directory of a file's bytes, if they are the summary of tables with this key.
pub(super) fn read(bytes: &[u8], key: u64) -> Result<Directory, SummaryError> {
    let tail = read_tail(bytes)?;
    if tail.key != key {
        return Err(SummaryError::OtherTables { offset: tail.offset + 16 });
    }
    let end = bytes.len() - 8;
    if crc32fast::hash(&bytes[..end]) != tail.crc {
        return Err(SummaryError::Checksum { offset: end as u64 });
    }
    read_directory(bytes, tail.directory)
}

/// The same whatever key and checksum it has.
pub(super) fn read_unchecked(bytes: &[u8]) -> Result<Directory, SummaryError> {
    read_directory(bytes, read_tail(bytes)?.directory)
}

fn read_directory(bytes: &[u8], directory: std::ops::Range<usize>) -> Result<Directory, SummaryError> {
    let items = (directory.start / ITEM) as u64;
    let mut at = directory.start as u64;
    let mut numbers = bytes[directory].as_chunks::<8>().0.iter().map(|it| u64::from_le_bytes(*it));
    let mut next = || {
        let offset = at;
        at += 8;
        numbers.next().map(|number| (number, offset)).ok_or(SummaryError::Directory { offset })
    };
    let mut found = Directory::default();
    for _ in 0..next()?.0 {
        let mut thread = ThreadEntry::default();
        for _ in 0..next()?.0 {
            let (width, offset) = next()?;
            if width == 0 {
                return Err(SummaryError::Directory { offset });
            }
            let mut level = LevelEntry { width, rows: Vec::new() };
            for _ in 0..next()?.0 {
                let ((first, _), (count, offset)) = (next()?, next()?);
                match first.checked_add(count) {
                    Some(last) if last <= items => level.rows.push((first, last)),
                    _ => return Err(SummaryError::Directory { offset }),
                }
            }
            thread.levels.push(level);
        }
        found.threads.push(thread);
    }
    match next() {
        Ok((_, offset)) => Err(SummaryError::Directory { offset }),
        Err(_) => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::summary::build::Level;

    #[test]
    fn items_come_back_as_they_were() {
        let item = Item {
            start: TraceNanos(1 << 50),
            duration: u64::MAX,
            seq: 77,
            function: FunctionIndex(3),
            count: 9,
            outcome: 0xff,
        };
        assert_eq!(decode_item(&encode_item(&item)), item);
        let many = Item { count: u32::MAX, ..item };
        assert_eq!(decode_item(&encode_item(&many)).count, MOST_COUNT);
    }

    #[test]
    fn a_file_that_was_cut_or_changed_is_no_summary() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.bin");
        let level = Level { width: 8, rows: vec![vec![Item::default(); 3], Vec::new(), vec![Item::default()]] };
        write(&path, 5, &[ThreadSummary { levels: vec![level] }]).unwrap();
        let bytes = fs::read(&path).unwrap();
        let directory = read(&bytes, 5).unwrap();
        assert_eq!(directory.threads[0].levels[0].rows, [(0, 3), (3, 3), (3, 4)]);
        assert_eq!(read(&bytes, 6), Err(SummaryError::OtherTables { offset: bytes.len() as u64 - 16 }));
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length], 5).is_err(), "{length} bytes");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x40;
            assert!(read(&changed, 5).is_err(), "byte {at}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else remains");
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_offset() {
        let level = Level { width: 8, rows: vec![vec![Item::default(); 3]] };
        let mut bytes = Vec::new();
        write_to(&mut bytes, 5, &[ThreadSummary { levels: vec![level] }]).unwrap();
        let length = bytes.len() as u64;
        // Three items, then: threads, levels, width, rows, the first item and how many.
        let count = 3 * ITEM + 5 * 8;
        assert_eq!(bytes[count], 3);
        let with = |at: usize, byte: u8| {
            let mut changed = bytes.clone();
            changed[at] = byte;
            changed
        };
        assert_eq!(read_unchecked(&with(count, 4)), Err(SummaryError::Directory { offset: count as u64 }));
        assert_eq!(read_unchecked(&with(3 * ITEM + 16, 0)), Err(SummaryError::Directory { offset: 3 * 32 + 16 }));
        assert_eq!(read_unchecked(&with(3 * ITEM, 2)), Err(SummaryError::Directory { offset: length - 32 }));
        assert_eq!(read_unchecked(&with(3 * ITEM, 0)), Err(SummaryError::Directory { offset: 3 * 32 + 8 }));
        assert_eq!(read(&with(count, 4), 5), Err(SummaryError::Checksum { offset: length - 8 }));
        assert_eq!(read(&with(bytes.len() - 1, 0), 5), Err(SummaryError::OtherFormat { offset: length - 4 }));
        assert_eq!(read(&with(bytes.len() - 32, 0), 5), Err(SummaryError::Lengths { offset: length - 32 }));
        assert_eq!(read(&bytes[..31], 5), Err(SummaryError::TooShort { length: 31 }));
    }
}
