//! How Rust passes values.
//!
//! Rust leaves that open. Its compiler (1.95, which this was compared with; see `rustc_abi`'s layouts, and `adjust_for_rust_abi`)
//! passes what comes down to one number or to two as these numbers, each as an argument of its own; of the rest, what has at most
//! eight bytes is passed as an integer, and everything else as a pointer to a copy.
//!
//! Functions that are called as C's are (`extern "C"`) look the same in debug information. So where C's convention differs, a
//! value's place is taken for known only if the debug information has the place too, or if the type is one of which the compiler
//! warns in functions for C. An enum with data is none: `repr(C)` is not in debug information.

use gimli::{DW_AT_alignment, DW_AT_byte_size};

use crate::debug_info::EntryAt;
use crate::entry_place::{EntryPlace, PartPlace};
use crate::type_reader::{DEEPEST, MOST_HOPS, Reach, TypeReader};
use crate::value_type::{ContentType, PassedIn, Passing, RegisterPart, ValueType};
use crate::variants::DeclaredVariant;

/// DWARF's number of the first vector register.
const FIRST_VECTOR: u16 = 17;
/// The largest structure without parts that is passed as an integer, and the largest that C passes in registers.
const LARGEST_INTEGER: u64 = 8;
const LARGEST_OF_C: u64 = 16;

/// What a value comes down to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// It has no bytes.
    Nothing,
    One(Number),
    /// Two, of which the second begins so many bytes behind the first.
    Two(Number, u64, Number),
    /// More, or other ones.
    Memory,
    /// Not known.
    Unknown,
}

/// A number or a pointer, aligned to its bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Number {
    bytes: u64,
    kind: Kind,
    /// Whether it is all that there is in a structure of the program's.
    is_wrapped: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// With a sign, where that is known.
    Integer(Option<bool>),
    Float,
    Pointer,
}

/// How a structure is passed.
struct Passed {
    passing: Passing,
    /// Whether C passes it in the same registers.
    is_as_c: bool,
    /// Whether one of two numbers is in a structure of the program's. Where that is laid out as C's, it is not taken for a number.
    may_be_other: bool,
}

impl TypeReader<'_, '_> {
    /// The type of a parameter of Rust's, with how it is passed. [`ValueType::Other`] where that is not certain.
    pub(crate) fn rust_parameter(&self, at: EntryAt, at_entry: &EntryPlace) -> ValueType {
        let (bytes, content) = match aggregate(self, at) {
            Ok(aggregate) => aggregate,
            Err(other) => return other,
        };
        let passing = passed(self, at, bytes).and_then(|Passed { passing, is_as_c, may_be_other }| {
            let is_large = bytes > LARGEST_INTEGER;
            let is_certain = match (&passing, at_entry) {
                (Passing::Apart(_), EntryPlace::Behind(_)) if may_be_other && is_large => {
                    return Some(Passing::Pointer);
                }
                (Passing::Apart(_), EntryPlace::Frame) if may_be_other && is_large => is_as_c,
                (Passing::Apart(parts), place) if may_be_other => is_at(parts, place),
                (Passing::Pointer, EntryPlace::Behind(_)) => true,
                (Passing::Pointer, EntryPlace::Frame) => false,
                (Passing::Apart(parts), place) if is_at(parts, place) => true,
                _ => is_as_c || self.is_rusts_own(at),
            };
            is_certain.then_some(passing)
        });
        passing.map_or(ValueType::Other, |passing| ValueType::Aggregate { bytes, passing, content })
    }

    /// A result's type, likewise.
    pub(crate) fn rust_result(&self, at: EntryAt) -> ValueType {
        let (bytes, content) = match aggregate(self, at) {
            Ok(aggregate) => aggregate,
            Err(other) => return other,
        };
        match passed(self, at, bytes) {
            Some(Passed { passing: Passing::Pointer, .. }) if bytes > LARGEST_OF_C => {
                ValueType::Aggregate { bytes, passing: Passing::Memory, content }
            }
            // Compilers have differed here.
            Some(Passed { passing: Passing::Pointer, .. } | Passed { may_be_other: true, .. }) | None => {
                ValueType::Other
            }
            Some(Passed { passing, is_as_c, .. }) => {
                let is_certain = is_as_c || self.is_rusts_own(at);
                // It is in registers in any case, so that the arguments are where they would be.
                let content = if is_certain { content } else { ContentType::UNKNOWN };
                ValueType::Aggregate { bytes, passing, content }
            }
        }
    }

