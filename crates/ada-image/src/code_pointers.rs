//! Addresses of code that an image's data holds: tables of functions and of labels.

use ada_event::ImageOffset;
use object::LittleEndian;
use object::elf::{DT_RELA, DT_RELASZ, PT_DYNAMIC, R_X86_64_RELATIVE, Rela64};
use object::read::elf::{Dyn, ProgramHeader};

use crate::image::{Image, ImageKind, program_headers};
use crate::segment::bytes_from;
use crate::{code_range, header};

const WORD: usize = 8;

impl<'d> Image<'d> {
    /// The bytes that are mapped at an address, from there to the end of what the file has of them.
    pub fn bytes_from(&self, address: ImageOffset) -> Option<&'d [u8]> {
        bytes_from(self.load_segments(), self.file, address.0)
    }

    /// Every address of code that a word of the image holds once it is loaded, sorted. Nothing where that is not known.
    pub fn code_pointers(&self) -> Option<Vec<ImageOffset>> {
        let is_code = |address: &ImageOffset| code_range::find(self.code_ranges(), *address).is_some();
        let mut pointers = self.relocated_addresses()?;
        pointers.retain(is_code);
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

    /// What the loader writes into words that are zero in the file.
    fn relocated_addresses(&self) -> Option<Vec<ImageOffset>> {
        let (header, _) = header::read(self.file).ok()?;
        let mut headers = program_headers(header, self.file).ok()?.iter();
        let Some(dynamic) = headers.find(|header| header.p_type(LittleEndian) == PT_DYNAMIC) else {
            return (self.kind() == ImageKind::Executable).then(Vec::new);
        };
        let dynamic = dynamic.dynamic(LittleEndian, self.file).ok()??;
        let value = |tag| dynamic.iter().find(|entry| entry.tag(LittleEndian) == tag).map(|it| it.val(LittleEndian));
        let Some(at) = value(DT_RELA) else { return Some(Vec::new()) };
        let size = usize::try_from(value(DT_RELASZ)?).ok()?;
        let bytes = bytes_from(self.load_segments(), self.file, at)?.get(..size)?;
        let count = size / size_of::<Rela64<LittleEndian>>();
        let (relocations, _) = object::pod::slice_from_bytes::<Rela64<LittleEndian>>(bytes, count).ok()?;
        let relative = relocations.iter().filter(|it| it.r_type(LittleEndian, false) == R_X86_64_RELATIVE);
        Some(relative.map(|it| ImageOffset(it.r_addend.get(LittleEndian) as u64)).collect())
    }
}
