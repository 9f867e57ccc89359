//! `.go.buildinfo`: which Go made a program.

use ada_event::ImageOffset;

use crate::{Image, ImageKind};

const MAGIC: &[u8] = b"\xff Go buildinf:";
/// Where the version's text is, with its length before it, since Go 1.18.
const TEXT_AT: usize = 32;
const HAS_TEXT: u8 = 2;
const LONGEST: u64 = 256;

impl Image<'_> {
    /// The version of Go that made this image, as it calls itself: `go1.19.8`. Nothing where there is none, or it cannot be read.
    pub fn go_version(&self) -> Option<String> {
        let info = self.bytes_from(self.go_sections.build_info.or_else(|| self.search_build_info())?)?;
        let flags = *info.strip_prefix(MAGIC)?.get(1)?;
        let text = if flags & HAS_TEXT != 0 {
            let (&length, text) = info.get(TEXT_AT..)?.split_first()?;
            // A version is never so long that its length takes two bytes.
            text.get(..usize::from(length)).filter(|_| length < 0x80)?
        } else {
            self.text_by_pointer(info)?
        };
        Some(str::from_utf8(text).ok()?.to_owned()).filter(|text| !text.is_empty())
    }

    /// Without section headers.
    fn search_build_info(&self) -> Option<ImageOffset> {
        const ALIGN: usize = 16;
        let segments = self.load_segments().iter().filter(|segment| segment.writable && self.uses_go());
        segments.into_iter().find_map(|segment| {
            let skip = segment.start.0.wrapping_neg() as usize % ALIGN;
            let bytes = segment.file_bytes(self.file);
            let from = (skip..bytes.len()).step_by(ALIGN).find(|&from| bytes[from..].starts_with(MAGIC))?;
            Some(ImageOffset(segment.start.0 + from as u64))
        })
    }

    /// Before 1.18: the address of an address and a length. Where the loader writes them, they are not in the file.
    fn text_by_pointer(&self, info: &[u8]) -> Option<&[u8]> {
        let word = |bytes: &[u8], at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let string = self.bytes_from(ImageOffset(word(info, 16)?)).filter(|_| self.kind() == ImageKind::Executable)?;
        let (at, length) = (word(string, 0)?, word(string, 8)?);
        self.bytes_from(ImageOffset(at))?.get(..usize::try_from(length.min(LONGEST)).ok()?)
    }
}
