//! One line of `/proc/PID/maps`.

use std::io;

use ada_event::{ProcessId, RuntimeAddr};

use crate::procfs::ProcessDir;

/// One mapping of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Its first address.
    pub start: RuntimeAddr,
    /// The address behind its last.
    pub end: RuntimeAddr,
    /// Whether code may run in it.
    pub executable: bool,
    /// Whether it can be read, and nothing else; changes of it are nobody else's.
    pub read_only: bool,
    /// Where in its file it starts.
    pub file_offset: u64,
    /// Its file's number; 0 without a file.
    pub inode: u64,
    /// The file, or a name in brackets, or nothing.
    pub path: String,
}

/// All mappings of a process, by address.
pub fn of_process(pid: ProcessId) -> io::Result<Vec<Mapping>> {
    Ok(parse(&ProcessDir::of(pid).maps()?).collect())
}

pub(crate) fn parse(text: &str) -> impl Iterator<Item = Mapping> {
    text.lines().filter_map(parse_line)
}

fn parse_line(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let address = |text| u64::from_str_radix(text, 16).ok().map(RuntimeAddr);
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?;
    let file_offset = u64::from_str_radix(fields.next()?, 16).ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    let path = fields.next().unwrap_or("").trim_start();
    Some(Mapping {
        start: address(start)?,
        end: address(end)?,
        executable: permissions.as_bytes().get(2) == Some(&b'x'),
        read_only: permissions == "r--p",
        file_offset,
        inode,
        path: path.to_owned(),
    })
}

#[cfg(test)]
pub(super) fn for_tests() -> Vec<Mapping> {
    let text = "\
555555554000-555555556000 r--p 00000000 fe:00 1234                       /usr/bin/with space
555555556000-55555555b000 r-xp 00002000 fe:00 1234                       /usr/bin/with space
55555555b000-55555557c000 rw-p 00000000 00:00 0                          [heap]
7ffff7c00000-7ffff7c22000 r--p 00000000 fe:00 99                         /lib/x.so
7ffff7c22000-7ffff7d7b000 r-xp 00022000 fe:00 99                         /lib/x.so
7ffff7e00000-7ffff7e01000 r--p 00000000 fe:00 77                         /etc/data
7ffff7f00000-7ffff7f22000 r-xp 00000000 fe:00 99                         /lib/x.so
";
    parse(text).collect()
}
