//! Files of text in a process's folder that grow while it is recorded.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use crate::private::create_file;

/// Appends to a file, which is begun now if need be.
pub(super) fn append_text(path: &Path, text: &str) -> io::Result<()> {
    // Not through a link, which somebody else would have made.
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    let mut file = match File::options().append(true).custom_flags(no_link).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => create_file(path)?,
        opened => opened?,
    };
    file.write_all(text.as_bytes())
}

/// What is in a file; nothing where there is none, or one that no recorder has written.
pub(super) fn read_small(path: &Path) -> Vec<u8> {
    /// More of a file is not read.
    const MOST_BYTES: u64 = 256 << 20;
    let is_small = std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() <= MOST_BYTES);
    if is_small { std::fs::read(path).unwrap_or_default() } else { Vec::new() }
}
