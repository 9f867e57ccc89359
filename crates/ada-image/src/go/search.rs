//! Where an image has Go's table.

use ada_event::ImageOffset;

use super::go_table::{GoTable, HEADER_BYTES};
use crate::{Image, ImageError};

/// What every table has behind the byte that tells its form.
const BEHIND_FORM: [u8; 7] = [0xff, 0xff, 0xff, 0, 0, 1, 8];
/// Linkers align the table, at least so far.
const ALIGN: usize = 8;

impl<'d> Image<'d> {
    /// The table of functions of a Go program, stripped or not; nothing for others. A table that cannot be read is an error.
    pub fn go_table(&self) -> Option<Result<GoTable<'d>, ImageError>> {
        if let Some(at) = self.go_sections.table {
            let missing = || ImageError::BadGoTable { table: at, offset: 0, reason: "its bytes are not in the file" };
            return Some(self.bytes_from(at).ok_or_else(missing).and_then(|bytes| self.table_at(at, bytes)));
        }
        if !self.uses_go() {
            return None;
        }
        let segments = self.load_segments().iter().filter(|segment| segment.readable);
        segments.flat_map(|segment| self.tables_in(segment.start, segment.file_bytes(self.file))).next().map(Ok)
    }

    /// Whatever looks like a table, and leads to code.
    fn tables_in(&self, start: ImageOffset, bytes: &'d [u8]) -> impl Iterator<Item = GoTable<'d>> {
        let skip = start.0.wrapping_neg() as usize % ALIGN;
        (skip..bytes.len().saturating_sub(HEADER_BYTES)).step_by(ALIGN).filter_map(move |from| {
            let found = &bytes[from..];
            let table = if found[1..8] == BEHIND_FORM {
                self.table_at(ImageOffset(start.0 + from as u64), found).ok()
            } else {
                None
            };
            table.filter(|table| table.function(0).is_some_and(|it| self.code_range_at(it.start).is_some()))
        })
    }

    fn table_at(&self, at: ImageOffset, bytes: &'d [u8]) -> Result<GoTable<'d>, ImageError> {
        /// Where the header has the start of the code.
        const TEXT_AT: u64 = 24;
        let relocated = || self.loaded_address_at(ImageOffset(at.0.checked_add(TEXT_AT)?));
        let text = relocated().or_else(|| self.code_ranges().first().map(|code| code.start));
        GoTable::parse(bytes, at, text.map_or(0, |text| text.0))
    }
}
