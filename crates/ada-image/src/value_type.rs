//! Types of values, as far as passing and showing them needs.

use std::cell::RefCell;
use std::collections::HashMap;

use gimli::{
    AttributeValue, DW_AT_bit_size, DW_AT_byte_size, DW_AT_const_value, DW_AT_count, DW_AT_data_member_location,
};
use gimli::{
    DW_AT_calling_convention, DW_AT_data_bit_offset, DW_AT_declaration, DW_AT_encoding, DW_AT_external,
    DW_AT_upper_bound,
};

use crate::debug_info::{DebugInfo, EntryAt};

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// No value.
    Void,
    /// An integer.
    Integer {
        /// Whether it has a sign.
        is_signed: bool,
        /// Its bytes.
        bytes: u8,
    },
    /// True or false.
    Bool,
    /// A character of C.
    Char,
    /// A number with a fraction, of so many bytes.
    Float(u8),
    /// An enumeration.
    Enum {
        /// Whether its numbers have a sign.
        is_signed: bool,
        /// Its bytes.
        bytes: u8,
        /// Its values and their names.
        names: Vec<(i64, String)>,
    },
    /// A pointer or reference.
    Pointer(Box<ValueType>),
    /// A function.
    Function,
    /// A structure, class or union.
    Aggregate {
        /// Its name.
        name: String,
        /// Its bytes.
        bytes: u64,
        /// How its words are passed; none where it is passed in memory.
        words: Option<Vec<PassedIn>>,
        /// Whether it is passed as a pointer to a copy.
        is_by_reference: bool,
        /// What is in it, as far as that was asked for. Nothing of a union, and of what has variants.
        fields: Vec<FieldType>,
    },
    /// So many characters in a row.
    Characters(u64),
    /// Something else.
    Other,
}

/// A field of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldType {
    /// Its name.
    pub name: String,
    /// How many bytes into the structure it begins.
    pub offset: u64,
    /// Its type.
    pub ty: ValueType,
}

/// In which kind of register a word of a structure is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassedIn {
    /// An integer register.
    Integer,
    /// A vector register.
    Vector,
}

/// How many types lead from one to what it is at last.
const MOST_HOPS: usize = 16;
/// How deep structures are nested in each other.
const DEEPEST: usize = 8;
/// The most names of an enumeration that are read.
const MOST_NAMES: usize = 64;
/// The most fields of a structure that are read.
const MOST_FIELDS: usize = 12;
/// The most members of a structure, and elements of an array, that are looked at.
const MOST_MEMBERS: usize = 64;
/// The largest structure that is passed in registers.
const LARGEST_IN_REGISTERS: u64 = 16;
/// Of a type's calling convention: passed as a pointer to a copy.
const PASS_BY_REFERENCE: u64 = 4;

/// Reads types.
pub(crate) struct TypeReader<'i, 'd> {
    pub(crate) info: &'i DebugInfo<'d>,
    /// How many pointers one behind the other lead to structures whose fields are read.
    depth: usize,
    /// Fields that were read before, by their structure and the depth.
    fields: RefCell<HashMap<(EntryAt, usize), Vec<FieldType>>>,
}

impl<'i, 'd> TypeReader<'i, 'd> {
    pub(crate) fn new(info: &'i DebugInfo<'d>, depth: usize) -> Self {
        Self { info, depth, fields: RefCell::default() }
    }

    /// A type, with the fields of structures.
    pub(crate) fn read(&self, at: EntryAt) -> ValueType {
        self.read_within(at, MOST_HOPS, self.depth, DEEPEST).unwrap_or(ValueType::Other)
    }

