//! The file of an image as it is now: its bytes, and what distinguishes it from every other file.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ada_format::private::open_regular;
use memmap2::Mmap;

/// An open file's bytes.
pub(crate) struct ImageFile {
    map: Mmap,
    identity: FileIdentity,
}

/// A file at one moment of its life. Whoever writes to it changes its modification time, and who sets that back, its
/// change time. The device is left out: the same container image gets another number at each start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileIdentity {
    pub(crate) inode: u64,
    pub(crate) size: u64,
    /// Seconds and nanoseconds.
    pub(crate) modified: [i64; 2],
    pub(crate) changed: [i64; 2],
}

impl ImageFile {
    /// Paths come from a target's mappings, and may lead to anything.
    pub(crate) fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = open_regular(path.as_ref())?;
        let identity = FileIdentity::of(&file.metadata()?);
        // SAFETY: whoever changed the file in place would also change code that the target is about to run. What can
        // be relied on is that packagers and linkers replace files.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Self { map, identity })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// The same, whenever somebody last changed anything but its content.
    pub(crate) fn whenever_touched(self) -> Self {
        Self { identity: FileIdentity { changed: [0; 2], ..self.identity }, ..self }
    }

    pub(crate) fn identity(&self) -> FileIdentity {
        self.identity
    }
}

impl AsRef<[u8]> for ImageFile {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl FileIdentity {
    /// That of the file at a path.
    pub(crate) fn of_path(path: &Path) -> io::Result<Self> {
        Ok(Self::of(&std::fs::metadata(path)?))
    }

    fn of(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            size: metadata.size(),
            modified: [metadata.mtime(), metadata.mtime_nsec()],
            changed: [metadata.ctime(), metadata.ctime_nsec()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("libpipe.so");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        // Opened as a file, it would wait for a writer.
        assert!(ImageFile::open(&pipe).is_err() && ImageFile::open("/dev/zero").is_err());
    }
}
