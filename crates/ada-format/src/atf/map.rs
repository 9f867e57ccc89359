//! Maps files into memory, and gives their pages back.
//!
//! A mapped page counts as the process's own memory once it was touched. Reading a large file from
//! end to end therefore releases what was read, and the process stays small whatever the file's size.
#![allow(unsafe_code)]

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use memmap2::{Mmap, UncheckedAdvice};

use crate::private::open_regular;

/// A file's bytes, or a part of them.
#[derive(Clone, Debug)]
pub struct Mapping {
    map: Arc<Mmap>,
    part: Range<usize>,
}

impl Mapping {
    /// Maps a file for reading. The file must not be cut while it is mapped: reading past its new end kills the
    /// process, as with any mapped file. Appending, which is what writers do, is harmless.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = open_regular(path)?;
        // SAFETY: the map is private to this type, which lends it out as plain bytes. Parsers treat them as
        // untrusted, so that a file that changes underneath can change what they read, but not break them.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Self { part: 0..map.len(), map: Arc::new(map) })
    }

    /// A part of it, as if it were a file of its own; none where it does not reach so far.
    pub(crate) fn part(&self, part: &Range<usize>) -> Option<Self> {
        self.bytes().get(part.clone())?;
        let start = self.part.start;
        Some(Self { map: self.map.clone(), part: start + part.start..start + part.end })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map[self.part.clone()]
    }

    /// Gives the pages back. They can still be read, and come back from the file.
    pub(crate) fn release(&self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        // SAFETY: the mapping is a read-only one of a file, so dropped pages are read again with the same contents;
        // nothing in memory alone is lost. Failure leaves the pages where they are.
        let _ = unsafe {
            self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, self.part.start + range.start, range.len())
        };
    }
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}
