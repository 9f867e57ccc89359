//! Where an image keeps its unwind entries.

use gimli::{BaseAddresses, EhFrameHdr, LittleEndian, Pointer};

use crate::segment::{Segment, bytes_from};

/// The bytes of `.eh_frame`, and what its relative pointers may be relative to.
#[derive(Clone, Copy)]
pub(crate) struct EhFrameBytes<'d> {
    pub(crate) address: u64,
    pub(crate) bytes: &'d [u8],
    pub(crate) text: Option<u64>,
    pub(crate) got: Option<u64>,
    /// An entry of length zero is the end. Where a section header states the size it is not: the linker may have put
    /// more entries behind the terminator that `crtend.o` brings.
    pub(crate) ends_at_terminator: bool,
}

impl<'d> EhFrameBytes<'d> {
    /// Finds the entries as an unwinder does, through the header that `PT_GNU_EH_FRAME` maps at `address`.
    pub(crate) fn from_header(segments: &[Segment], file: &'d [u8], address: u64) -> Option<Self> {
        let header = EhFrameHdr::new(bytes_from(segments, file, address)?, LittleEndian);
        let bases = BaseAddresses::default().set_eh_frame_hdr(address);
        let Pointer::Direct(address) = header.parse(&bases, 8).ok()?.eh_frame_ptr() else { return None };
        let bytes = bytes_from(segments, file, address)?;
        Some(Self { address, bytes, text: None, got: None, ends_at_terminator: true })
    }

    pub(crate) fn bases(&self) -> BaseAddresses {
        let mut bases = BaseAddresses::default().set_eh_frame(self.address);
        if let Some(text) = self.text {
            bases = bases.set_text(text);
        }
        if let Some(got) = self.got {
            bases = bases.set_got(got);
        }
        bases
    }

    /// The offsets of the entries, each with whether it is a common one.
    pub(crate) fn entries(&self) -> Entries<'d> {
        Entries { bytes: self.bytes, at: 0, ends_at_terminator: self.ends_at_terminator }
    }
}

/// One entry's offset in `.eh_frame`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) offset: usize,
    pub(crate) is_cie: bool,
}

/// Walks from length to length, so that an entry that cannot be read costs only itself.
pub(crate) struct Entries<'d> {
    bytes: &'d [u8],
    at: usize,
    ends_at_terminator: bool,
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            let offset = self.at;
            let (length, header) = match u32_at(self.bytes, offset)? {
                0 if self.ends_at_terminator => return None,
                0 => {
                    self.at += 4;
                    continue;
                }
                // An entry of more than 4 GiB states a longer length behind this mark.
                u32::MAX => {
                    let (low, high) = (u32_at(self.bytes, offset + 4)?, u32_at(self.bytes, offset + 8)?);
                    (u64::from(high) << 32 | u64::from(low), 12)
                }
                length => (u64::from(length), 4),
            };
            let id = offset + header;
            self.at = id.checked_add(usize::try_from(length).ok()?)?;
            return Some(Entry { offset, is_cie: u32_at(self.bytes, id)? == 0 });
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(words: &[u32], ends_at_terminator: bool) -> Vec<(usize, bool)> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let entries = Entries { bytes: &bytes, at: 0, ends_at_terminator };
        entries.map(|entry| (entry.offset, entry.is_cie)).collect()
    }

    #[test]
    fn entries_behind_a_terminator_count_where_the_size_is_known() {
        let words = [8, 0, 7, 4, 16, 0, 4, 0];
        assert_eq!(entries(&words, false), [(0, true), (12, false), (24, true)]);
        assert_eq!(entries(&words, true), [(0, true), (12, false)]);
    }

    #[test]
    fn a_length_beyond_everything_ends_the_walk() {
        assert_eq!(entries(&[u32::MAX, u32::MAX, u32::MAX, 0], false), []);
        assert_eq!(entries(&[0xffff_fff0, 0, 1], false), [(0, true)]);
        assert_eq!(entries(&[1, 0], false), [(0, true)]);
    }
}
