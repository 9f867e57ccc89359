//! What functions of Go take and give, as their DWARF has it.
//!
//! Parameters without a name (`_`) are missing there, up to some version of Go. So what a function takes is certain only of those parameters that are said to
//! be in certain registers when the function is entered. Results are all there, in their order.

use ada_event::ImageOffset;
use gimli::{
    AttributeValue, DW_AT_byte_size, DW_AT_count, DW_AT_encoding, DW_AT_language, DW_AT_location, DW_AT_producer,
};
use gimli::{DW_AT_variable_parameter, DW_TAG_formal_parameter, DW_TAG_subprogram};
use gimli::{Dwarf, EndianSlice, LittleEndian, Operation, Unit};

use crate::debug_info::{Bytes, DebugInfo, EntryAt};
use crate::debug_sections::DebugSections;
use crate::function_types::NEEDED;
use crate::go::kind;
use crate::type_reader::TypeReader;
use crate::value_type::{ContentType, SequenceType, ValueType};

/// What a function of Go takes and gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoFunctionType {
    /// What it takes, as far as that has names.
    pub parameters: Vec<GoParameter>,
    /// What it gives.
    pub results: Vec<GoParameter>,
}

/// A parameter, or a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoParameter {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: GoType,
    /// Where it is when the function is entered. Nothing is said of results.
    pub place: GoPlace,
}

/// Where a parameter is when its function is entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GoPlace {
    /// It is not said.
    Unsaid,
    /// Its parts are in these registers, by DWARF's numbers. None for one that the function has no use for, as far as it is sure
    /// which one that is.
    Registers(Vec<Option<u16>>),
    /// On the stack, or where it takes more to find it.
    Elsewhere,
}

/// A type, as far as passing and showing its values needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GoType {
    /// An integer.
    Integer {
        /// Whether it has a sign.
        is_signed: bool,
        /// Its bytes.
        bytes: u8,
    },
    /// True or false.
    Bool,
    /// A number with a fraction, of so many bytes.
    Float(u8),
    /// Two of these.
    Complex(u8),
    /// A pointer to something.
    Pointer(Box<ValueType>),
    /// A function, map or channel, which are pointers to what they are.
    Word,
    /// A text: where it is, and how long.
    String,
    /// Where elements are, how many, and how many there is room for.
    Slice(SequenceType),
    /// A type, or its methods, and a pointer to a value.
    Interface,
    /// Fields, with their names.
    Struct(Vec<(String, GoType)>),
    /// So many elements.
    Array(Box<GoType>, u64),
    /// Something else: neither is it known how it is passed.
    Unknown,
}

impl GoType {
    /// How many types it is made of.
    fn parts(&self) -> usize {
        match self {
            Self::Struct(fields) => 1 + fields.iter().map(|(_, ty)| ty.parts()).sum::<usize>(),
            Self::Array(element, _) => 1 + element.parts(),
            _ => 1,
        }
    }
}

const GO: u16 = 0x16;
/// The name of what has none.
const NAMELESS: &str = "_";
/// How many types lead from one to what it is at last, and how many lie within each other.
const DEEPEST: usize = 8;
/// The most parameters and results that are read, and the most fields of a structure, with those within these.
const MOST: usize = 64;

/// Reads what the functions of Go that start at wanted addresses take and give. Nothing of those that were made by a compiler from
/// before Go 1.17, which passes everything on the stack. As many pointers as `depth` says, one behind the other, lead to structures
/// with their fields.
pub fn go_function_types(
    file: Box<dyn AsRef<[u8]>>,
    is_wanted: &dyn Fn(ImageOffset) -> bool,
    depth: usize,
) -> Vec<(ImageOffset, GoFunctionType)> {
    let sections = DebugSections::find(file, &NEEDED);
    let load = |id| Ok::<_, gimli::Error>(EndianSlice::new(sections.bytes(id), LittleEndian));
    let Ok(dwarf) = Dwarf::load(load) else { return Vec::new() };
    let info = DebugInfo::new(&dwarf);
    let reader = Reader { info: &info, pointees: TypeReader::new(&info, depth) };
    let mut found = Vec::new();
    for number in 0..info.headers.len() {
        reader.read_unit(number, is_wanted, &mut found);
        info.units.borrow_mut().clear();
    }
    found
}

