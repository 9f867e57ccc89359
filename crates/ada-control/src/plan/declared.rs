//! Prototypes of functions as their debug information declares them.

use ada_image::{EntryPlace, FieldType, FunctionType, PassedIn, ValueType};
use ada_value::{Failure, Field, Parameter, Prototype, Type, notation};

/// DWARF's numbers of the registers of arguments, in their order.
const ARGUMENTS: [u16; 6] = [5, 4, 1, 2, 8, 9];
/// DWARF's number of the first vector register.
const FIRST_VECTOR: u16 = 17;
/// Marks in the names of functions that compilers have made from others, with other parameters.
const CLONES: [&str; 5] = [".isra", ".constprop", ".part", ".cold", ".specialized"];

/// C++'s `std::string`.
const STRING: &str = "basic_string<char,";

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
        Parameter { name, ty: value_type(ty, true), condition: None }
    };
    let mut prototype = Prototype {
        name: "f".to_owned(),
        parameters: function.parameters.iter().enumerate().map(parameter).collect(),
        is_variadic: function.is_variadic,
        result: value_type(&function.result, false),
        failure: Failure::None,
    };
    for (number, (_, _, at_entry)) in function.parameters.iter().enumerate() {
        let register = prototype.register_of(number).map(|register| ARGUMENTS[register]);
        let should_be = register.or_else(|| Some(FIRST_VECTOR + prototype.vector_of(number)? as u16));
        let ty = &mut prototype.parameters[number].ty;
        match at_entry {
            EntryPlace::Nowhere => gone(ty),
            EntryPlace::Register(is) if should_be.is_some_and(|should| should != *is) => gone(ty),
            EntryPlace::Parts(parts) => without_parts(ty, parts),
            EntryPlace::Register(_) | EntryPlace::Unsaid => {}
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

/// Parts of a structure are not there; of anything else, all of it then.
fn without_parts(ty: &mut Type, parts: &[(u64, bool)]) {
    if parts.iter().all(|(_, is_there)| *is_there) {
        return;
    }
    let Type::Aggregate { fields, .. } = ty else { return gone(ty) };
    let mut start = 0_u64;
    for (bytes, is_there) in parts {
        let end = start.saturating_add(*bytes);
        let is_in = |field: &Field| (start..end).contains(&field.offset.into());
        if !is_there {
            fields.iter_mut().filter(|field| is_in(field)).for_each(|field| gone(&mut field.ty));
        }
        start = end;
    }
}

fn value_type(ty: &ValueType, is_parameter: bool) -> Type {
    match ty {
        ValueType::Void => Type::Void,
        &ValueType::Integer { is_signed, bytes: bytes @ (1 | 2 | 4 | 8) } => Type::integer(is_signed, bytes),
        &ValueType::Integer { is_signed, bytes: 16 } => Type::integer(is_signed, 16),
        ValueType::Bool => Type::Bool,
        ValueType::Char => Type::Char,
        ValueType::Float(bytes @ (4 | 8 | 16)) => Type::Float(*bytes),
        ValueType::Enum { is_signed, bytes: bytes @ (1 | 2 | 4 | 8), names } => {
            let names = names.iter().filter(|(_, name)| notation::is_name(name)).cloned().collect();
            Type::Enum { is_signed: *is_signed, bytes: *bytes, names }
        }
        ValueType::Pointer(to) => match &**to {
            ValueType::Char => Type::Text,
            ValueType::Function => Type::Code,
            ValueType::Integer { bytes: 1..=8, .. } | ValueType::Float(4 | 8) | ValueType::Enum { .. }
                if is_parameter =>
            {
                Type::Reference { to: Box::new(value_type(to, false)), is_out: false }
            }
            ValueType::Aggregate { name, .. } if name.starts_with(STRING) && is_parameter => Type::StringReference,
            ValueType::Aggregate { bytes, fields, .. } if !fields.is_empty() && is_parameter => {
                Type::Reference { to: Box::new(behind_pointer(*bytes, fields)), is_out: false }
            }
            _ => Type::Pointer,
        },
        ValueType::Aggregate { name, is_by_reference: true, bytes, fields, .. } if is_parameter => {
            if name.starts_with(STRING) {
                Type::StringReference
            } else if fields.is_empty() {
                Type::Pointer
            } else {
                Type::Reference { to: Box::new(behind_pointer(*bytes, fields)), is_out: false }
            }
        }
        ValueType::Aggregate { is_by_reference: true, bytes, fields, .. } => behind_pointer(*bytes, fields),
        ValueType::Aggregate { name, words, .. } if is_pair(words) && name == "&str" => {
            Type::Slice { is_length_first: false }
        }
        ValueType::Aggregate { name, words, .. } if is_pair(words) && name.starts_with("basic_string_view<char,") => {
            Type::Slice { is_length_first: true }
        }
        // Nobody passes a structure without bytes alike, and what is only declared is not known.
        ValueType::Aggregate { bytes: 0, .. } => Type::Unknown,
        ValueType::Aggregate { bytes, words, fields, .. } => {
            let letter = |word: &PassedIn| if *word == PassedIn::Integer { 'I' } else { 'V' };
            let words = words.iter().flatten().map(letter).collect();
            Type::Aggregate { bytes: u32::try_from(*bytes).unwrap_or(u32::MAX), words, fields: declared_fields(fields) }
        }
        ValueType::Integer { .. }
        | ValueType::Float(_)
        | ValueType::Enum { .. }
        | ValueType::Function
        | ValueType::Characters(_)
        | ValueType::Other => Type::Unknown,
    }
}

/// A structure in memory.
fn behind_pointer(bytes: u64, fields: &[FieldType]) -> Type {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    Type::Aggregate { bytes, words: String::new(), fields: declared_fields(fields) }
}

fn declared_fields(fields: &[FieldType]) -> Vec<Field> {
    let field = |it: &FieldType| {
        let ty = match &it.ty {
            ValueType::Characters(count) => Type::Characters(u32::try_from(*count).ok()?),
            ValueType::Aggregate { bytes, fields, .. } => behind_pointer(*bytes, fields),
            ty => value_type(ty, true),
        };
        // Numbers behind pointers of fields are not captured.
        let ty = match ty {
            Type::Reference { to, .. } if !matches!(*to, Type::Aggregate { .. }) => Type::Pointer,
            Type::StringReference => Type::Pointer,
            ty => ty,
        };
        let name: String = it.name.chars().filter(|it| it.is_alphanumeric() || *it == '_').collect();
        Some(Field { name, offset: u32::try_from(it.offset).ok()?, ty }).filter(|field| !field.name.is_empty())
    };
    fields.iter().filter_map(field).collect()
}

fn is_pair(words: &Option<Vec<PassedIn>>) -> bool {
    words.as_deref() == Some(&[PassedIn::Integer; 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(ty: ValueType, at_entry: EntryPlace) -> (Option<String>, ValueType, EntryPlace) {
        (Some("x".to_owned()), ty, at_entry)
    }

    #[test]
    fn declarations_become_prototypes() {
        let integer = ValueType::Integer { is_signed: true, bytes: 4 };
        let text = ValueType::Pointer(Box::new(ValueType::Char));
        let aggregate = |name: &str, bytes, words| ValueType::Aggregate {
            name: name.to_owned(),
            bytes,
            words,
            is_by_reference: false,
            fields: Vec::new(),
        };
        let function = FunctionType {
            parameters: vec![
                parameter(text, EntryPlace::Register(5)),
                parameter(integer.clone(), EntryPlace::Register(3)),
                (None, aggregate("&str", 16, Some(vec![PassedIn::Integer; 2])), EntryPlace::Unsaid),
                parameter(aggregate("point", 16, Some(vec![PassedIn::Vector; 2])), EntryPlace::Unsaid),
                parameter(integer, EntryPlace::Unsaid),
            ],
            is_variadic: false,
            result: aggregate("big", 40, None),
        };
        let written = prototype(&function).to_string();
        // The result's address takes the first register, so that nothing is where the information says that it is.
        assert_eq!(written, "f(x: gone, x: gone i32, argument2: slice, x: struct{16;VV}, x: i32) -> struct{40;}");
    }

    #[test]
    fn what_is_nowhere_is_told_and_what_follows_stays_where_it_is() {
        let integer = ValueType::Integer { is_signed: true, bytes: 4 };
        let double = ValueType::Float(8);
        let field = |name: &str, offset, ty| FieldType { name: name.to_owned(), offset, ty };
        let mixed = ValueType::Aggregate {
            name: "mixed".to_owned(),
            bytes: 16,
            words: Some(vec![PassedIn::Vector, PassedIn::Integer]),
            is_by_reference: false,
            fields: vec![field("x", 0, double.clone()), field("n", 8, integer.clone())],
        };
        let function = FunctionType {
            parameters: vec![
                parameter(double, EntryPlace::Nowhere),
                parameter(integer.clone(), EntryPlace::Nowhere),
                parameter(mixed, EntryPlace::Parts(vec![(8, false), (4, true)])),
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