    /// Whether the compiler warns where a function for C has one of these.
    fn is_rusts_own(&self, at: EntryAt) -> bool {
        let is_nameless = || self.info.name(at).is_some_and(|name| name.starts_with(['(', '&', '*']));
        is_array(self, at) || self.is_rust_librarys(at) || is_nameless()
    }
}

/// The bytes and the content of a structure, or of an array, which Rust passes as one; or what else the type is.
fn aggregate(types: &TypeReader<'_, '_>, at: EntryAt) -> Result<(u64, ContentType), ValueType> {
    match types.read(at) {
        ValueType::Aggregate { bytes, content, .. } => Ok((bytes, content)),
        other if is_array(types, at) => Ok((types.bytes_of(at, MOST_HOPS).ok_or(other)?, ContentType::UNKNOWN)),
        other => Err(other),
    }
}

fn is_array(types: &TypeReader<'_, '_>, at: EntryAt) -> bool {
    let tag = || Some(types.info.unit(at.0)?.entry(at.1).ok()?.tag());
    tag() == Some(gimli::DW_TAG_array_type)
}

/// Whether debug information has the parts in registers of their kinds.
fn is_at(parts: &[RegisterPart], place: &EntryPlace) -> bool {
    let is_of = |part: &RegisterPart, register: u16| (part.kind == PassedIn::Vector) == (register >= FIRST_VECTOR);
    match (parts, place) {
        ([part], EntryPlace::Register(register)) => is_of(part, *register),
        (parts, EntryPlace::Parts(known)) => {
            let mut start = 0_u64;
            let starts = known.iter().map(|part| {
                let at = start;
                start = start.saturating_add(part.bytes);
                (at, part.place)
            });
            let registers: Vec<(u64, u16)> = starts
                .filter_map(|(at, place)| match place {
                    PartPlace::Register(register) => Some((at, register)),
                    PartPlace::Nowhere | PartPlace::Elsewhere => None,
                })
                .collect();
            let is_same = |(part, known): (&RegisterPart, &(u64, u16))| part.offset == known.0 && is_of(part, known.1);
            registers.len() == parts.len() && parts.iter().zip(&registers).all(is_same)
        }
        _ => false,
    }
}

/// How a structure is passed; none where that is not known.
fn passed(types: &TypeReader<'_, '_>, at: EntryAt, bytes: u64) -> Option<Passed> {
    let part = |offset, number: Number| {
        let kind = if number.kind == Kind::Float { PassedIn::Vector } else { PassedIn::Integer };
        RegisterPart { offset, kind }
    };
    let (passing, is_as_c, may_be_other) = match layout(types, at, DEEPEST) {
        Layout::Nothing => (Passing::Apart(Vec::new()), true, false),
        // A structure that is laid out as C's is passed as an integer.
        Layout::One(number) => (Passing::Apart(vec![part(0, number)]), number.kind != Kind::Float, false),
        Layout::Two(first, offset, second) => {
            let parts = vec![part(0, first), part(offset, second)];
            (Passing::Apart(parts), offset == LARGEST_INTEGER, first.is_wrapped || second.is_wrapped)
        }
        Layout::Memory if bytes <= LARGEST_INTEGER => {
            let parts = vec![RegisterPart { offset: 0, kind: PassedIn::Integer }];
            let is_as_c = types.system_v_registers(at, bytes).as_ref() == Some(&parts);
            (Passing::Apart(parts), is_as_c, false)
        }
        Layout::Memory => (Passing::Pointer, false, false),
        Layout::Unknown if bytes > LARGEST_OF_C && !has_wide_parts(types, at, DEEPEST) => {
            (Passing::Pointer, false, false)
        }
        Layout::Unknown => return None,
    };
    Some(Passed { passing, is_as_c, may_be_other })
}

fn layout(types: &TypeReader<'_, '_>, at: EntryAt, deepest: usize) -> Layout {
    layout_of_type(types, at, deepest).unwrap_or(Layout::Unknown)
}

