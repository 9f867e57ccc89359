//! Prototypes of functions as their debug information declares them.

use ada_image::{EntryPart, EntryPlace, FunctionType, PartPlace, ValueType};
use ada_value::{Content, Convention, Failure, Parameter, PartRegister, Prototype, Type};

use super::declared_types::{parameter_type, result_type};

/// DWARF's numbers of the registers of arguments, in their order.
const ARGUMENTS: [u16; 6] = [5, 4, 1, 2, 8, 9];
/// DWARF's number of the first vector register.
const FIRST_VECTOR: u16 = 17;
/// Marks in the names of functions that compilers have made from others, with other parameters.
const CLONES: [&str; 5] = [".isra", ".constprop", ".part", ".cold", ".specialized"];

/// Whether a function of this name takes other arguments than it was declared to.
pub(super) fn is_clone(name: &str) -> bool {
    // Asked of every function of a program.
    let mut marks = name.bytes().enumerate().filter(|(_, byte)| *byte == b'.');
    marks.any(|(at, _)| CLONES.iter().any(|mark| name.as_bytes()[at..].starts_with(mark.as_bytes())))
}

/// The prototype of a declared function.
pub(super) fn prototype(function: &FunctionType) -> Prototype {
    let parameter = |(number, (name, ty, _)): (usize, &(Option<String>, ValueType, EntryPlace))| {
        let name: String =
            name.iter().flat_map(|name| name.chars()).filter(|it| it.is_alphanumeric() || *it == '_').collect();
        let name = if name.is_empty() { format!("argument{number}") } else { name };
        Parameter { name, ty: parameter_type(ty), condition: None }
    };
    let mut prototype = Prototype {
        name: "f".to_owned(),
        convention: Convention::SystemV,
        parameters: function.parameters.iter().enumerate().map(parameter).collect(),
        is_variadic: function.is_variadic,
        result: result_type(&function.result),
        failure: Failure::None,
    };
    for (number, (_, _, at_entry)) in function.parameters.iter().enumerate() {
        let register = prototype.register_of(number).map(|register| ARGUMENTS[register]);
        let should_be = register.or_else(|| Some(FIRST_VECTOR + prototype.vector_of(number)? as u16));
        let is_elsewhere = prototype.registers_of(number).iter().any(|part| is_elsewhere(part, at_entry));
        let ty = &mut prototype.parameters[number].ty;
        match at_entry {
            EntryPlace::Nowhere => gone(ty),
            _ if is_elsewhere => gone(ty),
            EntryPlace::Register(is) | EntryPlace::Behind(Some(is))
                if should_be.is_some_and(|should| should != *is) =>
            {
                gone(ty);
            }
            EntryPlace::Parts(parts) => without_parts(ty, parts),
            EntryPlace::Register(_) | EntryPlace::Behind(_) | EntryPlace::Frame | EntryPlace::Unsaid => {}
        }
    }
    prototype
}

/// The argument is not there, and what follows it is where it would be.
fn gone(ty: &mut Type) {
    // Of what is not known it is not known either where the next is.
    if *ty != Type::Unknown {
        let passed_as = if ty.is_passed_as_pointer() { Type::Pointer } else { ty.clone() };
        *ty = Type::OptimizedAway(Box::new(passed_as));
    }
}

/// Whether debug information has a part of a structure in another register than the calling convention puts it into.
fn is_elsewhere(part: &PartRegister, at_entry: &EntryPlace) -> bool {
    let should_be = match part.is_vector {
        true => Some(FIRST_VECTOR + part.number as u16),
        false => ARGUMENTS.get(part.number).copied(),
    };
    match at_entry {
        EntryPlace::Register(is) => part.offset == 0 && Some(*is) != should_be,
        EntryPlace::Parts(parts) => {
            let mut start = 0_u64;
            parts.iter().any(|known| {
                let is_it = start == u64::from(part.offset);
                start = start.saturating_add(known.bytes);
                matches!(known.place, PartPlace::Register(is) if is_it && Some(is) != should_be)
            })
        }
        _ => false,
    }
}

