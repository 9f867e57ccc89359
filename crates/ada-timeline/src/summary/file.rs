//! `summary.bin`: items, then a directory, then where the directory is.
//!
//! | bytes | |
//! | --- | --- |
//! | 32 each | items: start, duration, seq (8 bytes each), function (4), count (3), outcome (1) |
//! | … | the directory: per thread its levels, per level its width and rows, per row its first item and count |
//! | 32 | the directory's offset and length, the tables' key, its CRC-32 and a magic |
//!
//! All numbers are little-endian. Only the directory is checked when the file is opened: items are looked at one by
//! one, and a wrong one is a wrong picture and nothing else.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::build::ThreadSummary;
use crate::item::Item;

pub(super) const ITEM: usize = 32;
const TAIL: usize = 32;
const MAGIC: u32 = u32::from_le_bytes(*b"ADV1");
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
    /// Places of the first item and behind the last.
    pub(super) rows: Vec<(u64, u64)>,
}

pub(super) fn encode_item(item: &Item) -> [u8; ITEM] {
    let mut bytes = [0; ITEM];
    bytes[0..8].copy_from_slice(&item.start.to_le_bytes());
    bytes[8..16].copy_from_slice(&item.duration.to_le_bytes());
    bytes[16..24].copy_from_slice(&item.seq.to_le_bytes());
    bytes[24..28].copy_from_slice(&item.function.to_le_bytes());
    let last = item.count.min(MOST_COUNT) << 8 | u32::from(item.outcome);
    bytes[28..32].copy_from_slice(&last.to_le_bytes());
    bytes
}

pub(super) fn decode_item(bytes: &[u8; ITEM]) -> Item {
    let word = |at: usize| u64::from_le_bytes(bytes.as_chunks::<8>().0[at]);
    let last = word(3);
    Item {
        start: word(0),
        duration: word(1),
        seq: word(2),
        function: last as u32,
        count: (last >> 40) as u32,
        outcome: (last >> 32) as u8,
    }
}

/// Writes a summary under another name and renames it, so that nobody finds half of one.
pub(super) fn write(path: &Path, key: u64, threads: &[ThreadSummary]) -> io::Result<()> {
    let unfinished = path.with_extension(format!("{}.tmp", std::process::id()));
    let written =
        File::create(&unfinished).and_then(|file| write_to(BufWriter::with_capacity(1 << 20, file), key, threads));
    written.and_then(|()| fs::rename(&unfinished, path)).inspect_err(|_| drop(fs::remove_file(&unfinished)))
}

fn write_to(mut out: impl Write, key: u64, threads: &[ThreadSummary]) -> io::Result<()> {
    let mut directory = Vec::new();
    let mut put = |number: u64| directory.extend(number.to_le_bytes());
    let mut place = 0_u64;
    put(threads.len() as u64);
    for thread in threads {
        put(thread.levels.len() as u64);
        for level in &thread.levels {
            put(level.width);
            put(level.rows.len() as u64);
            for row in &level.rows {
                put(place);
                put(row.len() as u64);
                place += row.len() as u64;
                for item in row {
                    out.write_all(&encode_item(item))?;
                }
            }
        }
    }
    out.write_all(&directory)?;
    out.write_all(&(place * ITEM as u64).to_le_bytes())?;
    out.write_all(&(directory.len() as u64).to_le_bytes())?;
    out.write_all(&key.to_le_bytes())?;
    out.write_all(&crc32fast::hash(&directory).to_le_bytes())?;
    out.write_all(&MAGIC.to_le_bytes())?;
    out.flush()
}

/// The directory of a file's bytes, if they are a summary of tables with this key.
pub(super) fn read_directory(bytes: &[u8], key: u64) -> Option<Directory> {
    let tail = bytes.split_last_chunk::<TAIL>()?.1;
    let word = |at: usize| u64::from_le_bytes(tail.as_chunks::<8>().0[at]);
    let (offset, length, crc, magic) = (word(0), word(1), word(3) as u32, (word(3) >> 32) as u32);
    let end = offset.checked_add(length)?;
    if magic != MAGIC || word(2) != key || end.checked_add(TAIL as u64)? != bytes.len() as u64 {
        return None;
    }
    let directory = bytes.get(offset as usize..end as usize)?;
    if crc32fast::hash(directory) != crc {
        return None;
    }
    let mut numbers = directory.as_chunks::<8>().0.iter().map(|it| u64::from_le_bytes(*it));
    let mut next = || numbers.next();
    let items = offset / ITEM as u64;
    let mut found = Directory::default();
    for _ in 0..next()? {
        let mut thread = ThreadEntry::default();
        for _ in 0..next()? {
            let width = next()?;
            let mut level = LevelEntry { width, rows: Vec::new() };
            for _ in 0..next()? {
                let first = next()?;
                let last = first.checked_add(next()?)?;
                if last > items {
                    return None;
                }
                level.rows.push((first, last));
            }
            thread.levels.push(level);
        }
        found.threads.push(thread);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::build::Level;

    #[test]
    fn items_come_back_as_they_were() {
        let item = Item { start: 1 << 50, duration: u64::MAX, seq: 77, function: 3, count: 9, outcome: 0xff };
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
        let directory = read_directory(&bytes, 5).unwrap();
        assert_eq!(directory.threads[0].levels[0].rows, [(0, 3), (3, 3), (3, 4)]);
        assert_eq!(read_directory(&bytes, 6), None);
        for length in 0..bytes.len() {
            assert_eq!(read_directory(&bytes[..length], 5), None, "{length} bytes");
        }
        for at in 4 * ITEM..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x40;
            assert_eq!(read_directory(&changed, 5), None, "byte {at}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }
}
