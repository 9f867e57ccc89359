//! The sections of a file that hold debug information.

use gimli::SectionId;
use object::LittleEndian as ElfLittleEndian;
use object::elf::{ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD};
use object::read::elf::{CompressionHeader, SectionHeader};
use object::read::{CompressedData, CompressionFormat};

use crate::header;

/// Compressed sections of a file take no more memory than this; a file that wants more has none. What is not
/// compressed is read where it is.
const MAX_INFLATED: u64 = 1 << 30;

/// Whether a file has debug information, readable or not.
pub fn has_debug_info(file: &[u8]) -> bool {
    let has_it = || {
        let sections = header::sections(header::read(file).ok()?.0, file).ok()?;
        let names = [&b".debug_info"[..], b".zdebug_info"];
        Some(sections.iter().any(|section| names.contains(&header::section_name(&sections, section))))
    };
    has_it().unwrap_or(false)
}

/// A file and where its debug sections are.
pub(crate) struct DebugSections {
    file: Box<dyn AsRef<[u8]>>,
    found: Vec<(SectionId, Section)>,
}

enum Section {
    /// Offset and size in the file.
    InFile(u64, u64),
    Inflated(Vec<u8>),
}

impl DebugSections {
    /// Finds those of these sections that a file has. There are none where one of them cannot be read.
    pub(crate) fn find(file: Box<dyn AsRef<[u8]>>, wanted: &[SectionId]) -> Self {
        let found = find_sections((*file).as_ref(), wanted).unwrap_or_default();
        Self { file, found }
    }

    /// The file's bytes.
    pub(crate) fn file(&self) -> &[u8] {
        (*self.file).as_ref()
    }

    pub(crate) fn has(&self, id: SectionId) -> bool {
        self.found.iter().any(|(found, _)| *found == id)
    }

    pub(crate) fn count(&self) -> usize {
        self.found.len()
    }

    /// A section's bytes; none where there is no such section.
    pub(crate) fn bytes(&self, id: SectionId) -> &[u8] {
        match self.found.iter().find(|(found, _)| *found == id) {
            Some((_, Section::Inflated(bytes))) => bytes,
            Some((_, Section::InFile(offset, size))) => part((*self.file).as_ref(), *offset, *size).unwrap_or_default(),
            None => &[],
        }
    }
}

fn part(file: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    file.get(start..start.checked_add(usize::try_from(size).ok()?)?)
}

fn find_sections(file: &[u8], wanted: &[SectionId]) -> Option<Vec<(SectionId, Section)>> {
    let (elf, _) = header::read(file).ok()?;
    let sections = header::sections(elf, file).ok()?;
    let mut room = MAX_INFLATED;
    let mut found = Vec::new();
    for section in sections.iter() {
        let name = header::section_name(&sections, section);
        let Some(&id) = wanted.iter().find(|id| id.name().as_bytes() == name) else { continue };
        let bytes = match section.compression(ElfLittleEndian, file).ok()? {
            Some((header, offset, size)) => {
                let uncompressed_size = header.ch_size(ElfLittleEndian);
                room = room.checked_sub(uncompressed_size)?;
                let format = match header.ch_type(ElfLittleEndian) {
                    ELFCOMPRESS_ZLIB => CompressionFormat::Zlib,
                    ELFCOMPRESS_ZSTD => CompressionFormat::Zstandard,
                    _ => return None,
                };
                let data = CompressedData { format, data: part(file, offset, size)?, uncompressed_size };
                Section::Inflated(data.decompress().ok()?.into_owned())
            }
            // Without bytes, it is another file that has them.
            None => section.file_range(ElfLittleEndian).map(|(offset, size)| Section::InFile(offset, size))?,
        };
        found.push((id, bytes));
    }
    Some(found)
}
