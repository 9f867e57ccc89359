//! How the System V calling convention, and C++'s on top of it, pass structures.

use crate::debug_info::EntryAt;
use crate::type_reader::{DEEPEST, MOST_HOPS, Reach, TypeReader};
use crate::value_type::{PassedIn, RegisterPart, ValueType};

/// The largest structure that is passed in registers.
const LARGEST_IN_REGISTERS: u64 = 16;
/// How deep a number lies in a structure: `std::optional` has it behind five base classes and members.
const DEEPEST_PART: usize = 2 * DEEPEST;

impl TypeReader<'_, '_> {
    /// The registers in which a structure of so many bytes is passed; none if it is passed in memory.
    pub(crate) fn system_v_registers(&self, at: EntryAt, bytes: u64) -> Option<Vec<RegisterPart>> {
        let mut classes = [None; 2];
        (bytes <= LARGEST_IN_REGISTERS && bytes > 0).then_some(())?;
        self.classify(at, 0, &mut classes, DEEPEST_PART)?;
        let words = classes.iter().take(bytes.div_ceil(8) as usize).map(|it| it.unwrap_or(PassedIn::Vector));
        Some((0..).step_by(8).zip(words).map(|(offset, kind)| RegisterPart { offset, kind }).collect())
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
                (0..count).try_for_each(|number| {
                    let within = offset.checked_add(number.checked_mul(bytes)?)?;
                    self.classify(element, within, classes, deepest)
                })
            }
            _ => match self.read_within(at, MOST_HOPS, Reach::NONE).unwrap_or(ValueType::Other) {
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
        if self.has_variants(at) {
            return None;
        }
        for member in self.members(at)? {
            if member.is_bits {
                let byte = offset.checked_add(member.bit? / 8)?;
                let word = classes.get_mut(usize::try_from(byte / 8).ok()?)?;
                *word = Some(PassedIn::Integer);
                continue;
            }
            self.classify(member.ty, offset.checked_add(member.offset.unwrap_or(0))?, classes, deepest)?;
        }
        Some(())
    }

    /// Whether a class of C++ has a constructor that copies or moves it, or a destructor, of its own, or has something that has one:
    /// such a class is passed as a pointer to a copy. What cannot be read has none.
    pub(crate) fn is_copied_by_code(&self, at: EntryAt, deepest: usize) -> bool {
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
                gimli::DW_TAG_member if entry.attr_value(gimli::DW_AT_external).is_none() => {
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
}
