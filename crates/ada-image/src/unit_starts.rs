//! Where the functions of a compilation unit begin in its source.
//!
//! The line table alone is not enough: the first instruction of an optimised function often belongs to its body only, or
//! to a function that was inlined there.

use std::path::PathBuf;

use ada_event::ImageOffset;
use gimli::{AttributeValue, DW_AT_abstract_origin, DW_AT_decl_file, DW_AT_decl_line, DW_AT_specification};
use gimli::{DW_TAG_subprogram, DebuggingInformationEntry, EndianSlice, LittleEndian, UnitRef};

use crate::SourcePlace;

type Bytes<'d> = EndianSlice<'d, LittleEndian>;

/// How many entries lead from a function to its declaration; more would be a circle.
const MAX_HOPS: usize = 4;

/// Files and lines by address, sorted.
pub(crate) struct UnitStarts(Vec<Start>);

struct Start {
    address: u64,
    /// A number of the unit's line table.
    file: u64,
    line: u32,
}

impl UnitStarts {
    /// Declarations of functions and, where there are none, the first of the rows for each address.
    pub(crate) fn of(unit: &UnitRef<'_, Bytes<'_>>) -> Self {
        let mut starts = declarations(unit);
        starts.extend(first_rows(unit));
        // Declarations stay in front of rows.
        starts.sort_by_key(|start| start.address);
        // What a header announces may have its code in the unit's own file, which then has the function.
        starts.dedup_by(|row, first| {
            let is_same = row.address == first.address;
            if is_same && row.file != first.file && is_own_file(unit, row.file) && !is_own_file(unit, first.file) {
                std::mem::swap(row, first);
            }
            is_same
        });
        Self(starts)
    }

    /// The place for the function that begins at an address.
    pub(crate) fn place(&self, unit: &UnitRef<'_, Bytes<'_>>, at: ImageOffset) -> Option<SourcePlace> {
        let start = &self.0[self.0.binary_search_by_key(&at.0, |start| start.address).ok()?];
        Some(SourcePlace { file: path(unit, start.file)?, line: start.line })
    }
}

fn declarations(unit: &UnitRef<'_, Bytes<'_>>) -> Vec<Start> {
    let mut found = Vec::new();
    let mut entries = unit.entries();
    while let Ok(Some(entry)) = entries.next_dfs() {
        if entry.tag() != DW_TAG_subprogram {
            continue;
        }
        let Some(range) = unit.die_ranges(entry).ok().and_then(|mut ranges| ranges.next().ok().flatten()) else {
            continue;
        };
        if let Some((file, line)) = declaration(unit, entry.clone()) {
            found.push(Start { address: range.begin, file, line });
        }
    }
    found
}

/// The file and line that an entry, or the one that it is made from, was declared in.
fn declaration<'d>(
    unit: &UnitRef<'_, Bytes<'d>>,
    mut entry: DebuggingInformationEntry<Bytes<'d>>,
) -> Option<(u64, u32)> {
    for _ in 0..MAX_HOPS {
        let file = entry.attr_value(DW_AT_decl_file).and_then(|file| match file {
            AttributeValue::FileIndex(file) => Some(file),
            other => other.udata_value(),
        });
        let line = entry.attr_value(DW_AT_decl_line).and_then(|line| u32::try_from(line.udata_value()?).ok());
        if let (Some(file), Some(line @ 1..)) = (file, line) {
            return Some((file, line));
        }
        let next = entry.attr_value(DW_AT_abstract_origin).or_else(|| entry.attr_value(DW_AT_specification));
        // An entry of another unit, as link-time optimisation makes them, is left alone: a row has to do.
        let Some(AttributeValue::UnitRef(offset)) = next else { return None };
        entry = unit.entry(offset).ok()?;
    }
    None
}

fn first_rows(unit: &UnitRef<'_, Bytes<'_>>) -> Vec<Start> {
    let mut found: Vec<Start> = Vec::new();
    let Some(mut rows) = unit.line_program.clone().map(|program| program.rows()) else { return found };
    while let Ok(Some((_, row))) = rows.next_row() {
        let Some(line) = row.line().and_then(|line| u32::try_from(line.get()).ok()) else { continue };
        if !row.end_sequence() && found.last().is_none_or(|last| last.address != row.address()) {
            found.push(Start { address: row.address(), file: row.file_index(), line });
        }
    }
    found
}

/// Whether a file is the one that the unit was compiled from, by its name.
fn is_own_file(unit: &UnitRef<'_, Bytes<'_>>, file: u64) -> bool {
    let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
    let own = unit.name.and_then(|own| name(&own.to_string_lossy()));
    let header = unit.line_program.as_ref().map(|program| program.header());
    let file = header.and_then(|header| unit.attr_string(header.file(file)?.path_name()).ok());
    own.is_some() && file.and_then(|file| name(&file.to_string_lossy())) == own
}

/// The path of a file of a unit, put together as `addr2line` does.
fn path(unit: &UnitRef<'_, Bytes<'_>>, file: u64) -> Option<String> {
    let header = unit.line_program.as_ref()?.header();
    let file = header.file(file)?;
    let mut path = PathBuf::from(unit.comp_dir.map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default());
    let folder = file.directory(header).filter(|_| file.directory_index() != 0);
    for part in folder.into_iter().chain([file.path_name()]) {
        path.push(&*unit.attr_string(part).ok()?.to_string_lossy());
    }
    Some(path.to_string_lossy().into_owned())
}