fn layout_of_type(types: &TypeReader<'_, '_>, at: EntryAt, deepest: usize) -> Option<Layout> {
    let deepest = deepest.checked_sub(1)?;
    types.info.spend()?;
    let unit = types.info.unit(at.0)?;
    let entry = unit.entry(at.1).ok()?;
    let bytes = types.bytes_of(at, MOST_HOPS)?;
    let number = |bytes, kind| Layout::One(Number { bytes, kind, is_wrapped: false });
    Some(match entry.tag() {
        gimli::DW_TAG_base_type if bytes == 0 => Layout::Nothing,
        gimli::DW_TAG_pointer_type => number(8, Kind::Pointer),
        gimli::DW_TAG_enumeration_type => number(bytes, Kind::Integer(None)),
        gimli::DW_TAG_base_type => match types.read_within(at, MOST_HOPS, Reach::NONE)? {
            ValueType::Bool => number(1, Kind::Integer(Some(false))),
            ValueType::Integer { is_signed, bytes: 1 | 2 | 4 | 8 } => number(bytes, Kind::Integer(Some(is_signed))),
            ValueType::Float(4 | 8) => number(bytes, Kind::Float),
            _ => Layout::Unknown,
        },
        gimli::DW_TAG_structure_type if types.has_variants(at) => layout_of_variants(types, at, bytes, deepest)?,
        gimli::DW_TAG_structure_type => {
            let alignment = entry.attr_value(DW_AT_alignment).and_then(|it| it.udata_value());
            layout_of_structure(types, at, (bytes, alignment), deepest)?
        }
        gimli::DW_TAG_array_type if is_simd(types, at) => Layout::Unknown,
        gimli::DW_TAG_array_type if bytes == 0 => Layout::Nothing,
        gimli::DW_TAG_array_type => Layout::Memory,
        _ => Layout::Unknown,
    })
}

/// Fields with bytes: where they are, and what they come down to.
fn fields_with_bytes(types: &TypeReader<'_, '_>, at: EntryAt, deepest: usize) -> Option<Vec<(u64, Layout)>> {
    let mut fields = Vec::new();
    for member in types.members(at)? {
        if types.bytes_of(member.ty, MOST_HOPS)? == 0 {
            continue;
        }
        let is_programs = || {
            let is_structure = types.structure(member.ty).is_some() && !types.has_variants(member.ty);
            is_structure && !types.is_rust_librarys(member.ty)
        };
        let layout = match layout(types, member.ty, deepest) {
            Layout::One(number) => Layout::One(Number { is_wrapped: number.is_wrapped || is_programs(), ..number }),
            other => other,
        };
        fields.push((member.offset?, layout));
    }
    fields.sort_by_key(|(offset, _)| *offset);
    Some(fields)
}

fn layout_of_structure(
    types: &TypeReader<'_, '_>,
    at: EntryAt,
    (bytes, alignment): (u64, Option<u64>),
    deepest: usize,
) -> Option<Layout> {
    let is_aligned_to = |wanted: u64| alignment.is_none_or(|alignment| alignment == wanted);
    Some(match fields_with_bytes(types, at, deepest)?[..] {
        [] if bytes == 0 => Layout::Nothing,
        [] => Layout::Memory,
        [(0, Layout::One(number))] if number.bytes == bytes && is_aligned_to(number.bytes) => Layout::One(number),
        [(0, two @ Layout::Two(first, offset, second))] => match Some(two) == pair(first, offset, second, bytes) {
            true if is_aligned_to(first.bytes.max(second.bytes)) => two,
            _ => Layout::Memory,
        },
        [(_, Layout::Unknown)] | [(_, Layout::Unknown), _] | [_, (_, Layout::Unknown)] => Layout::Unknown,
        [(0, Layout::One(first)), (offset, Layout::One(second))] if is_aligned_to(first.bytes.max(second.bytes)) => {
            pair(first, offset, second, bytes).unwrap_or(Layout::Memory)
        }
        _ => Layout::Memory,
    })
}

/// Two numbers that lie as Rust lays two numbers out, in all of so many bytes.
fn pair(first: Number, offset: u64, second: Number, bytes: u64) -> Option<Layout> {
    let alignment = first.bytes.max(second.bytes);
    let is_tight = offset == first.bytes.next_multiple_of(second.bytes)
        && bytes == offset.checked_add(second.bytes)?.checked_next_multiple_of(alignment)?;
    is_tight.then_some(Layout::Two(first, offset, second))
}