/// Parts of a structure are not there; of anything without fields, all of it then.
fn without_parts(ty: &mut Type, parts: &[EntryPart]) {
    let mut start = 0_u64;
    let mut missing = Vec::new();
    for part in parts {
        let end = start.saturating_add(part.bytes);
        missing.extend((part.place == PartPlace::Nowhere).then_some(start..end));
        start = end;
    }
    let is_missing = |offset: u32| missing.iter().any(|range| range.contains(&u64::from(offset)));
    match ty {
        _ if missing.is_empty() => {}
        Type::Aggregate { content: Content::Fields(fields), .. } => {
            fields.iter_mut().filter(|field| is_missing(field.offset)).for_each(|field| gone(&mut field.ty));
        }
        // What lies between the parts is nowhere.
        Type::Aggregate { passing, .. } if !passing.parts().iter().any(|part| is_missing(part.offset)) => {}
        _ => gone(ty),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_image::{ContentType, ElementType, FieldType, PassedIn, Passing, RegisterPart, SequenceEnd, SequenceType};

    fn parameter(ty: ValueType, at_entry: EntryPlace) -> (Option<String>, ValueType, EntryPlace) {
        (Some("x".to_owned()), ty, at_entry)
    }

    #[test]
    fn declarations_become_prototypes() {
        let integer = ValueType::Integer { is_signed: true, bytes: 4 };
        let text = ValueType::Pointer(Box::new(ValueType::Char));
        let unknown = ContentType::UNKNOWN;
        let aggregate = |bytes, passing, content| ValueType::Aggregate { bytes, passing, content };
        let parts = |kind| [0, 8].map(|offset| RegisterPart { offset, kind }).to_vec();
        let characters = SequenceType { start: 0, end: SequenceEnd::Count(8), elements: ElementType::Text };
        let slice = aggregate(16, Passing::Apart(parts(PassedIn::Integer)), ContentType::Sequence(characters.clone()));
        let function = FunctionType {
            parameters: vec![
                parameter(text, EntryPlace::Register(5)),
                parameter(integer.clone(), EntryPlace::Register(3)),
                (None, slice, EntryPlace::Unsaid),
                parameter(
                    aggregate(16, Passing::Registers(parts(PassedIn::Vector)), unknown.clone()),
                    EntryPlace::Unsaid,
                ),
                parameter(integer, EntryPlace::Unsaid),
                parameter(
                    aggregate(24, Passing::Pointer, ContentType::Sequence(characters)),
                    EntryPlace::Behind(Some(9)),
                ),
            ],
            is_variadic: false,
            result: aggregate(40, Passing::Memory, unknown),
        };
        let written = prototype(&function).to_string();
        // The result's address takes the first register, so that nothing is where the information says that it is.
        assert_eq!(
            written,
            "f(x: gone, x: gone i32, argument2: slice, x: struct{16;VV}, x: i32, x: copy text{24;;0;8}) -> struct{40;}"
        );
    }

    #[test]
    fn what_is_nowhere_is_told_and_what_follows_stays_where_it_is() {
        let integer = ValueType::Integer { is_signed: true, bytes: 4 };
        let double = ValueType::Float(8);
        let field = |name: &str, offset, ty| FieldType { name: name.to_owned(), offset, ty };
        let part = |bytes, place| EntryPart { bytes, place };
        let mixed = ValueType::Aggregate {
            bytes: 16,
            passing: Passing::Registers(vec![
                RegisterPart { offset: 0, kind: PassedIn::Vector },
                RegisterPart { offset: 8, kind: PassedIn::Integer },
            ]),
            content: ContentType::Fields(vec![field("x", 0, double.clone()), field("n", 8, integer.clone())]),
        };
        let function = FunctionType {
            parameters: vec![
                parameter(double, EntryPlace::Nowhere),
                parameter(integer.clone(), EntryPlace::Nowhere),
                parameter(mixed, EntryPlace::Parts(vec![part(8, PartPlace::Nowhere), part(4, PartPlace::Elsewhere)])),
                parameter(integer, EntryPlace::Register(1)),
            ],
            is_variadic: false,
            result: ValueType::Void,
        };
        let written = prototype(&function).to_string();
        let expected = "f(x: gone f64, x: gone i32, x: struct{16;VI;x:gone f64@0;n:i32@8}, x: i32) -> void";
        assert_eq!(written, expected);
    }

    #[test]
    fn clones_are_known_by_their_names() {
        assert!(is_clone("parse.isra.0") && is_clone("f.constprop.1") && !is_clone("parse") && !is_clone("apart"));
    }
}