    /// `depth`: as far as fields are wanted. `deepest`: how many structures may lie within one another.
    fn read_within(&self, at: EntryAt, hops: usize, depth: usize, deepest: usize) -> Option<ValueType> {
        let hops = hops.checked_sub(1)?;
        let unit = self.info.unit(at.0)?;
        let entry = unit.entry(at.1).ok()?;
        let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
        let next = || self.info.type_of(at);
        Some(match entry.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => match next() {
                Some(next) => self.read_within(next, hops, depth, deepest)?,
                None => ValueType::Void,
            },
            gimli::DW_TAG_base_type => {
                let bytes = u8::try_from(number(DW_AT_byte_size)?).ok()?;
                let encoding = match entry.attr_value(DW_AT_encoding)? {
                    AttributeValue::Encoding(encoding) => encoding,
                    _ => return None,
                };
                let is_char = || self.info.name(at).as_deref() == Some("char");
                match encoding {
                    gimli::DW_ATE_boolean => ValueType::Bool,
                    // There are others of 16 bytes, which are passed otherwise.
                    gimli::DW_ATE_float if bytes == 16 && self.info.name(at).as_deref() != Some("long double") => {
                        ValueType::Other
                    }
                    gimli::DW_ATE_float => ValueType::Float(bytes),
                    gimli::DW_ATE_signed_char | gimli::DW_ATE_unsigned_char if bytes == 1 && is_char() => {
                        ValueType::Char
                    }
                    gimli::DW_ATE_signed | gimli::DW_ATE_signed_char => ValueType::Integer { is_signed: true, bytes },
                    gimli::DW_ATE_unsigned | gimli::DW_ATE_unsigned_char | gimli::DW_ATE_UTF => {
                        ValueType::Integer { is_signed: false, bytes }
                    }
                    _ => ValueType::Other,
                }
            }
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => {
                let to = match next() {
                    Some(next) => self.read_within(next, hops.min(4), depth, deepest).unwrap_or(ValueType::Other),
                    None => ValueType::Void,
                };
                ValueType::Pointer(Box::new(to))
            }
            gimli::DW_TAG_subroutine_type => ValueType::Function,
            gimli::DW_TAG_enumeration_type => self.enumeration(at)?,
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                let bytes = number(DW_AT_byte_size).unwrap_or(0);
                let convention = entry.attr_value(DW_AT_calling_convention).and_then(|value| match value {
                    AttributeValue::CallingConvention(convention) => Some(u64::from(convention.0)),
                    other => other.udata_value(),
                });
                let is_declaration = entry.attr_value(DW_AT_declaration).is_some();
                let mut classes = [None; 2];
                let fits = bytes <= LARGEST_IN_REGISTERS && bytes > 0 && !is_declaration;
                let is_in_registers = fits && self.classify(at, 0, &mut classes, DEEPEST).is_some();
                let words = classes.iter().take(bytes.div_ceil(8) as usize).map(|it| it.unwrap_or(PassedIn::Vector));
                ValueType::Aggregate {
                    name: self.info.name(at).unwrap_or_default(),
                    bytes,
                    words: is_in_registers.then(|| words.collect()),
                    is_by_reference: convention == Some(PASS_BY_REFERENCE)
                        || convention.is_none() && self.is_copied_by_code(at, DEEPEST),
                    fields: match entry.tag() {
                        gimli::DW_TAG_union_type => Vec::new(),
                        _ if depth == 0 || is_declaration => Vec::new(),
                        _ => self.fields(at, depth, deepest).unwrap_or_default(),
                    },
                }
            }
            gimli::DW_TAG_array_type => match self.read_within(next()?, hops, 0, deepest)? {
                ValueType::Char => ValueType::Characters(self.array_length(at)?),
                _ => ValueType::Other,
            },
            _ => ValueType::Other,
        })
    }

    /// The fields of a structure, those of what it inherits and of parts without a name among them. None of one that has
    /// variants.
    fn fields(&self, at: EntryAt, depth: usize, deepest: usize) -> Option<Vec<FieldType>> {
        if let Some(known) = self.fields.borrow().get(&(at, depth)) {
            return Some(known.clone());
        }
        let deepest = deepest.checked_sub(1)?;
        let unit = self.info.unit(at.0)?;
        let mut tree = unit.entries_tree(Some(at.1)).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut fields: Vec<FieldType> = Vec::new();
        while let Some(child) = children.next().ok()? {
            self.info.spend()?;
            let entry = child.entry();
            if entry.tag() == gimli::DW_TAG_variant_part {
                return None;
            }
            let here = (at.0, entry.offset());
            let is_static = entry.attr_value(DW_AT_external).is_some() || entry.attr_value(DW_AT_declaration).is_some();
            let is_bits = entry.attr_value(DW_AT_bit_size).is_some();
            let is_field = matches!(entry.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance);
            if !is_field || is_static || is_bits || fields.len() >= MOST_FIELDS {
                continue;
            }
            // A base class that is not always at the same place has an expression there.
            let offset = match entry.attr_value(DW_AT_data_member_location) {
                None => 0,
                Some(offset) => match offset.udata_value() {
                    Some(offset) => offset,
                    None => continue,
                },
            };
            let name = self.info.name(here).unwrap_or_default();
            let Some(ty) = self.info.type_of(here) else { continue };
            let depth = if self.is_pointer(ty) { depth - 1 } else { depth };
            let ty = self.read_within(ty, MOST_HOPS, depth, deepest).unwrap_or(ValueType::Other);
            match ty {
                ValueType::Aggregate { fields: inner, .. } if name.is_empty() => {
                    let within = |it: FieldType| Some(FieldType { offset: it.offset.checked_add(offset)?, ..it });
                    fields.extend(inner.into_iter().filter_map(within));
                }
                _ if name.is_empty() || name.starts_with("_vptr") => {}
                ty => fields.push(FieldType { name, offset, ty }),
            }
        }
        fields.truncate(MOST_FIELDS);
        self.fields.borrow_mut().insert((at, depth), fields.clone());
        Some(fields)
    }

    /// Whether a type is a pointer under whatever name.
    fn is_pointer(&self, at: EntryAt) -> bool {
        let is_pointer = |ty: &ValueType| matches!(ty, ValueType::Pointer(_));
        self.read_within(at, MOST_HOPS, 0, 1).as_ref().is_some_and(is_pointer)
    }

    fn enumeration(&self, at: EntryAt) -> Option<ValueType> {
        let unit = self.info.unit(at.0)?;
        let entry = unit.entry(at.1).ok()?;
        let bytes = u8::try_from(entry.attr_value(DW_AT_byte_size)?.udata_value()?).ok()?;
        let mut names = Vec::new();
        let mut tree = unit.entries_tree(Some(at.1)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            self.info.spend()?;
            let entry = child.entry();
            if entry.tag() == gimli::DW_TAG_enumerator && names.len() < MOST_NAMES {
                let value = entry.attr_value(DW_AT_const_value)?;
                let number = value.sdata_value().or_else(|| value.udata_value().map(|it| it as i64));
                names.extend(number.zip(self.info.name((at.0, entry.offset()))));
            }
        }
        let is_signed = names.iter().any(|(number, _)| *number < 0);
        Some(ValueType::Enum { is_signed, bytes, names })
    }

    /// Says in which kind of registers the words of a type are passed that begins so many bytes into a structure. None where the
    /// structure is passed in memory.
    fn classify(&self, at: EntryAt, offset: u64, classes: &mut [Option<PassedIn>; 2], deepest: usize) -> Option<()> {
        let deepest = deepest.checked_sub(1)?;
        self.info.spend()?;
        let unit = self.info.unit(at.0)?;
        let entry = unit.entry(at.1).ok()?;
        let mut put = |class: PassedIn, bytes: u64| {
            // What is not aligned is passed in memory.
            (bytes > 0 && bytes <= 8 && offset.is_multiple_of(bytes)).then_some(())?;
            let word = classes.get_mut((offset / 8) as usize)?;
            // One integer makes a word one of an integer register.
            *word = if *word == Some(PassedIn::Integer) { *word } else { Some(class) };
            Some(())
        };
        match entry.tag() {
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                self.classify_members(at, offset, classes, deepest)
            }
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_atomic_type => self.classify(self.info.type_of(at)?, offset, classes, deepest),
            // What it points at is of no interest here, and may well be what it is in.
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => {
                put(PassedIn::Integer, 8)
            }
            gimli::DW_TAG_array_type => {
                let element = self.info.type_of(at)?;
                let bytes = self.bytes_of(element, MOST_HOPS)?;
                let count = self.array_length(at)?;
                (count <= LARGEST_IN_REGISTERS && bytes > 0).then_some(())?;
                (0..count).try_for_each(|number| self.classify(element, offset + number * bytes, classes, deepest))
            }
            _ => match self.read_within(at, MOST_HOPS, 0, 1).unwrap_or(ValueType::Other) {
                ValueType::Float(bytes @ (4 | 8)) => put(PassedIn::Vector, bytes.into()),
                ValueType::Integer { bytes, .. } | ValueType::Enum { bytes, .. } => {
                    put(PassedIn::Integer, bytes.into())
                }
                ValueType::Bool | ValueType::Char => put(PassedIn::Integer, 1),
                _ => None,
            },
        }
    }

    fn classify_members(
        &self,
        at: EntryAt,
        offset: u64,
        classes: &mut [Option<PassedIn>; 2],
        deepest: usize,
    ) -> Option<()> {
        let unit = self.info.unit(at.0)?;
        let mut tree = unit.entries_tree(Some(at.1)).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut members = 0;
        while let Some(child) = children.next().ok()? {
            self.info.spend()?;
            let entry = child.entry();
            if entry.tag() == gimli::DW_TAG_variant_part {
                return None;
            }
            let is_static = entry.attr_value(DW_AT_external).is_some() || entry.attr_value(DW_AT_declaration).is_some();
            if !matches!(entry.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance) || is_static {
                continue;
            }
            members += 1;
            (members <= MOST_MEMBERS).then_some(())?;
            let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
            if entry.attr_value(DW_AT_bit_size).is_some() {
                let bit = number(DW_AT_data_bit_offset)?;
                let word = classes.get_mut(usize::try_from((offset + bit / 8) / 8).ok()?)?;
                *word = Some(PassedIn::Integer);
                continue;
            }
            let within = number(DW_AT_data_member_location).unwrap_or(0);
            let ty = self.info.type_of((at.0, entry.offset()))?;
            self.classify(ty, offset.checked_add(within)?, classes, deepest)?;
        }
        Some(())
    }

    /// Whether a class of C++ has a constructor that copies or moves it, or a destructor, of its own, or has something that has one:
    /// such a class is passed as a pointer to a copy. What cannot be read has none.
    fn is_copied_by_code(&self, at: EntryAt, deepest: usize) -> bool {
        self.has_copying_code(at, deepest).unwrap_or(false)
    }

    fn has_copying_code(&self, at: EntryAt, deepest: usize) -> Option<bool> {
        let deepest = deepest.checked_sub(1)?;
        let class = self.info.name(at).unwrap_or_default();
        let class = class.split('<').next().unwrap_or_default();
        let unit = self.info.unit(at.0)?;
        let mut tree = unit.entries_tree(Some(at.1)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            self.info.spend()?;
            let entry = child.entry();
            let here = (at.0, entry.offset());
            let has_it = match entry.tag() {
                gimli::DW_TAG_subprogram => {
                    // What is defaulted where it is declared, or deleted, is no code.
                    let is_code = entry.attr_value(gimli::DW_AT_deleted).is_none()
                        && entry.attr_value(gimli::DW_AT_defaulted).is_none();
                    let is_virtual = entry.attr_value(gimli::DW_AT_virtuality).is_some();
                    let name = self.info.name(here).unwrap_or_default();
                    is_virtual || is_code && (name.starts_with('~') || name == class && self.takes(here, at))
                }
                gimli::DW_TAG_member if entry.attr_value(DW_AT_external).is_none() => {
                    self.info.type_of(here).is_some_and(|ty| self.is_copied_by_code_within(ty, deepest))
                }
                gimli::DW_TAG_inheritance => {
                    let is_virtual = entry.attr_value(gimli::DW_AT_virtuality).is_some();
                    is_virtual || self.info.type_of(here).is_some_and(|ty| self.is_copied_by_code_within(ty, deepest))
                }
                _ => false,
            };
            if has_it {
                return Some(true);
            }
        }
        Some(false)
    }

    /// The same for a type that may be a class, or an array of one, under another name.
    fn is_copied_by_code_within(&self, mut at: EntryAt, deepest: usize) -> bool {
        for _ in 0..MOST_HOPS {
            let Some(unit) = self.info.unit(at.0) else { return false };
            let Ok(entry) = unit.entry(at.1) else { return false };
            match entry.tag() {
                gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                    return self.is_copied_by_code(at, deepest);
                }
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_array_type => {
                    let Some(next) = self.info.type_of(at) else { return false };
                    at = next;
                }
                _ => return false,
            }
        }
        false
    }

    /// Whether the second parameter of a method, behind the object, is a reference to its own class.
    fn takes(&self, method: EntryAt, class: EntryAt) -> bool {
        let Some(unit) = self.info.unit(method.0) else { return false };
        let Ok(mut tree) = unit.entries_tree(Some(method.1)) else { return false };
        let Ok(root) = tree.root() else { return false };
        let mut children = root.children();
        let mut number = 0;
        while let Ok(Some(child)) = children.next() {
            if self.info.spend().is_none() {
                return false;
            }
            if child.entry().tag() != gimli::DW_TAG_formal_parameter {
                continue;
            }
            number += 1;
            if number == 2 {
                return self.is_reference_to((method.0, child.entry().offset()), class);
            }
        }
        false
    }

    fn is_reference_to(&self, parameter: EntryAt, class: EntryAt) -> bool {
        let mut at = self.info.type_of(parameter);
        let mut is_reference = false;
        for _ in 0..MOST_HOPS {
            let Some(here) = at else { return false };
            if here == class {
                return is_reference;
            }
            let Some(unit) = self.info.unit(here.0) else { return false };
            let Ok(entry) = unit.entry(here.1) else { return false };
            is_reference |= matches!(entry.tag(), gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type);
            at = self.info.type_of(here);
        }
        false
    }

    fn bytes_of(&self, at: EntryAt, hops: usize) -> Option<u64> {
        let hops = hops.checked_sub(1)?;
        let unit = self.info.unit(at.0)?;
        let entry = unit.entry(at.1).ok()?;
        match entry.attr_value(DW_AT_byte_size).and_then(|value| value.udata_value()) {
            Some(bytes) => Some(bytes),
            None if entry.tag() == gimli::DW_TAG_pointer_type => Some(8),
            None => self.bytes_of(self.info.type_of(at)?, hops),
        }
    }

    fn array_length(&self, at: EntryAt) -> Option<u64> {
        let unit = self.info.unit(at.0)?;
        let mut tree = unit.entries_tree(Some(at.1)).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut length: u64 = 1;
        while let Some(child) = children.next().ok()? {
            self.info.spend()?;
            let entry = child.entry();
            if entry.tag() == gimli::DW_TAG_subrange_type {
                let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
                let count = number(DW_AT_count).or_else(|| number(DW_AT_upper_bound)?.checked_add(1))?;
                length = length.checked_mul(count)?;
            }
        }
        Some(length)
    }
}
