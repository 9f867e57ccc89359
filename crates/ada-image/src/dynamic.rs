//! The entries that an image has for the loader.

use object::LittleEndian;
use object::elf::{Dyn64, PT_DYNAMIC};
use object::read::elf::ProgramHeader;

use crate::header;
use crate::image::{Image, program_headers};

impl<'d> Image<'d> {
    /// What `PT_DYNAMIC` says, if there is one; nothing where it cannot be read.
    pub(crate) fn dynamic(&self) -> Option<Option<&'d [Dyn64<LittleEndian>]>> {
        let (header, _) = header::read(self.file).ok()?;
        let mut headers = program_headers(header, self.file).ok()?.iter();
        let Some(dynamic) = headers.find(|header| header.p_type(LittleEndian) == PT_DYNAMIC) else {
            return Some(None);
        };
        dynamic.dynamic(LittleEndian, self.file).ok()?.map(Some)
    }
}