fn layout_of_variants(types: &TypeReader<'_, '_>, at: EntryAt, bytes: u64, deepest: usize) -> Option<Layout> {
    let declared = types.declared_variants(at)?;
    let fields = |variant: &DeclaredVariant| fields_with_bytes(types, variant.structure, deepest);
    let Some((tag_offset, tag_bytes)) = declared.tag else {
        let [only] = &declared.variants[..] else { return None };
        return layout_of_structure(types, only.structure, (bytes, None), deepest);
    };
    let all: Vec<_> = declared.variants.iter().map(fields).collect::<Option<_>>()?;
    // One variant has all the tag's other values: the tag lies in a field of it.
    if let Some(number) = declared.variants.iter().position(|variant| variant.tag.is_none()) {
        let are_others_empty = all.iter().enumerate().all(|(other, fields)| other == number || fields.is_empty());
        return match are_others_empty {
            true => layout_of_structure(types, declared.variants[number].structure, (bytes, None), deepest),
            false => Some(Layout::Memory),
        };
    }
    let tag = Number { bytes: tag_bytes, kind: Kind::Integer(None), is_wrapped: false };
    matches!((tag_offset, tag_bytes), (0, 1 | 2 | 4 | 8)).then_some(())?;
    let mut common: Option<(u64, Number)> = None;
    for fields in &all {
        match (fields[..].first(), fields.len(), common) {
            (None, ..) => {}
            (Some(&(offset, Layout::One(number))), 1, None) => common = Some((offset, number)),
            (Some(&(offset, Layout::One(number))), 1, Some(known)) if known == (offset, number) => {}
            (Some(&(offset, Layout::One(number))), 1, Some((known, other))) => {
                // Numbers that differ in their sign alone, or where one is a pointer, have not always been taken for the same.
                let is_certain = offset != known
                    || number.bytes != other.bytes
                    || (number.kind == Kind::Float) != (other.kind == Kind::Float);
                return Some(if is_certain { Layout::Memory } else { Layout::Unknown });
            }
            (Some(&(_, Layout::Unknown)), 1, _) => return Some(Layout::Unknown),
            _ => return Some(Layout::Memory),
        }
    }
    Some(match common {
        None if tag_bytes == bytes => Layout::One(tag),
        None => Layout::Unknown,
        Some((offset, number)) => pair(tag, offset, number, bytes).unwrap_or(Layout::Memory),
    })
}

/// Whether there may be something in it of 16 bytes, or more, that is passed as one: two of them are larger than what is otherwise
/// passed in registers. What is not known may be.
fn has_wide_parts(types: &TypeReader<'_, '_>, at: EntryAt, deepest: usize) -> bool {
    let of = || {
        let deepest = deepest.checked_sub(1)?;
        types.info.spend()?;
        let unit = types.info.unit(at.0)?;
        let entry = unit.entry(at.1).ok()?;
        Some(match entry.tag() {
            gimli::DW_TAG_base_type => {
                entry.attr_value(DW_AT_byte_size).and_then(|it| it.udata_value())? > LARGEST_INTEGER
            }
            gimli::DW_TAG_array_type => is_simd(types, at) || has_wide_parts(types, types.info.type_of(at)?, deepest),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_union_type => {
                let mut inside: Vec<EntryAt> = types.members(at)?.iter().map(|member| member.ty).collect();
                if types.has_variants(at) {
                    inside.extend(types.declared_variants(at)?.variants.iter().map(|variant| variant.structure));
                }
                inside.into_iter().any(|ty| has_wide_parts(types, ty, deepest))
            }
            _ => false,
        })
    };
    of().unwrap_or(true)
}

fn is_simd(types: &TypeReader<'_, '_>, at: EntryAt) -> bool {
    let has_mark = |unit: &gimli::Unit<crate::debug_info::Bytes<'_>>| {
        unit.entry(at.1).is_ok_and(|entry| entry.attr_value(gimli::DW_AT_GNU_vector).is_some())
    };
    types.info.unit(at.0).is_some_and(|unit| has_mark(&unit))
}
