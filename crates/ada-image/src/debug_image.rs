//! Separate debug files: the symbol table that `strip` took out of an image.

use std::fmt;

use object::LittleEndian;
use object::elf::SHT_SYMTAB;
use object::read::elf::SectionHeader;

use crate::header::{self, section_bytes};
use crate::note::Notes;
use crate::symbol_table::SymbolTable;
use crate::{ImageError, Sources};

/// The names that a debug file has for an image. Its addresses are the image's own.
#[derive(Clone, Copy)]
pub struct DebugImage<'d> {
    pub(crate) symbols: SymbolTable<'d>,
    pub(crate) source: Sources,
    build_id: Option<&'d [u8]>,
}

impl fmt::Debug for DebugImage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DebugImage({} symbols, {})", self.symbols.len(), self.source)
    }
}

impl<'d> DebugImage<'d> {
    /// Reads a separate debug file. The caller has found it, and compares [`Self::build_id`] with the image's.
    pub fn parse(file: &'d [u8]) -> Result<Self, ImageError> {
        Self::parse_as(file, Sources::DEBUG_FILE)
    }

    /// Reads what [`crate::Image::mini_debug_info`] decompressed.
    pub(crate) fn parse_as(file: &'d [u8], source: Sources) -> Result<Self, ImageError> {
        let (header, _) = header::read(file)?;
        let sections = header::sections(header, file)?;
        let mut notes = Notes::default();
        for section in sections.iter() {
            // A note section is read as such by name and not by type, as `objcopy --only-keep-debug` may change that.
            if header::section_name(&sections, section) == b".note.gnu.build-id" {
                notes.read(section_bytes(section, file, "build id")?, section.sh_addralign(LittleEndian));
            }
        }
        let symbols = SymbolTable::from_sections(&sections, file, SHT_SYMTAB)?;
        Ok(Self { symbols, source, build_id: notes.build_id() })
    }

    /// The build id of the image that this file belongs to.
    pub fn build_id(&self) -> Option<&'d [u8]> {
        self.build_id
    }
}