struct Reader<'i, 'd> {
    info: &'i DebugInfo<'d>,
    /// Reads what pointers point at.
    pointees: TypeReader<'i, 'd>,
}

impl<'d> Reader<'_, 'd> {
    fn read_unit(
        &self,
        number: usize,
        is_wanted: &dyn Fn(ImageOffset) -> bool,
        found: &mut Vec<(ImageOffset, GoFunctionType)>,
    ) {
        let Some(unit) = self.info.unit(number) else { return };
        if self.passes_in_registers(&unit).is_none() {
            return;
        }
        let mut functions = Vec::new();
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            if entry.tag() != DW_TAG_subprogram {
                continue;
            }
            let ranges = self.info.dwarf.die_ranges(&unit, entry);
            let range = ranges.ok().and_then(|mut ranges| ranges.next().ok().flatten());
            let start = range.map(|range| ImageOffset(range.begin)).filter(|start| is_wanted(*start));
            functions.extend(start.map(|start| (start, entry.offset())));
        }
        for (start, at) in functions {
            found.extend(self.read_function(&unit, (number, at), start).map(|function| (start, function)));
        }
    }

    /// Whether a unit was written in Go, and is called as Go is since it passes arguments in registers.
    fn passes_in_registers(&self, unit: &Unit<Bytes<'d>>) -> Option<()> {
        let mut entries = unit.entries();
        let root = entries.next_dfs().ok()??;
        let is_go = matches!(root.attr_value(DW_AT_language)?, AttributeValue::Language(language) if language.0 == GO);
        let producer = self.info.dwarf.attr_string(unit, root.attr_value(DW_AT_producer)?).ok()?;
        (is_go && producer.to_string_lossy().contains("regabi")).then_some(())
    }

    fn read_function(&self, unit: &Unit<Bytes<'d>>, at: EntryAt, start: ImageOffset) -> Option<GoFunctionType> {
        let mut function = GoFunctionType { parameters: Vec::new(), results: Vec::new() };
        let mut tree = unit.entries_tree(Some(at.1)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            self.info.spend()?;
            let entry = child.entry();
            if entry.tag() != DW_TAG_formal_parameter {
                continue;
            }
            let here = (at.0, entry.offset());
            let is_result = match self.info.attribute(here, DW_AT_variable_parameter)?.1 {
                AttributeValue::Flag(is_result) => is_result,
                number => number.udata_value()? != 0,
            };
            let name = self.info.name(here).unwrap_or_default();
            let ty = self.info.type_of(here).and_then(|ty| self.read(ty, DEEPEST)).unwrap_or(GoType::Unknown);
            let place = || self.place_at(unit, entry.attr_value(DW_AT_location)?, start);
            let parameter = GoParameter { name, ty, place: place().unwrap_or(GoPlace::Unsaid) };
            let all = if is_result { &mut function.results } else { &mut function.parameters };
            // What a closure writes to is moved to the heap, and may be listed as what was moved, too.
            match all.iter_mut().find(|known| known.name == parameter.name && known.name != NAMELESS) {
                Some(known) if known.place == GoPlace::Unsaid => known.place = parameter.place,
                Some(_) => {}
                None => all.push(parameter),
            }
            (function.parameters.len() + function.results.len() <= MOST).then_some(())?;
        }
        Some(function)
    }

    /// Where a location says that a value is at an address.
    fn place_at(
        &self,
        unit: &Unit<Bytes<'d>>,
        location: AttributeValue<Bytes<'d>>,
        start: ImageOffset,
    ) -> Option<GoPlace> {
        let mut list = self.info.dwarf.attr_locations(unit, location).ok()??;
        while let Some(entry) = list.next().ok()? {
            if !(entry.range.begin..entry.range.end).contains(&start.0) {
                continue;
            }
            let (mut registers, mut newest, mut are_words) = (Vec::new(), None, true);
            let mut operations = entry.data.operations(unit.encoding());
            while let Some(operation) = operations.next().ok()? {
                self.info.spend()?;
                match operation {
                    Operation::Register { register } => newest = Some(register.0),
                    Operation::Piece { size_in_bits, .. } => {
                        registers.push(newest.take());
                        are_words &= size_in_bits == 64;
                    }
                    _ => return Some(GoPlace::Elsewhere),
                }
            }
            registers.extend(newest.map(Some));
            // Elsewhere it may be what is between two parts.
            registers.retain(|register| are_words || register.is_some());
            return registers.iter().any(Option::is_some).then_some(GoPlace::Registers(registers));
        }
        None
    }

    fn read(&self, at: EntryAt, deepest: usize) -> Option<GoType> {
        self.info.spend()?;
        let deepest = deepest.checked_sub(1)?;
        let unit = self.info.unit(at.0)?;
        let entry = unit.entry(at.1).ok()?;
        let next = || self.info.type_of(at);
        if entry.tag() == gimli::DW_TAG_typedef && entry.attr_value(kind::GO_KIND).is_none() {
            return self.read(next()?, deepest);
        }
        let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
        let bytes = || u8::try_from(number(DW_AT_byte_size)?).ok();
        Some(match number(kind::GO_KIND)? {
            kind::BOOL => GoType::Bool,
            kind::INT..=kind::UINTPTR => {
                let bytes = bytes().filter(|bytes| matches!(bytes, 1 | 2 | 4 | 8))?;
                let encoding = entry.attr_value(DW_AT_encoding);
                let is_signed = encoding == Some(AttributeValue::Encoding(gimli::DW_ATE_signed));
                GoType::Integer { is_signed, bytes }
            }
            kind::FLOAT32 => GoType::Float(4),
            kind::FLOAT64 => GoType::Float(8),
            kind::COMPLEX64 => GoType::Complex(4),
            kind::COMPLEX128 => GoType::Complex(8),
            kind::POINTER => GoType::Pointer(Box::new(next().map_or(ValueType::Other, |to| self.pointees.read(to)))),
            kind::UNSAFE_POINTER => GoType::Pointer(Box::new(ValueType::Void)),
            kind::CHAN | kind::FUNC | kind::MAP => GoType::Word,
            kind::INTERFACE => GoType::Interface,
            kind::STRING => GoType::String,
            kind::SLICE => match self.pointees.read(at) {
                ValueType::Aggregate { content: ContentType::Sequence(slice), .. } => GoType::Slice(slice),
                _ => return None,
            },
            kind::STRUCT if entry.tag() == gimli::DW_TAG_typedef => self.read(next()?, deepest)?,
            kind::STRUCT => GoType::Struct(self.fields(at, deepest)?),
            kind::ARRAY if entry.tag() == gimli::DW_TAG_typedef => self.read(next()?, deepest)?,
            kind::ARRAY => GoType::Array(Box::new(self.read(next()?, deepest)?), self.count(at)?),
            _ => return None,
        })
    }

    fn fields(&self, at: EntryAt, deepest: usize) -> Option<Vec<(String, GoType)>> {
        let mut fields = Vec::new();
        let mut parts = 0;
        self.each_child(at, &mut |entry, here| {
            if entry.tag() == gimli::DW_TAG_member {
                let name = self.info.name(here)?;
                // Whether these take registers is for compilers to know.
                let is_blank = name == NAMELESS;
                let ty = self.read(self.info.type_of(here)?, deepest)?;
                parts += ty.parts();
                fields.push((name, ty));
                (!is_blank && parts <= MOST).then_some(())?;
            }
            Some(())
        })?;
        Some(fields)
    }

    fn count(&self, at: EntryAt) -> Option<u64> {
        let mut count = None;
        self.each_child(at, &mut |entry, _| {
            let found = || entry.attr_value(DW_AT_count)?.udata_value();
            count = count.or_else(found);
            Some(())
        })?;
        count
    }

    /// Looks at what is right below an entry, until somebody has seen enough.
    fn each_child(
        &self,
        at: EntryAt,
        look: &mut dyn FnMut(&gimli::DebuggingInformationEntry<Bytes<'d>>, EntryAt) -> Option<()>,
    ) -> Option<()> {
        let unit = self.info.unit(at.0)?;
        let mut tree = unit.entries_tree(Some(at.1)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            self.info.spend()?;
            look(child.entry(), (at.0, child.entry().offset()))?;
        }
        Some(())
    }
}
