//! Strings, vectors, optional values and owning pointers of C++'s library: libstdc++'s and, where its members are as simple, libc++'s.

use crate::debug_info::EntryAt;
use crate::members::Member;
use crate::type_reader::{MOST_HOPS, Reach, TypeReader};
use crate::value_type::{ContentType, ElementType, FieldType, Passing, SequenceEnd, SequenceType};
use crate::value_type::{ValueType, VariantType, VariantsType};

/// A text of libstdc++, in a namespace of its own: a pointer, a length, and room for a short one.
const STRING: &str = "basic_string<char,";
const STRING_NAMESPACES: [&str; 2] = ["std", "__cxx11"];
const STRING_BYTES: u64 = 32;
const STRING_LENGTH: u64 = 8;

impl TypeReader<'_, '_> {
    /// What people see in a container of C++'s library. `name`: without its arguments.
    pub(crate) fn cpp_container(&self, at: EntryAt, name: &str, reach: Reach) -> Option<ContentType> {
        let is_known = ["basic_string_view", "vector", "span", "optional", "unique_ptr", "shared_ptr"].contains(&name)
            || name == "basic_string";
        (is_known && self.namespaces(at).first().is_some_and(|first| first == "std")).then_some(())?;
        let is_of_char = || self.first_argument(at).is_some_and(|ty| self.is_char(ty));
        match name {
            "basic_string" if is_of_char() => {
                let (length, _) = self.named_member(at, "_M_string_length")?;
                let (start, _) = self.named_member(at, "_M_dataplus")?;
                // The pointer is in a class that clang may leave the description of to the library.
                (length == start.checked_add(8)?).then_some(text(start, length))
            }
            "basic_string_view" if is_of_char() => {
                let (start, _) = self.either(at, ["_M_str", "__data_"])?;
                let (length, _) = self.either(at, ["_M_len", "__size_"])?;
                Some(text(start, length))
            }
            "vector" => {
                let (start, pointer) = self.either(at, ["_M_start", "__begin_"])?;
                let (end, _) = self.either(at, ["_M_finish", "__end_"])?;
                // That of bool has bits in its words, and no pointer to elements.
                let elements = self.elements(self.pointee(pointer)?, reach)?;
                Some(ContentType::Sequence(SequenceType { start, end: SequenceEnd::Pointer(end), elements }))
            }
            "span" => {
                let (start, pointer) = self.either(at, ["_M_ptr", "__data_"])?;
                let (length, _) = self.either(at, ["_M_extent_value", "__size_"])?;
                let elements = self.elements(self.pointee(pointer)?, reach)?;
                Some(ContentType::Sequence(SequenceType { start, end: SequenceEnd::Count(length), elements }))
            }
            "optional" => self.optional(at, reach),
            "unique_ptr" => self.owning_pointer(at, ["_M_head_impl", "__ptr_"], reach),
            "shared_ptr" => self.owning_pointer(at, ["_M_ptr", "__ptr_"], reach),
            _ => None,
        }
    }

    /// A string of libstdc++ that the library alone describes. Its layout is a part of the library's binary interface.
    pub(crate) fn declared_string(&self, at: EntryAt) -> Option<ValueType> {
        let unit = self.info.unit(at.0)?;
        unit.entry(at.1).ok()?.attr_value(gimli::DW_AT_declaration)?;
        self.info.name(at).filter(|name| name.starts_with(STRING))?;
        (self.namespaces(at) == STRING_NAMESPACES).then(|| ValueType::Aggregate {
            bytes: STRING_BYTES,
            passing: Passing::Pointer,
            content: text(0, STRING_LENGTH),
        })
    }

    fn either(&self, at: EntryAt, names: [&str; 2]) -> Option<(u64, EntryAt)> {
        names.iter().find_map(|name| self.named_member(at, name))
    }

    fn is_char(&self, at: EntryAt) -> bool {
        self.read_within(at, MOST_HOPS, Reach::NONE) == Some(ValueType::Char)
    }

    fn optional(&self, at: EntryAt, reach: Reach) -> Option<ContentType> {
        let (tag, _) = self.either(at, ["_M_engaged", "__engaged_"])?;
        let (offset, ty) = self.either(at, ["_M_value", "__val_"])?;
        let ty = self.read_within(ty, MOST_HOPS, reach.within()?).unwrap_or(ValueType::Other);
        let variant = |name: &str, tag, fields| VariantType { name: name.to_owned(), tag: Some(tag), fields };
        let value = FieldType { name: "value".to_owned(), offset, ty };
        Some(ContentType::Variants(VariantsType {
            name: String::new(),
            tag: Some((tag, 1)),
            variants: vec![variant("nullopt", 0, Vec::new()), variant("", 1, vec![value])],
        }))
    }

    /// The pointer is all that people see in it.
    fn owning_pointer(&self, at: EntryAt, names: [&str; 2], reach: Reach) -> Option<ContentType> {
        let to = self.behind_names(self.first_argument(at)?)?;
        let is_it = |member: &Member| {
            let is_named = member.name.as_deref().is_some_and(|name| names.contains(&name));
            is_named && self.pointee(member.ty).and_then(|pointee| self.behind_names(pointee)) == Some(to)
        };
        let (offset, pointer) = self.inner_member(at, &is_it)?;
        Some(ContentType::Wrapped(offset, Box::new(self.read_within(pointer, MOST_HOPS, reach)?)))
    }
}

fn text(start: u64, length: u64) -> ContentType {
    ContentType::Sequence(SequenceType { start, end: SequenceEnd::Count(length), elements: ElementType::Text })
}
