//! `descriptors.tsv`: what the descriptors of a process were seen to stand for.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use ada_event::TraceNanos;

use super::side_file::{append_text, read_small};
use crate::private::Replacement;

/// Its name in a process's folder.
pub(super) const FILE: &str = "descriptors.tsv";

/// What a descriptor was seen to stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenDescriptor {
    /// It was looked at between these times.
    pub from: TraceNanos,
    /// The later one.
    pub to: TraceNanos,
    /// Its number.
    pub descriptor: u32,
    /// What the kernel calls it: `pipe:[7]`, `socket:[8]`, `eventfd:[9]`, a path.
    pub name: String,
    /// `r`, `w`, `rw` or nothing.
    pub access: String,
    /// Of a socket: `stream`, `datagram`, `packets` or nothing.
    pub form: String,
    /// Of a socket: its own address, as far as that is known.
    pub local: String,
    /// Of a socket: the address of what it is connected to.
    pub remote: String,
    /// Of a socket: the name of what it is connected to.
    pub peer: String,
}

/// Appends to the file of a process, which is begun now if need be. Gives how many bytes.
pub fn append_descriptors(process: &Path, seen: &[SeenDescriptor]) -> io::Result<u64> {
    let text = lines(seen);
    append_text(&process.join(FILE), &text)?;
    Ok(text.len() as u64)
}

/// Makes the file of a process smaller where it has more bytes than this: the oldest half goes, but for what each descriptor was last
/// seen to stand for. Gives how many bytes it has now.
pub fn trim_descriptors(process: &Path, most: u64) -> io::Result<u64> {
    let path = process.join(FILE);
    let length = std::fs::metadata(&path).map(|it| it.len());
    if length.as_ref().is_ok_and(|length| *length <= most) {
        return length;
    }
    let seen = read_descriptors(process);
    let (old, new) = seen.split_at(seen.len() / 2);
    let last: BTreeMap<u32, &SeenDescriptor> = old.iter().map(|it| (it.descriptor, it)).collect();
    let (replacement, mut file) = Replacement::begin(&path)?;
    let text = lines(last.into_values().chain(new));
    file.write_all(text.as_bytes())?;
    replacement.finish()?;
    Ok(text.len() as u64)
}

fn lines<'s>(seen: impl IntoIterator<Item = &'s SeenDescriptor>) -> String {
    let mut text = String::new();
    for it in seen {
        let _ = write!(text, "{}\t{}\t{}", it.from.0, it.to.0, it.descriptor);
        for field in [&it.name, &it.access, &it.form, &it.local, &it.remote, &it.peer] {
            text.push('\t');
            text.push_str(&without_controls(field));
        }
        text.push('\n');
    }
    text
}

/// Paths may hold anything. Nobody finds a file by what stands here.
fn without_controls(field: &str) -> Cow<'_, str> {
    if field.contains(char::is_control) { field.replace(char::is_control, "?").into() } else { field.into() }
}

/// What was seen of a process's descriptors. Nothing where there is no file, or none that can be read.
pub fn read_descriptors(process: &Path) -> Vec<SeenDescriptor> {
    parse_descriptors(&read_small(&process.join(FILE)))
}

/// The lines of a file that say something. The last one may be cut.
pub fn parse_descriptors(bytes: &[u8]) -> Vec<SeenDescriptor> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(&[][..], |end| &bytes[..end]);
    String::from_utf8_lossy(whole).lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<SeenDescriptor> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [from, to, descriptor, name, access, form, local, remote, peer] = fields[..] else { return None };
    let (from, to) = (TraceNanos(from.parse().ok()?), TraceNanos(to.parse().ok()?));
    Some(SeenDescriptor {
        from,
        to: to.max(from),
        descriptor: descriptor.parse().ok()?,
        name: name.to_owned(),
        access: access.to_owned(),
        form: form.to_owned(),
        local: local.to_owned(),
        remote: remote.to_owned(),
        peer: peer.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_appended_is_read_and_a_cut_costs_the_last_line() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read_descriptors(folder.path()).is_empty());
        let seen = |descriptor, name: &str| SeenDescriptor {
            from: TraceNanos(1),
            to: TraceNanos(2),
            descriptor,
            name: name.to_owned(),
            access: "rw".to_owned(),
            peer: "socket:[8]".to_owned(),
            ..SeenDescriptor::default()
        };
        append_descriptors(folder.path(), &[seen(3, "socket:[7]")]).unwrap();
        append_descriptors(folder.path(), &[seen(4, "/a\tb\nc")]).unwrap();
        assert_eq!(read_descriptors(folder.path()), [seen(3, "socket:[7]"), seen(4, "/a?b?c")]);
        let bytes = std::fs::read(folder.path().join(FILE)).unwrap();
        assert_eq!(parse_descriptors(&bytes[..bytes.len() - 1]), [seen(3, "socket:[7]")]);
        append_descriptors(folder.path(), &[seen(3, "pipe:[9]"), seen(5, "/e")]).unwrap();
        trim_descriptors(folder.path(), 1).unwrap();
        let kept = [seen(3, "socket:[7]"), seen(4, "/a?b?c"), seen(3, "pipe:[9]"), seen(5, "/e")];
        assert_eq!(read_descriptors(folder.path()), kept);
        trim_descriptors(folder.path(), 1).unwrap();
        append_descriptors(folder.path(), &[seen(3, "/f")]).unwrap();
        trim_descriptors(folder.path(), 1).unwrap();
        assert_eq!(read_descriptors(folder.path()).last(), Some(&seen(3, "/f")));
        assert!(parse_descriptors(b"\xff\t1\n1\t2\n\n").is_empty());
    }
}
