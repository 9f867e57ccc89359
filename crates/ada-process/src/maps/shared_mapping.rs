//! Memory that a process shares with others.

use std::io;
use std::ops::Range;

use ada_event::ProcessId;

use crate::procfs::ProcessDir;

/// A mapping around an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingAround {
    /// Its addresses.
    pub range: Range<u64>,
    /// What it is mapped from, where others may have mapped the same.
    pub shared: Option<SharedFile>,
}

/// What shared memory is mapped from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedFile {
    /// The device and the file's number there. The kernel has such a file for every piece of shared memory, be it without a name.
    pub id: String,
    /// Where in it the mapping starts.
    pub offset: u64,
    /// Its name, or what the kernel calls it.
    pub name: String,
}

impl MappingAround {
    /// The mapping around an address of a process now.
    pub fn of(pid: ProcessId, address: u64) -> io::Result<Option<Self>> {
        Ok(ProcessDir::of(pid).maps()?.lines().filter_map(parse_line).find(|it| it.range.contains(&address)))
    }
}

fn parse_line(line: &str) -> Option<MappingAround> {
    let mut fields = line.splitn(6, ' ');
    let number = |text| u64::from_str_radix(text, 16).ok();
    let (start, end) = fields.next()?.split_once('-')?;
    let is_shared = fields.next()?.as_bytes().get(3) == Some(&b's');
    let (offset, device, inode) = (number(fields.next()?)?, fields.next()?, fields.next()?);
    let name = fields.next().unwrap_or("").trim_start().to_owned();
    let file = SharedFile { id: format!("{device}:{inode}"), offset, name };
    Some(MappingAround { range: number(start)?..number(end)?, shared: is_shared.then_some(file) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::this_process::this_process;

    #[test]
    fn what_is_shared_has_a_file_and_what_is_not_has_none() {
        let line = "7f00-8000 rw-s 00001000 00:01 1035                       /dev/zero (deleted)";
        let shared = SharedFile { id: "00:01:1035".to_owned(), offset: 0x1000, name: "/dev/zero (deleted)".to_owned() };
        assert_eq!(parse_line(line), Some(MappingAround { range: 0x7f00..0x8000, shared: Some(shared) }));
        let private = parse_line("7f00-8000 rw-p 00001000 fe:00 7 /lib/x").unwrap();
        assert_eq!(private.shared, None);
        assert_eq!((parse_line(""), parse_line("7f00 rw-s"), parse_line("x-y rw-s 0 0 0")), (None, None, None));
        let here = MappingAround::of(this_process(), &raw const private as u64).unwrap().unwrap();
        assert!(here.shared.is_none() && here.range.contains(&(&raw const private as u64)));
    }
}
