//! The build-id of a file, without reading all of it.

use std::io::{Read, Seek};

use object::LittleEndian;
use object::elf::{FileHeader64, PT_NOTE, SHT_NOTE};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};

use crate::note::Notes;

/// The build-id of an ELF file of 64 bits, be it a program, a library or the debug file of one. Only headers and notes
/// are read: a folder of debug files has gigabytes.
pub fn build_id(file: impl Read + Seek) -> Option<Vec<u8>> {
    let cache = ReadCache::new(file);
    let header = FileHeader64::<LittleEndian>::parse(&cache).ok().filter(|header| header.is_supported())?;
    header.endian().ok()?;
    let mut notes = Notes::default();
    // In a debug file the segments no longer say where their bytes are.
    for section in header.sections(LittleEndian, &cache).iter().flat_map(|sections| sections.iter()) {
        if section.sh_type(LittleEndian) == SHT_NOTE && !notes.has_linkers_id() {
            notes.read(section.data(LittleEndian, &cache).unwrap_or_default(), section.sh_addralign(LittleEndian));
        }
    }
    for segment in header.program_headers(LittleEndian, &cache).unwrap_or_default() {
        if segment.p_type(LittleEndian) == PT_NOTE && !notes.has_linkers_id() {
            notes.read(segment.data(LittleEndian, &cache).unwrap_or_default(), segment.p_align(LittleEndian));
        }
    }
    notes.build_id().map(<[u8]>::to_vec)
}
