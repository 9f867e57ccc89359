//! `descriptors.tsv`: what the descriptors of a process were seen to stand for.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ada_event::TraceNanos;
use rustix::fs::OFlags;

use crate::private::{Replacement, create_file};

/// Its name in a process's folder.
pub(super) const FILE: &str = "descriptors.tsv";
/// More of a file is not read.
const MOST_BYTES: u64 = 256 << 20;

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
    let path = process.join(FILE);
    // Not through a link, which somebody else would have made.
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    let mut file = match File::options().append(true).custom_flags(no_link).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => create_file(&path)?,
        opened => opened?,
    };
    let text = lines(seen);
    file.write_all(text.as_bytes())?;
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
    let path = process.join(FILE);
    let is_small = std::fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() <= MOST_BYTES);
    let bytes = if is_small { std::fs::read(&path).unwrap_or_default() } else { Vec::new() };
    parse_descriptors(&bytes)
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
