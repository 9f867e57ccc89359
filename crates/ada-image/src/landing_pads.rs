//! Landing pads: where an unwinder goes on in a function that an exception passes through.
//!
//! No instruction branches to a pad; only the function's language-specific data area (LSDA, in `.gcc_except_table`)
//! knows of it. Compilers of C++, Rust, D and Ada, and gcc's cleanups in C, share its layout:
//!
//! ```text
//! u8       how the pads' base is stored; 0xff: it is the start of the piece of code
//! …        the base, if stored
//! u8       how types are stored; 0xff: there are none
//! uleb128  where the types are, if there are
//! u8       how call sites are stored
//! uleb128  bytes of the call sites, which follow: start, length, pad (0: none), action
//! ```

use ada_event::ImageOffset;
use gimli::{DwEhPe, EndianSlice, Error, LittleEndian, Reader, ReaderOffsetId, constants};

use crate::ImageError;
use crate::segment::{Segment, bytes_from};

/// Reads the LSDAs of an image.
pub(crate) struct LandingPadReader<'i, 'd> {
    segments: &'i [Segment],
    file: &'d [u8],
    /// Each byte of a real image belongs to one table at most. Hostile unwind entries that all name the same table
    /// would otherwise have it read again for each.
    bytes_remaining: usize,
}

impl<'i, 'd> LandingPadReader<'i, 'd> {
    pub(crate) fn new(segments: &'i [Segment], file: &'d [u8]) -> Self {
        Self { segments, file, bytes_remaining: file.len() }
    }

    /// Appends the pads that the table at `address` has for the piece of code at `start`.
    pub(crate) fn append(&mut self, pads: &mut Vec<ImageOffset>, address: u64, start: u64) -> Result<(), ImageError> {
        let bad = |reason| ImageError::BadExceptionTable { table: ImageOffset(address), reason };
        let bytes = bytes_from(self.segments, self.file, address).unwrap_or_default();
        let mut table = EndianSlice::new(bytes, LittleEndian);
        let (base, encoding, size) = read_header(&mut table, address, start).map_err(bad)?;
        self.bytes_remaining =
            self.bytes_remaining.checked_sub(size.max(1)).ok_or(bad(Error::OffsetOutOfBounds(address)))?;
        let mut sites = table.split(size).map_err(bad)?;
        while !sites.is_empty() {
            let pad = read_call_site(&mut sites, encoding).map_err(bad)?;
            // Neighbouring calls often share their pad.
            let pad = (pad != 0).then(|| ImageOffset(base.wrapping_add(pad)));
            if pad.is_some() && pads.last() != pad.as_ref() {
                pads.extend(pad);
            }
        }
        Ok(())
    }
}

type Slice<'d> = EndianSlice<'d, LittleEndian>;

/// The pads' base, how call sites are stored, and how many bytes they have.
fn read_header(table: &mut Slice<'_>, address: u64, start: u64) -> gimli::Result<(u64, DwEhPe, usize)> {
    let base = match DwEhPe(table.read_u8()?) {
        constants::DW_EH_PE_omit => start,
        // Another piece of the same function, where the compiler has split it.
        encoding => {
            let relative_to = match encoding.application() {
                constants::DW_EH_PE_absptr => 0,
                constants::DW_EH_PE_pcrel => address.wrapping_add(1),
                constants::DW_EH_PE_funcrel => start,
                _ => return Err(Error::UnknownPointerEncoding(encoding)),
            };
            if encoding.is_indirect() {
                return Err(Error::UnknownPointerEncoding(encoding));
            }
            relative_to.wrapping_add(read_value(table, encoding)?)
        }
    };
    if DwEhPe(table.read_u8()?) != constants::DW_EH_PE_omit {
        table.read_uleb128()?;
    }
    let encoding = DwEhPe(table.read_u8()?);
    let size = table.read_uleb128()?;
    let size = usize::try_from(size).map_err(|_| Error::UnexpectedEof(ReaderOffsetId(address)))?;
    Ok((base, encoding, size))
}

/// The pad of a call site, from the base.
fn read_call_site(sites: &mut Slice<'_>, encoding: DwEhPe) -> gimli::Result<u64> {
    let _start = read_value(sites, encoding)?;
    let _length = read_value(sites, encoding)?;
    let pad = read_value(sites, encoding)?;
    let _action = sites.read_uleb128()?;
    Ok(pad)
}

