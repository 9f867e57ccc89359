//! `shared_memory.tsv`: whether memory of a process that has locks in it is shared with others, as far as somebody waited there.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ada_event::TraceNanos;
use rustix::fs::OFlags;

use crate::private::create_file;

/// Its name in a process's folder.
pub(super) const FILE: &str = "shared_memory.tsv";
/// More of a file is not read.
const MOST_BYTES: u64 = 64 << 20;

/// A mapping that was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenMemory {
    /// It was looked at between these times.
    pub from: TraceNanos,
    /// The later one.
    pub to: TraceNanos,
    /// Its addresses.
    pub range: Range<u64>,
    /// Where in its file it starts.
    pub offset: u64,
    /// The file, by the numbers of its device and of its own: what has the same is the same memory. Empty where nobody else has it.
    pub file: String,
    /// What the kernel calls the file.
    pub name: String,
}

/// Appends to the file of a process, which is begun now if need be.
pub fn append_shared_memory(process: &Path, seen: &[SeenMemory]) -> io::Result<()> {
    let path = process.join(FILE);
    // Not through a link, which somebody else would have made.
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    let mut file = match File::options().append(true).custom_flags(no_link).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => create_file(&path)?,
        opened => opened?,
    };
    let mut text = String::new();
    for it in seen {
        let name = it.name.replace(char::is_control, "?");
        let (start, end) = (it.range.start, it.range.end);
        let _ = writeln!(text, "{}\t{}\t{start:x}\t{end:x}\t{:x}\t{}\t{name}", it.from.0, it.to.0, it.offset, it.file);
    }
    file.write_all(text.as_bytes())
}

/// What was seen of a process. Nothing where there is no file, or none that can be read.
pub fn read_shared_memory(process: &Path) -> Vec<SeenMemory> {
    let path = process.join(FILE);
    let is_small = std::fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() <= MOST_BYTES);
    let bytes = if is_small { std::fs::read(&path).unwrap_or_default() } else { Vec::new() };
    parse_shared_memory(&bytes)
}

/// The lines of a file that say something. The last one may be cut.
pub fn parse_shared_memory(bytes: &[u8]) -> Vec<SeenMemory> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(&[][..], |end| &bytes[..end]);
    String::from_utf8_lossy(whole).lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<SeenMemory> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [from, to, start, end, offset, file, name] = fields[..] else { return None };
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let (from, to) = (TraceNanos(from.parse().ok()?), TraceNanos(to.parse().ok()?));
    let (range, offset) = (hex(start)?..hex(end)?, hex(offset)?);
    Some(SeenMemory { from, to: to.max(from), range, offset, file: file.to_owned(), name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_appended_is_read_and_a_cut_costs_the_last_line() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read_shared_memory(folder.path()).is_empty());
        let seen = |start: u64, name: &str| SeenMemory {
            from: TraceNanos(1),
            to: TraceNanos(2),
            range: start..start + 0x1000,
            offset: 0x2000,
            file: "00:01:7".to_owned(),
            name: name.to_owned(),
        };
        append_shared_memory(folder.path(), &[seen(0x7000, "/dev/zero (deleted)")]).unwrap();
        append_shared_memory(folder.path(), &[seen(0x9000, "/a\tb\n")]).unwrap();
        let both = [seen(0x7000, "/dev/zero (deleted)"), seen(0x9000, "/a?b?")];
        assert_eq!(read_shared_memory(folder.path()), both);
        let bytes = std::fs::read(folder.path().join(FILE)).unwrap();
        assert_eq!(parse_shared_memory(&bytes[..bytes.len() - 1]), both[..1]);
        assert!(parse_shared_memory(b"1\t2\tx\t3\n\xff\n\n").is_empty());
    }
}
