//! Source lines: which line of which file an address of an image was made from, as DWARF has it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use ada_event::ImageOffset;
use addr2line::Context;
use gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use object::LittleEndian as ElfLittleEndian;
use object::elf::{ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD};
use object::read::elf::{CompressionHeader, SectionHeader};
use object::read::{CompressedData, CompressionFormat};

use crate::unit_starts::UnitStarts;
use crate::{SourcePlace, header};

/// Compressed sections of a file take no more memory than this; a file that wants more has no lines. What is not
/// compressed is read where it is.
const MAX_INFLATED: u64 = 1 << 30;

/// What is needed for lines: no types, no variables, no macros.
const NEEDED: [SectionId; 10] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugAranges,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
];

/// The line information of an image or of its separate debug file.
pub struct SourceLines {
    lines: Lines,
    /// By the offsets of units, functions of which were asked for.
    units: RefCell<HashMap<usize, UnitStarts>>,
}

type Lookup<'d> = Context<EndianSlice<'d, LittleEndian>>;

self_cell::self_cell!(
    struct Lines {
        owner: Sections,
        #[not_covariant]
        dependent: Lookup,
    }
);

/// A file and where its debug sections are.
struct Sections {
    file: Box<dyn AsRef<[u8]>>,
    found: Vec<(SectionId, Section)>,
}

enum Section {
    /// Offset and size in the file.
    InFile(u64, u64),
    Inflated(Vec<u8>),
}

impl SourceLines {
    /// Looks for line information in a file. Nothing where there is none, or none that can be read. The caller has seen
    /// to it that the file belongs to the image.
    pub fn read(file: Box<dyn AsRef<[u8]>>) -> Option<Self> {
        let found = find_sections((*file).as_ref())?;
        found.iter().any(|(id, _)| *id == SectionId::DebugLine).then_some(())?;
        let lines = Lines::try_new(Sections { file, found }, |sections| {
            let load = |id| Ok::<_, gimli::Error>(EndianSlice::new(sections.bytes(id), LittleEndian));
            Context::from_dwarf(Dwarf::load(load)?)
        });
        Some(Self { lines: lines.ok()?, units: RefCell::default() })
    }

    /// The line on which the function that starts at an address is declared; without a declaration, the first line that
    /// its first instruction belongs to.
    pub fn function_place(&self, start: ImageOffset) -> Option<SourcePlace> {
        let found = self.lines.with_dependent(|_, lookup| {
            let unit = lookup.find_dwarf_and_unit(start.0).skip_all_loads()?;
            let mut units = self.units.borrow_mut();
            units.entry(unit.header.offset().0).or_insert_with(|| UnitStarts::of(&unit)).place(&unit, start)
        });
        found.or_else(|| self.place(start))
    }

    /// The line that the instruction at an address belongs to.
    pub fn place(&self, at: ImageOffset) -> Option<SourcePlace> {
        self.lines.with_dependent(|_, lookup| {
            let location = lookup.find_location(at.0).ok().flatten()?;
            Some(SourcePlace { file: location.file?.to_owned(), line: location.line.filter(|&line| line > 0)? })
        })
    }
}

impl fmt::Debug for SourceLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceLines({} sections)", self.lines.borrow_owner().found.len())
    }
}

impl Sections {
    fn bytes(&self, id: SectionId) -> &[u8] {
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

/// The sections that lines need.
fn find_sections(file: &[u8]) -> Option<Vec<(SectionId, Section)>> {
    let (elf, _) = header::read(file).ok()?;
    let sections = header::sections(elf, file).ok()?;
    let mut room = MAX_INFLATED;
    let mut found = Vec::new();
    for section in sections.iter() {
        let name = header::section_name(&sections, section);
        let Some(&id) = NEEDED.iter().find(|id| id.name().as_bytes() == name) else { continue };
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
