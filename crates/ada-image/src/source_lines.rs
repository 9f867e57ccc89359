//! Source lines: which line of which file an address of an image was made from, as DWARF has it, or Go's own table.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use ada_event::ImageOffset;
use addr2line::Context;
use gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};

use crate::debug_sections::DebugSections;
use crate::unit_starts::UnitStarts;
use crate::{GoTable, Image, SourcePlace};

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

/// What knows of lines; one of them at least.
struct Lookup<'d> {
    dwarf: Option<Context<EndianSlice<'d, LittleEndian>>>,
    /// Stripped programs of Go have it too.
    go: Option<GoTable<'d>>,
}

self_cell::self_cell!(
    struct Lines {
        owner: DebugSections,
        #[not_covariant]
        dependent: Lookup,
    }
);

impl SourceLines {
    /// Looks for line information in a file. Nothing where there is none, or none that can be read. The caller has seen
    /// to it that the file belongs to the image.
    pub fn read(file: Box<dyn AsRef<[u8]>>) -> Option<Self> {
        let sections = DebugSections::find(file, &NEEDED);
        let has_lines = sections.has(SectionId::DebugLine);
        let lines = Lines::try_new(sections, |sections| {
            let load = |id| Ok::<_, gimli::Error>(EndianSlice::new(sections.bytes(id), LittleEndian));
            let dwarf = || Context::from_dwarf(Dwarf::load(load)?);
            let go = || Image::parse(sections.file()).ok()?.go_table()?.ok();
            let lookup = Lookup { dwarf: has_lines.then(dwarf).and_then(Result::ok), go: go() };
            if lookup.dwarf.is_none() && lookup.go.is_none() { Err(()) } else { Ok(lookup) }
        });
        Some(Self { lines: lines.ok()?, units: RefCell::default() })
    }

    /// The line on which the function that starts at an address is declared; without a declaration, the first line that
    /// its first instruction belongs to.
    pub fn function_place(&self, start: ImageOffset) -> Option<SourcePlace> {
        let declared = self.lines.with_dependent(|_, lookup| {
            let unit = lookup.dwarf.as_ref()?.find_dwarf_and_unit(start.0).skip_all_loads()?;
            let mut units = self.units.borrow_mut();
            units.entry(unit.header.offset().0).or_insert_with(|| UnitStarts::of(&unit)).place(&unit, start)
        });
        let in_go_table = || self.lines.with_dependent(|_, lookup| lookup.go.as_ref()?.function_place(start));
        declared.or_else(in_go_table).or_else(|| self.place(start))
    }

    /// The line that the instruction at an address belongs to.
    pub fn place(&self, at: ImageOffset) -> Option<SourcePlace> {
        self.lines.with_dependent(|_, lookup| {
            let of_dwarf = || {
                let location = lookup.dwarf.as_ref()?.find_location(at.0).ok().flatten()?;
                Some(SourcePlace { file: location.file?.to_owned(), line: location.line.filter(|&line| line > 0)? })
            };
            of_dwarf().or_else(|| lookup.go.as_ref()?.place(at))
        })
    }
}

impl SourceLines {
    /// The line of the function at an address that its instruction belongs to: of code that was inlined, the line that it was
    /// inlined at, as far as DWARF says so.
    pub fn outer_place(&self, at: ImageOffset) -> Option<SourcePlace> {
        let outermost = self.lines.with_dependent(|_, lookup| {
            let mut frames = lookup.dwarf.as_ref()?.find_frames(at.0).skip_all_loads().ok()?;
            let mut outermost = None;
            while let Ok(Some(frame)) = frames.next() {
                outermost = frame.location;
            }
            let location = outermost?;
            Some(SourcePlace { file: location.file?.to_owned(), line: location.line.filter(|&line| line > 0)? })
        });
        outermost.or_else(|| self.place(at))
    }
}

impl fmt::Debug for SourceLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceLines({} sections)", self.lines.borrow_owner().count())
    }
}
