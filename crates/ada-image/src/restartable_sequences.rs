//! Restartable sequences (`rseq`): code that the kernel has begin anew where it interrupts a thread in it.
//!
//! The kernel knows such code by its addresses, so it may run nowhere else. Descriptors lie in a section of their own, by which
//! debuggers find them.

use std::ops::Range;

use ada_event::ImageOffset;

use crate::Image;

/// Bytes of a descriptor: version, flags, start, length, and where the thread goes on where it was interrupted.
const BYTES: usize = 32;
const START: usize = 8;
const LENGTH: usize = 16;

impl Image<'_> {
    /// Where they are, from the first instruction to the one behind the last.
    pub fn restartable_sequences(&self) -> Vec<Range<ImageOffset>> {
        let Some((section, bytes)) = self.rseq_section() else { return Vec::new() };
        let sequence = |(number, descriptor): (usize, &[u8; BYTES])| {
            let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| descriptor[at + byte]));
            let at = ImageOffset(section.0.checked_add((number * BYTES + START) as u64)?);
            let start = self.loaded_address_at(at).unwrap_or(ImageOffset(word(START)));
            let end = ImageOffset(start.0.checked_add(word(LENGTH))?);
            self.code_range_at(start).map(|_| start..end)
        };
        bytes.as_chunks().0.iter().enumerate().filter_map(sequence).collect()
    }
}
