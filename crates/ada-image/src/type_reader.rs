//! Reads types from debug information.

use std::cell::RefCell;
use std::collections::HashMap;

use gimli::{AttributeValue, DW_AT_byte_size, DW_AT_calling_convention, DW_AT_const_value, DW_AT_count};
use gimli::{DW_AT_declaration, DW_AT_encoding, DW_AT_upper_bound};

use crate::debug_info::{DebugInfo, EntryAt};
use crate::namespaces::Namespaces;
use crate::value_type::{ContentType, FieldType, Passing, ValueType};

/// How many types lead from one to what it is at last.
pub(crate) const MOST_HOPS: usize = 16;
/// How deep structures are nested in each other.
pub(crate) const DEEPEST: usize = 8;
/// The most names of an enumeration that are read.
const MOST_NAMES: usize = 64;
/// The most fields of a structure that are read.
const MOST_FIELDS: usize = 12;
/// Of a type's calling convention: passed as a pointer to a copy.
const PASS_BY_REFERENCE: u64 = 4;

/// Reads types.
pub(crate) struct TypeReader<'i, 'd> {
    pub(crate) info: &'i DebugInfo<'d>,
    /// How many pointers one behind the other lead to structures whose fields are read.
    depth: usize,
    /// Fields that were read before, by their structure and the depth.
    fields: RefCell<HashMap<(EntryAt, usize), Vec<FieldType>>>,
    namespaces: Namespaces,
}

/// How far a type is read.
#[derive(Clone, Copy)]
pub(crate) struct Reach {
    /// How many more pointers lead to fields that are wanted, and one.
    pub(crate) depth: usize,
    /// How many structures may lie within one another.
    pub(crate) deepest: usize,
}

impl Reach {
    /// Nothing but what a type is itself.
    pub(crate) const NONE: Self = Self { depth: 0, deepest: 1 };

    /// That of what lies within a structure.
    pub(crate) fn within(self) -> Option<Self> {
        Some(Self { deepest: self.deepest.checked_sub(1)?, ..self })
    }

    /// That of what a pointer points at. The pointers that lead to a parameter are not counted.
    pub(crate) fn behind(self) -> Self {
        if self.deepest == DEEPEST { self } else { Self { depth: self.depth.saturating_sub(1), ..self } }
    }
}

impl<'i, 'd> TypeReader<'i, 'd> {
    pub(crate) fn new(info: &'i DebugInfo<'d>, depth: usize) -> Self {
        Self { info, depth, fields: RefCell::default(), namespaces: Namespaces::default() }
    }

    /// A type, with the fields of structures.
    pub(crate) fn read(&self, at: EntryAt) -> ValueType {
        let reach = Reach { depth: self.depth, deepest: DEEPEST };
        self.read_within(at, MOST_HOPS, reach).unwrap_or(ValueType::Other)
    }

    /// The namespaces that a type is in, from the outside in.
    pub(crate) fn namespaces(&self, at: EntryAt) -> Vec<String> {
        self.namespaces.of(self.info, at)
    }

    pub(crate) fn read_within(&self, at: EntryAt, hops: usize, reach: Reach) -> Option<ValueType> {
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
                Some(next) => self.read_within(next, hops, reach)?,
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
                    // Rust's `()`.
                    _ if bytes == 0 => ValueType::Aggregate {
                        bytes: 0,
                        passing: Passing::Apart(Vec::new()),
                        content: ContentType::UNKNOWN,
                    },
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
                    Some(next) => self.read_within(next, hops.min(4), reach.behind()).unwrap_or(ValueType::Other),
                    None => ValueType::Void,
                };
                ValueType::Pointer(Box::new(to))
            }
            gimli::DW_TAG_subroutine_type => ValueType::Function,
            gimli::DW_TAG_enumeration_type => self.enumeration(at)?,
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                if let Some(declared) = self.declared_string(at) {
                    return Some(declared);
                }
                let bytes = number(DW_AT_byte_size).unwrap_or(0);
                let convention = entry.attr_value(DW_AT_calling_convention).and_then(|value| match value {
                    AttributeValue::CallingConvention(convention) => Some(u64::from(convention.0)),
                    other => other.udata_value(),
                });
                let is_declaration = entry.attr_value(DW_AT_declaration).is_some();
                let is_by_reference = convention == Some(PASS_BY_REFERENCE)
                    || convention.is_none() && self.is_copied_by_code(at, DEEPEST);
                let registers = || if is_declaration { None } else { self.system_v_registers(at, bytes) };
                let is_opaque = is_declaration || entry.tag() == gimli::DW_TAG_union_type;
                ValueType::Aggregate {
                    bytes,
                    passing: match is_by_reference {
                        true => Passing::Pointer,
                        false => registers().map_or(Passing::Memory, Passing::Registers),
                    },
                    content: if is_opaque { ContentType::UNKNOWN } else { self.content(at, reach) },
                }
            }
            gimli::DW_TAG_array_type => match self.read_within(next()?, hops, Reach { depth: 0, ..reach })? {
                ValueType::Char => ValueType::Characters(self.array_length(at)?),
                _ => ValueType::Other,
            },
            _ => ValueType::Other,
        })
    }

    fn content(&self, at: EntryAt, reach: Reach) -> ContentType {
        let fields = || {
            if reach.depth == 0 {
                return None;
            }
            if self.has_variants(at) {
                self.variants(at, reach)
            } else {
                self.fields(at, reach).map(ContentType::Fields)
            }
        };
        self.container(at, reach).or_else(fields).unwrap_or(ContentType::UNKNOWN)
    }

    /// The fields of a structure, those of what it inherits and of parts without a name among them.
    pub(crate) fn fields(&self, at: EntryAt, reach: Reach) -> Option<Vec<FieldType>> {
        if let Some(known) = self.fields.borrow().get(&(at, reach.depth)) {
            return Some(known.clone());
        }
        let reach_of_fields = reach.within()?;
        let mut fields: Vec<FieldType> = Vec::new();
        for member in self.members(at)? {
            let (Some(offset), false) = (member.offset, member.is_bits) else { continue };
            if fields.len() >= MOST_FIELDS {
                break;
            }
            let ty = self.read_within(member.ty, MOST_HOPS, reach_of_fields).unwrap_or(ValueType::Other);
            match (member.name, ty) {
                (None, ValueType::Aggregate { content: ContentType::Fields(inner), .. }) => {
                    let within = |it: FieldType| Some(FieldType { offset: it.offset.checked_add(offset)?, ..it });
                    fields.extend(inner.into_iter().filter_map(within));
                }
                (Some(name), ty) if !name.starts_with("_vptr") => fields.push(FieldType { name, offset, ty }),
                _ => {}
            }
        }
        fields.truncate(MOST_FIELDS);
        self.fields.borrow_mut().insert((at, reach.depth), fields.clone());
        Some(fields)
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

    pub(crate) fn bytes_of(&self, at: EntryAt, hops: usize) -> Option<u64> {
        let hops = hops.checked_sub(1)?;
        let unit = self.info.unit(at.0)?;
        let entry = unit.entry(at.1).ok()?;
        let of_elements = || self.bytes_of(self.info.type_of(at)?, hops);
        match entry.attr_value(DW_AT_byte_size).and_then(|value| value.udata_value()) {
            Some(bytes) => Some(bytes),
            None => match entry.tag() {
                gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => {
                    Some(8)
                }
                gimli::DW_TAG_array_type => of_elements()?.checked_mul(self.array_length(at)?),
                _ => of_elements(),
            },
        }
    }

    pub(crate) fn array_length(&self, at: EntryAt) -> Option<u64> {
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