fn read_value(bytes: &mut Slice<'_>, encoding: DwEhPe) -> gimli::Result<u64> {
    match encoding.format() {
        constants::DW_EH_PE_uleb128 => bytes.read_uleb128(),
        constants::DW_EH_PE_udata2 => bytes.read_u16().map(u64::from),
        constants::DW_EH_PE_udata4 => bytes.read_u32().map(u64::from),
        constants::DW_EH_PE_sleb128 => bytes.read_sleb128().map(|value| value as u64),
        constants::DW_EH_PE_sdata2 => bytes.read_i16().map(|value| value as u64),
        constants::DW_EH_PE_sdata4 => bytes.read_i32().map(|value| value as u64),
        constants::DW_EH_PE_absptr | constants::DW_EH_PE_udata8 | constants::DW_EH_PE_sdata8 => bytes.read_u64(),
        _ => Err(Error::UnknownPointerEncoding(encoding)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: u64 = 0x3000;
    const START: u64 = 0x1000;

    fn pads(table: &[u8]) -> Result<Vec<u64>, ImageError> {
        let mut pads = Vec::new();
        let segments = [segment(table.len())];
        LandingPadReader::new(&segments, table).append(&mut pads, TABLE, START)?;
        Ok(pads.into_iter().map(|pad| pad.0).collect())
    }

    fn segment(size: usize) -> Segment {
        Segment {
            start: ImageOffset(TABLE),
            memory_size: size as u64,
            file_offset: 0,
            file_size: size as u64,
            readable: true,
            writable: false,
            executable: false,
        }
    }

    fn bad(reason: Error) -> Result<Vec<u64>, ImageError> {
        Err(ImageError::BadExceptionTable { table: ImageOffset(TABLE), reason })
    }

    #[test]
    fn pads_count_from_the_start_of_the_code_and_zero_is_none() {
        let table = [0xff, 0xff, 1, 18, 0, 9, 0, 0, 9, 4, 0x81, 1, 0, 13, 1, 0x81, 1, 1, 14, 1, 2, 0];
        assert_eq!(pads(&table), Ok(vec![0x1081, 0x1002]));
        // With types: they are passed over.
        let table = [0xff, 0x9b, 0x85, 1, 3, 13, 1, 0, 0, 0, 2, 0, 0, 0, 3, 1, 0, 0, 7];
        assert_eq!(pads(&table), Ok(vec![0x1103]));
    }

    #[test]
    fn a_stored_base_is_where_the_pads_count_from() {
        // Relative to where it is stored, in four bytes.
        assert_eq!(pads(&[0x1b, 0xff, 0xef, 0xff, 0xff, 0xff, 1, 4, 0, 1, 5, 0]), Ok(vec![0x2005]));
        // Absolute, in eight.
        assert_eq!(pads(&[0, 0, 0x50, 0, 0, 0, 0, 0, 0, 0xff, 1, 4, 0, 1, 5, 0]), Ok(vec![0x5005]));
        assert_eq!(pads(&[0x3b, 0, 0, 0, 0, 0xff, 1, 0]), bad(Error::UnknownPointerEncoding(DwEhPe(0x3b))));
        assert_eq!(pads(&[0x9b, 0, 0, 0, 0, 0xff, 1, 0]), bad(Error::UnknownPointerEncoding(DwEhPe(0x9b))));
    }

    #[test]
    fn a_table_that_is_cut_short_is_an_error() {
        let table = [0xff, 0xff, 1, 8, 0, 9, 2, 0, 9, 4, 3, 0];
        assert_eq!(pads(&table), Ok(vec![0x1002, 0x1003]));
        for length in 0..table.len() {
            assert!(matches!(pads(&table[..length]), Err(ImageError::BadExceptionTable { .. })), "{length}");
        }
    }

    #[test]
    fn one_table_is_not_read_for_every_entry_that_names_it() {
        let table = [0xff, 0xff, 1, 4, 0, 9, 2, 0];
        let segments = [segment(table.len())];
        let mut reader = LandingPadReader::new(&segments, &table);
        let mut found = Vec::new();
        let outcomes: Vec<bool> = (0..4).map(|start| reader.append(&mut found, TABLE, start * 16).is_ok()).collect();
        assert_eq!(outcomes, [true, true, false, false]);
    }
}
