//! Everything that is known of an image's code before it is planned.

use std::ops::Range;

use ada_event::ImageOffset;
use ada_image::{Cfa, CodeRange, FunctionTable, Image, UnwindTable};

use crate::code_scan::CodeScan;

/// The code of one image.
#[derive(Clone, Copy)]
pub struct ImageCode<'a> {
    /// The image, for the tables in its data.
    pub image: &'a Image<'a>,
    /// The code.
    pub ranges: &'a [CodeRange<'a>],
    /// Its functions.
    pub functions: &'a FunctionTable,
    /// Its unwind table.
    pub unwind: &'a UnwindTable,
    /// What decoding it showed.
    pub scan: &'a CodeScan,
}

impl<'a> ImageCode<'a> {
    /// The bytes from an address to the end of its code range.
    pub(crate) fn bytes_from(&self, start: ImageOffset) -> Option<&'a [u8]> {
        self.ranges.iter().find_map(|range| range.bytes_from(start))
    }

    pub(crate) fn bytes(&self, range: &Range<u64>) -> Option<&'a [u8]> {
        self.bytes_from(ImageOffset(range.start))?.get(..(range.end - range.start) as usize)
    }

    /// The stack's height at an instruction, if it is known.
    pub(crate) fn height(&self, at: u64) -> Option<Cfa> {
        self.unwind.row_at(ImageOffset(at)).map(|row| row.cfa).filter(|cfa| *cfa != Cfa::Other)
    }
}
