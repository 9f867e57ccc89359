//! `/proc/PID/maps`: what a process has mapped, the images among it, and where there is room.

use std::io;
use std::path::PathBuf;

use crate::procfs::ProcessDir;

/// One mapping of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its first address.
    pub start: u64,
    /// The address behind its last.
    pub end: u64,
    /// Whether code may run in it.
    pub executable: bool,
    /// Where in its file it starts.
    pub file_offset: u64,
    /// Its file's number; 0 without a file.
    pub inode: u64,
    /// The file, or a name in brackets, or nothing.
    pub path: String,
}

/// All mappings of a process, by address.
pub fn of_process(pid: u32) -> io::Result<Vec<Mapping>> {
    Ok(parse(&ProcessDir::of(pid).maps()?).collect())
}

pub(crate) fn parse(text: &str) -> impl Iterator<Item = Mapping> {
    text.lines().filter_map(parse_line)
}

fn parse_line(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?;
    let file_offset = u64::from_str_radix(fields.next()?, 16).ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    let path = fields.next().unwrap_or("").trim_start();
    Some(Mapping {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        executable: permissions.as_bytes().get(2) == Some(&b'x'),
        file_offset,
        inode,
        path: path.to_owned(),
    })
}

/// An image that is mapped into a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LoadedFile {
    /// The file.
    pub path: PathBuf,
    /// Its lowest address.
    pub start: u64,
    /// The end of its highest mapping.
    pub end: u64,
}

/// Every file that has executable mappings, in order of address. The same file can be loaded twice, in two link-map
/// namespaces: each run of mappings that starts at file offset 0 is one.
pub fn loaded_files(mappings: &[Mapping]) -> Vec<LoadedFile> {
    let mut files: Vec<(LoadedFile, bool)> = Vec::new();
    for mapping in mappings {
        if !mapping.path.starts_with('/') || is_ours_or_no_image(&mapping.path) {
            continue;
        }
        match files.last_mut() {
            Some((file, executable)) if file.path.as_os_str() == mapping.path.as_str() && mapping.file_offset != 0 => {
                file.end = mapping.end;
                *executable |= mapping.executable;
            }
            _ => files.push((
                LoadedFile { path: mapping.path.clone().into(), start: mapping.start, end: mapping.end },
                mapping.executable,
            )),
        }
    }
    files.into_iter().filter_map(|(file, executable)| executable.then_some(file)).collect()
}

fn is_ours_or_no_image(path: &str) -> bool {
    path.starts_with("/memfd:") || path.starts_with("/dev/") || path.starts_with("/SYSV") || path.starts_with("/anon")
}

/// A page-aligned address where `length` bytes are free, as near as needed to reach `file` from end to end with a
/// 32-bit displacement: below it first, then well above it, out of the way of its heap.
pub fn free_near(mappings: &[Mapping], file: &LoadedFile, length: u64) -> Option<u64> {
    const MARGIN: u64 = 64 << 10;
    const STEP: u64 = 1 << 20;
    const REACH: u64 = 1900 << 20;
    const HEAP: u64 = 1 << 30;
    let is_free = |start: u64| {
        let (low, high) = (start.saturating_sub(MARGIN), start + length + MARGIN);
        let after = mappings.partition_point(|mapping| mapping.end <= low);
        mappings.get(after).is_none_or(|mapping| mapping.start >= high)
    };
    let lowest = file.end.saturating_sub(REACH).max(STEP);
    let mut start = file.start.saturating_sub(length + STEP) & !4095;
    while start >= lowest {
        if is_free(start) {
            return Some(start);
        }
        start -= STEP.min(start);
    }
    let mut start = (file.end + HEAP).next_multiple_of(4096);
    while start + length <= file.start + REACH {
        if is_free(start) {
            return Some(start);
        }
        start += STEP;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
555555554000-555555556000 r--p 00000000 fe:00 1234                       /usr/bin/with space
555555556000-55555555b000 r-xp 00002000 fe:00 1234                       /usr/bin/with space
55555555b000-55555557c000 rw-p 00000000 00:00 0                          [heap]
7ffff7c00000-7ffff7c22000 r--p 00000000 fe:00 99                         /lib/x.so
7ffff7c22000-7ffff7d7b000 r-xp 00022000 fe:00 99                         /lib/x.so
7ffff7e00000-7ffff7e01000 r--p 00000000 fe:00 77                         /etc/data
7ffff7f00000-7ffff7f22000 r-xp 00000000 fe:00 99                         /lib/x.so
";

    #[test]
    fn files_with_code_are_found_and_data_files_are_not() {
        let files = loaded_files(&parse(TEXT).collect::<Vec<_>>());
        let starts: Vec<u64> = files.iter().map(|file| file.start).collect();
        assert_eq!(starts, [0x5555_5555_4000, 0x7fff_f7c0_0000, 0x7fff_f7f0_0000]);
        assert_eq!(files[0].path.to_str(), Some("/usr/bin/with space"));
        assert_eq!(files[1].end, 0x7fff_f7d7_b000);
    }

    #[test]
    fn room_is_found_below_an_image_and_never_on_top_of_another() {
        let mappings: Vec<Mapping> = parse(TEXT).collect();
        let files = loaded_files(&mappings);
        for file in &files {
            let start = free_near(&mappings, file, 4 << 20).unwrap();
            assert!(mappings.iter().all(|mapping| start + (4 << 20) <= mapping.start || start >= mapping.end));
            assert!(file.end - start < 1 << 31);
        }
    }
}
