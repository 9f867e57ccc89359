//! `shared_memory.tsv`: whether memory of a process that has locks in it is shared with others, as far as somebody waited there.

use std::fmt::Write as _;
use std::io;
use std::ops::Range;
use std::path::Path;

use ada_event::TraceNanos;

use super::side_file::{append_text, read_small};

/// Its name in a process's folder.
pub(super) const FILE: &str = "shared_memory.tsv";

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
    let mut text = String::new();
    for it in seen {
        let name = it.name.replace(char::is_control, "?");
        let (start, end) = (it.range.start, it.range.end);
        let _ = writeln!(text, "{}\t{}\t{start:x}\t{end:x}\t{:x}\t{}\t{name}", it.from.0, it.to.0, it.offset, it.file);
    }
    append_text(&process.join(FILE), &text)
}

/// What was seen of a process. Nothing where there is no file, or none that can be read.
pub fn read_shared_memory(process: &Path) -> Vec<SeenMemory> {
    parse_shared_memory(&read_small(&process.join(FILE)))
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
