//! What functions take and give, as DWARF has it.

use ada_event::ImageOffset;
use gimli::{AttributeValue, Dwarf, EndianSlice, LittleEndian, SectionId, Unit};
use gimli::{DW_AT_calling_convention, DW_AT_language, DW_AT_location, DW_AT_producer};
use gimli::{DW_TAG_formal_parameter, DW_TAG_subprogram, DW_TAG_unspecified_parameters};

use crate::debug_info::{Bytes, DebugInfo, EntryAt};
use crate::debug_sections::DebugSections;
use crate::entry_place::{EntryPlace, place_at};
use crate::type_reader::TypeReader;
use crate::value_type::ValueType;

/// What a function takes and gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionType {
    /// Its parameters: their names, where they have one, their types, and where the argument is when the function is entered.
    pub parameters: Vec<(Option<String>, ValueType, EntryPlace)>,
    /// Whether more follow.
    pub is_variadic: bool,
    /// What it gives.
    pub result: ValueType,
}

pub(crate) const NEEDED: [SectionId; 12] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugInfo,
    // A unit is not read without its lines.
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugLoc,
    SectionId::DebugLocLists,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
    SectionId::DebugTypes,
];

/// The most parameters that are read.
const MOST_PARAMETERS: usize = 64;
/// LLVM's mark of a function that does not take its arguments as it was declared to.
const NO_CALL: u64 = 3;
const RUST: u16 = 0x1c;

/// Reads what the functions that start at wanted addresses take and give. Nothing of those that do not take it as declared, or
/// where the information cannot be read. Structures that so many pointers lead to, one behind the other, have their fields. The caller
/// has seen to it that the file belongs to the image.
pub fn function_types(
    file: Box<dyn AsRef<[u8]>>,
    is_wanted: &dyn Fn(ImageOffset) -> bool,
    depth: usize,
) -> Vec<(ImageOffset, FunctionType)> {
    let sections = DebugSections::find(file, &NEEDED);
    let load = |id| Ok::<_, gimli::Error>(EndianSlice::new(sections.bytes(id), LittleEndian));
    let Ok(dwarf) = Dwarf::load(load) else { return Vec::new() };
    let info = DebugInfo::new(&dwarf);
    let types = TypeReader::new(&info, depth);
    let mut found = Vec::new();
    for number in 0..info.headers.len() {
        read_unit(&types, number, is_wanted, &mut found);
        info.units.borrow_mut().clear();
    }
    found
}

fn read_unit(
    types: &TypeReader<'_, '_>,
    number: usize,
    is_wanted: &dyn Fn(ImageOffset) -> bool,
    found: &mut Vec<(ImageOffset, FunctionType)>,
) {
    let info = types.info;
    let Some(unit) = info.unit(number) else { return };
    let mut functions = Vec::new();
    let mut entries = unit.entries();
    while let Ok(Some(entry)) = entries.next_dfs() {
        if entry.tag() != DW_TAG_subprogram {
            continue;
        }
        let range = info.dwarf.die_ranges(&unit, entry).ok().and_then(|mut ranges| ranges.next().ok().flatten());
        let start = range.map(|range| ImageOffset(range.begin)).filter(|start| is_wanted(*start));
        functions.extend(start.map(|start| (start, entry.offset())));
    }
    for (start, at) in functions {
        found.extend(read_function(types, (number, at), start).map(|function| (start, function)));
    }
}

fn read_function(types: &TypeReader<'_, '_>, at: EntryAt, start: ImageOffset) -> Option<FunctionType> {
    let info = types.info;
    let convention = info.attribute(at, DW_AT_calling_convention).and_then(|(_, value)| match value {
        AttributeValue::CallingConvention(convention) => Some(u64::from(convention.0)),
        other => other.udata_value(),
    });
    if convention == Some(NO_CALL) {
        return None;
    }
    let unit = info.unit(at.0)?;
    let is_llvm = is_llvm(info, &unit);
    let is_rust = language(&unit)? == RUST;
    // What a closure has captured is an argument before the others, of which debug information says nothing.
    let is_closure = is_rust && info.name(at).is_some_and(|name| name.starts_with('{'));
    let mut parameters = Vec::new();
    let mut is_variadic = false;
    let mut tree = unit.entries_tree(Some(at.1)).ok()?;
    let mut children = tree.root().ok()?.children();
    while let Some(child) = children.next().ok()? {
        info.spend()?;
        let entry = child.entry();
        if entry.tag() == DW_TAG_unspecified_parameters {
            is_variadic = true;
        } else if entry.tag() == DW_TAG_formal_parameter {
            let place = (at.0, entry.offset());
            let at_entry = match entry.attr_value(DW_AT_location) {
                Some(location) => place_at(info, &unit, location, start, is_rust).unwrap_or(EntryPlace::Unsaid),
                // gcc says nothing of some that it passes, such as integers of 128 bits.
                None if is_llvm => EntryPlace::Nowhere,
                None => EntryPlace::Unsaid,
            };
            let ty = match info.type_of(place).filter(|_| !is_closure) {
                None => ValueType::Other,
                Some(ty) if is_rust => types.rust_parameter(ty, &at_entry),
                Some(ty) => types.read(ty),
            };
            parameters.push((info.name(place), ty, at_entry));
        }
        if parameters.len() > MOST_PARAMETERS {
            return None;
        }
    }
    let result = match info.type_of(at) {
        None => ValueType::Void,
        Some(ty) if is_rust => types.rust_result(ty),
        Some(ty) => types.read(ty),
    };
    Some(FunctionType { parameters, is_variadic, result })
}

/// The language that a unit was written in, by its number; none of one that has a calling convention of its own, as Go and Swift.
fn language(unit: &Unit<Bytes<'_>>) -> Option<u16> {
    /// C, C++ and Rust, by year.
    const UNDERSTOOD: [u16; 12] = [0x01, 0x02, 0x04, 0x0c, 0x19, 0x1a, RUST, 0x1d, 0x21, 0x2a, 0x2b, 0x2c];
    let mut entries = unit.entries();
    match entries.next_dfs().ok()??.attr_value(DW_AT_language)? {
        AttributeValue::Language(language) => Some(language.0).filter(|language| UNDERSTOOD.contains(language)),
        _ => None,
    }
}

/// Whether a unit was made by LLVM, which leaves out arguments that a function does not look at.
fn is_llvm<'d>(info: &DebugInfo<'d>, unit: &Unit<Bytes<'d>>) -> bool {
    let producer = || {
        let mut entries = unit.entries();
        let producer = entries.next_dfs().ok()??.attr_value(DW_AT_producer)?;
        Some(info.dwarf.attr_string(unit, producer).ok()?.to_string_lossy().into_owned())
    };
    producer().is_some_and(|producer| ["clang", "rustc", "LLVM"].iter().any(|name| producer.contains(name)))
}
