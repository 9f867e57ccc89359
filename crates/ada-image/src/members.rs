//! Members of structures.

use gimli::{DW_AT_bit_size, DW_AT_data_bit_offset, DW_AT_data_member_location, DW_AT_declaration, DW_AT_external};

use crate::debug_info::EntryAt;
use crate::type_reader::TypeReader;

/// What a structure has, or inherits.
pub(crate) struct Member {
    /// Its name, if it has one that is not empty. A base class has none.
    pub(crate) name: Option<String>,
    /// How many bytes into the structure it begins. None of a base class that is not always at the same place.
    pub(crate) offset: Option<u64>,
    pub(crate) ty: EntryAt,
    /// Whether it has some bits of a byte or more.
    pub(crate) is_bits: bool,
    /// How many bits into the structure it begins, if it is one of bits and says so.
    pub(crate) bit: Option<u64>,
}

/// The most members of a structure that are looked at.
const MOST_MEMBERS: usize = 64;
/// How deep a member lies that is looked for by its name, and how many structures are looked into.
const MOST_LEVELS: usize = 8;
const MOST_LOOKED_INTO: usize = 128;

impl TypeReader<'_, '_> {
    /// The members and base classes of a structure. None where there are very many, or they cannot be read.
    pub(crate) fn members(&self, at: EntryAt) -> Option<Vec<Member>> {
        let unit = self.info.unit(at.0)?;
        let mut tree = unit.entries_tree(Some(at.1)).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut members = Vec::new();
        while let Some(child) = children.next().ok()? {
            self.info.spend()?;
            let entry = child.entry();
            let is_static = entry.attr_value(DW_AT_external).is_some() || entry.attr_value(DW_AT_declaration).is_some();
            if !matches!(entry.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance) || is_static {
                continue;
            }
            let here = (at.0, entry.offset());
            let Some(ty) = self.info.type_of(here) else { continue };
            let is_base = entry.tag() == gimli::DW_TAG_inheritance;
            members.push(Member {
                name: self.info.name(here).filter(|name| !is_base && !name.is_empty()),
                offset: match entry.attr_value(DW_AT_data_member_location) {
                    None => Some(0),
                    Some(offset) => offset.udata_value(),
                },
                ty,
                is_bits: entry.attr_value(DW_AT_bit_size).is_some(),
                bit: entry.attr_value(DW_AT_data_bit_offset).and_then(|bit| bit.udata_value()),
            });
            (members.len() <= MOST_MEMBERS).then_some(())?;
        }
        Some(members)
    }

    /// A member that is looked for, of a structure or of what lies in it: where it begins there, and its type. Of several it is
    /// one of those that lie the least deep.
    pub(crate) fn inner_member(&self, at: EntryAt, is_it: &dyn Fn(&Member) -> bool) -> Option<(u64, EntryAt)> {
        let mut level = vec![(0_u64, at)];
        let mut room = MOST_LOOKED_INTO;
        for _ in 0..MOST_LEVELS {
            let mut next = Vec::new();
            for (start, structure) in level {
                room = room.checked_sub(1)?;
                for member in self.members(structure).unwrap_or_default() {
                    let Some(offset) = member.offset.and_then(|offset| offset.checked_add(start)) else { continue };
                    if is_it(&member) {
                        return Some((offset, member.ty));
                    }
                    next.extend(self.structure(member.ty).map(|inner| (offset, inner)));
                }
            }
            level = next;
        }
        None
    }

    /// The same by its name.
    pub(crate) fn named_member(&self, at: EntryAt, name: &str) -> Option<(u64, EntryAt)> {
        self.inner_member(at, &|member| member.name.as_deref() == Some(name))
    }

    /// What a pointer, under whatever name, points at.
    pub(crate) fn pointee(&self, at: EntryAt) -> Option<EntryAt> {
        let at = self.behind_names(at)?;
        let unit = self.info.unit(at.0)?;
        let is_pointer = unit.entry(at.1).ok()?.tag() == gimli::DW_TAG_pointer_type;
        if is_pointer { self.info.type_of(at) } else { None }
    }

    /// The structure that a type is under whatever name.
    pub(crate) fn structure(&self, at: EntryAt) -> Option<EntryAt> {
        let at = self.behind_names(at)?;
        let unit = self.info.unit(at.0)?;
        let tag = unit.entry(at.1).ok()?.tag();
        [gimli::DW_TAG_structure_type, gimli::DW_TAG_class_type, gimli::DW_TAG_union_type].contains(&tag).then_some(at)
    }

    /// What a type is without its other names.
    pub(crate) fn behind_names(&self, mut at: EntryAt) -> Option<EntryAt> {
        for _ in 0..crate::type_reader::MOST_HOPS {
            let unit = self.info.unit(at.0)?;
            match unit.entry(at.1).ok()?.tag() {
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type => at = self.info.type_of(at)?,
                _ => return Some(at),
            }
        }
        None
    }

    /// The type that a template or a generic type was made for, its first.
    pub(crate) fn first_argument(&self, at: EntryAt) -> Option<EntryAt> {
        let unit = self.info.unit(at.0)?;
        let mut tree = unit.entries_tree(Some(at.1)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            self.info.spend()?;
            if child.entry().tag() == gimli::DW_TAG_template_type_parameter {
                return self.info.type_of((at.0, child.entry().offset()));
            }
        }
        None
    }
}
