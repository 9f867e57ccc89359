//! Addresses of code that an image's data holds: tables of functions and of labels.

use ada_event::ImageOffset;

use crate::code_range;
use crate::image::Image;
use crate::relocations::Relocations;
use crate::segment::bytes_from;

const WORD: usize = 8;

impl<'d> Image<'d> {
    /// The bytes that are mapped at an address, from there to the end of what the file has of them.
    pub fn bytes_from(&self, address: ImageOffset) -> Option<&'d [u8]> {
        bytes_from(self.load_segments(), self.file, address.0)
    }

    /// Every address of code that a word of the image holds once it is loaded, sorted. Nothing where that is not known.
    pub fn code_pointers(&self) -> Option<Vec<ImageOffset>> {
        let code = self.code_ranges();
        // Most words are no addresses at all.
        let all = code.first().zip(code.last()).map(|(first, last)| first.start..last.end()).unwrap_or_default();
        let is_code = |address: &ImageOffset| all.contains(address) && code_range::find(code, *address).is_some();
        let mut pointers: Vec<ImageOffset> = Relocations::of(self)?.addresses().filter(is_code).collect();
        // Segments of a hostile image may all be the whole file.
        let mut patience = 2 * self.file.len();
        for segment in self.load_segments() {
            let bytes = segment.file_bytes(self.file);
            patience = patience.checked_sub(bytes.len())?;
            let first = segment.start.0.wrapping_neg() as usize % WORD;
            let words = bytes.get(first..).unwrap_or_default().chunks_exact(WORD);
            pointers.extend(
                words.filter_map(|word| word.try_into().ok()).map(u64::from_le_bytes).map(ImageOffset).filter(is_code),
            );
        }
        pointers.sort_unstable();
        pointers.dedup();
        Some(pointers)
    }

    /// The address of this image that the loader writes to a word, if it writes any there.
    pub(crate) fn loaded_address_at(&self, word: ImageOffset) -> Option<ImageOffset> {
        Relocations::of(self)?.address_at(word)
    }

    /// The words into which the loader writes where a symbol of the same name is, sorted. Code calls functions of other images
    /// through them; nobody jumps through them into the middle of a function.
    pub fn linker_slots(&self) -> Vec<ImageOffset> {
        let mut slots: Vec<ImageOffset> = Relocations::of(self).iter().flat_map(Relocations::slots).collect();
        slots.sort_unstable();
        slots
    }
}
