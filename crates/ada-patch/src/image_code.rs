//! Everything that is known of an image's code before it is planned.

use ada_event::ImageOffset;
use ada_image::{CodeRange, FunctionTable, Image, UnwindTable};

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
}
