//! What the loader maps: the part of an image's headers that decides where bytes end up in memory.

use ada_event::ImageOffset;
use object::LittleEndian;
use object::elf::{PF_R, PF_W, PF_X, ProgramHeader64};

/// One `PT_LOAD` of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where the segment lies in the image's address space.
    pub start: ImageOffset,
    /// Bytes in memory.
    pub memory_size: u64,
    /// Where the segment's bytes start in the file.
    pub file_offset: u64,
    /// Bytes that come from the file; the rest of the memory is zero.
    pub file_size: u64,
    /// The segment may be read.
    pub readable: bool,
    /// The segment may be written.
    pub writable: bool,
    /// The segment may be executed.
    pub executable: bool,
}

impl Segment {
    pub(crate) fn from_header(header: &ProgramHeader64<LittleEndian>) -> Self {
        let flags = header.p_flags.get(LittleEndian);
        Self {
            start: ImageOffset(header.p_vaddr.get(LittleEndian)),
            memory_size: header.p_memsz.get(LittleEndian),
            file_offset: header.p_offset.get(LittleEndian),
            file_size: header.p_filesz.get(LittleEndian),
            readable: flags.contains(PF_R),
            writable: flags.contains(PF_W),
            executable: flags.contains(PF_X),
        }
    }

    /// The first address after the segment's memory.
    pub fn end(&self) -> ImageOffset {
        ImageOffset(self.start.0.saturating_add(self.memory_size))
    }

    /// The segment's bytes in `file`, as far as a truncated file still has them.
    pub fn file_bytes<'d>(&self, file: &'d [u8]) -> &'d [u8] {
        let length = file.len() as u64;
        let size = self.file_size.min(self.memory_size);
        let from = self.file_offset.min(length);
        let to = self.file_offset.saturating_add(size).min(length);
        &file[from as usize..to as usize]
    }

    /// The segment's bytes in `file` from `address` on, if the address is one of theirs.
    pub(crate) fn file_bytes_from<'d>(&self, file: &'d [u8], address: u64) -> Option<&'d [u8]> {
        let skip = usize::try_from(address.checked_sub(self.start.0)?).ok()?;
        self.file_bytes(file).get(skip..).filter(|rest| !rest.is_empty())
    }
}

/// The bytes that `segments` map at `address`: from there to the end of what the file has of that segment.
pub(crate) fn bytes_from<'d>(segments: &[Segment], file: &'d [u8], address: u64) -> Option<&'d [u8]> {
    segments.iter().find_map(|segment| segment.file_bytes_from(file, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(start: u64, memory_size: u64, file_offset: u64, file_size: u64) -> Segment {
        Segment {
            start: ImageOffset(start),
            memory_size,
            file_offset,
            file_size,
            readable: true,
            writable: false,
            executable: true,
        }
    }

    #[test]
    fn bytes_are_clipped_to_the_file_and_to_the_memory() {
        let file = [0, 1, 2, 3, 4, 5, 6, 7];
        assert_eq!(segment(0x1000, 4, 2, 4).file_bytes(&file), [2, 3, 4, 5]);
        assert_eq!(segment(0x1000, 2, 2, 4).file_bytes(&file), [2, 3]);
        assert_eq!(segment(0x1000, 64, 6, 64).file_bytes(&file), [6, 7]);
        assert_eq!(segment(0x1000, u64::MAX, u64::MAX, u64::MAX).file_bytes(&file), [0; 0]);
    }

    #[test]
    fn an_address_is_found_in_the_segment_that_has_its_byte() {
        let file = [0, 1, 2, 3, 4, 5, 6, 7];
        let segments = [segment(0x1000, 4, 0, 4), segment(0x2000, 4, 4, 4)];
        assert_eq!(bytes_from(&segments, &file, 0x2001), Some(&[5, 6, 7][..]));
        assert_eq!(bytes_from(&segments, &file, 0x1004), None);
        assert_eq!(bytes_from(&segments, &file, 0), None);
    }
}
