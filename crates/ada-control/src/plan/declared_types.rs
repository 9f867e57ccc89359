//! Types as debug information has them, and as values are captured and shown.

use ada_image::{
    ContentType, ElementType, FieldType, PassedIn, Passing, RegisterPart, SequenceType, ValueType, VariantType,
};
use ada_value::{Content, Elements, Field, Part, Sequence, SequenceEnd, Type, Variant, Variants, notation};

/// The type of a parameter.
pub(super) fn parameter_type(ty: &ValueType) -> Type {
    match ty {
        ValueType::Aggregate { passing: Passing::Pointer, content, .. } if *content == ContentType::UNKNOWN => {
            Type::Pointer
        }
        ValueType::Aggregate { bytes, passing: Passing::Pointer, content } => {
            Type::Copy(Box::new(in_memory(*bytes, content)))
        }
        ValueType::Pointer(to) => pointer(to),
        ty => value_type(ty),
    }
}

/// The type of a result: what it points at is not captured but for texts.
pub(super) fn result_type(ty: &ValueType) -> Type {
    match ty {
        ValueType::Aggregate { bytes, passing: Passing::Pointer, content } => in_memory(*bytes, content),
        ty => value_type(ty),
    }
}

fn value_type(ty: &ValueType) -> Type {
    match ty {
        ValueType::Void => Type::Void,
        &ValueType::Integer { is_signed, bytes: bytes @ (1 | 2 | 4 | 8 | 16) } => Type::integer(is_signed, bytes),
        ValueType::Bool => Type::Bool,
        ValueType::Char => Type::Char,
        ValueType::Float(bytes @ (4 | 8 | 16)) => Type::Float(*bytes),
        ValueType::Enum { is_signed, bytes: bytes @ (1 | 2 | 4 | 8), names } => {
            let names = names.iter().filter(|(_, name)| notation::is_name(name)).cloned().collect();
            Type::Enum { is_signed: *is_signed, bytes: *bytes, names }
        }
        ValueType::Pointer(to) => match pointer(to) {
            plain @ (Type::Text | Type::Code) => plain,
            _ => Type::Pointer,
        },
        // C passes a structure without bytes in ways that compilers differ in, and what is only declared is not known.
        ValueType::Aggregate { bytes: 0, passing: Passing::Memory | Passing::Registers(_), .. } => Type::Unknown,
        ValueType::Aggregate { bytes, passing, content } => {
            Type::Aggregate { bytes: number(*bytes), passing: declared_passing(passing), content: declared(content) }
        }
        ValueType::Integer { .. }
        | ValueType::Float(_)
        | ValueType::Enum { .. }
        | ValueType::Function
        | ValueType::Characters(_)
        | ValueType::Other => Type::Unknown,
    }
}

fn pointer(to: &ValueType) -> Type {
    let to = match to {
        ValueType::Char => return Type::Text,
        ValueType::Function => return Type::Code,
        ValueType::Integer { bytes: 1..=8, .. } | ValueType::Float(4 | 8) | ValueType::Enum { .. } => value_type(to),
        ValueType::Aggregate { bytes, content, .. } if *content != ContentType::UNKNOWN => in_memory(*bytes, content),
        _ => return Type::Pointer,
    };
    Type::Reference { to: Box::new(to), is_out: false }
}

/// A structure in memory.
fn in_memory(bytes: u64, content: &ContentType) -> Type {
    Type::Aggregate { bytes: number(bytes), passing: ada_value::Passing::Memory, content: declared(content) }
}

/// What is in a structure. What it says of places that nothing has is kept as nothing that is known.
fn declared(content: &ContentType) -> Content {
    match content {
        ContentType::Fields(fields) => Content::Fields(declared_fields(fields)),
        ContentType::Sequence(it) => sequence(it).map_or(Content::UNKNOWN, Content::Sequence),
        ContentType::Variants(it) => {
            let variant =
                |it: &VariantType| Variant { name: name(&it.name), tag: it.tag, fields: declared_fields(&it.fields) };
            Content::Variants(Variants {
                name: name(&it.name),
                tag: it.tag.map(|(offset, bytes)| (number(offset), bytes)),
                variants: it.variants.iter().map(variant).collect(),
            })
        }
        ContentType::Wrapped(offset, ty) => Content::Wrapped(number(*offset), Box::new(wrapped_type(ty))),
    }
}

/// Elements elsewhere.
pub(super) fn sequence(it: &SequenceType) -> Option<Sequence> {
    Some(Sequence {
        start: u32::try_from(it.start).ok()?,
        end: match it.end {
            ada_image::SequenceEnd::Count(at) => SequenceEnd::Count(u32::try_from(at).ok()?),
            ada_image::SequenceEnd::Pointer(at) => SequenceEnd::Pointer(u32::try_from(at).ok()?),
        },
        elements: match &it.elements {
            ElementType::Text => Elements::Text,
            ElementType::Elements(bytes, ty) => Elements::Of(u32::try_from(*bytes).ok()?, Box::new(inner_type(ty))),
        },
    })
}

fn declared_fields(fields: &[FieldType]) -> Vec<Field> {
    let field = |it: &FieldType| {
        let field = Field { name: name(&it.name), offset: u32::try_from(it.offset).ok()?, ty: inner_type(&it.ty) };
        Some(field).filter(|field| !field.name.is_empty())
    };
    fields.iter().filter_map(field).collect()
}

/// The type of something in a structure. Numbers behind pointers there are not captured.
fn inner_type(ty: &ValueType) -> Type {
    match wrapped_type(ty) {
        Type::Reference { to, .. } if !matches!(*to, Type::Aggregate { .. }) => Type::Pointer,
        ty => ty,
    }
}

/// The type of all that people see in a structure.
fn wrapped_type(ty: &ValueType) -> Type {
    match ty {
        ValueType::Characters(count) => Type::Characters(number(*count)),
        ValueType::Aggregate { bytes, content, .. } => in_memory(*bytes, content),
        ValueType::Pointer(to) => pointer(to),
        ty => value_type(ty),
    }
}

fn declared_passing(passing: &Passing) -> ada_value::Passing {
    let declared = |parts: &[RegisterPart]| {
        let part = |it: &RegisterPart| Part { offset: number(it.offset), is_vector: it.kind == PassedIn::Vector };
        parts.iter().map(part).collect()
    };
    match passing {
        Passing::Registers(parts) => ada_value::Passing::Registers(declared(parts)),
        Passing::Apart(parts) => ada_value::Passing::Apart(declared(parts)),
        Passing::Memory | Passing::Pointer => ada_value::Passing::Memory,
    }
}

/// A name without what has a meaning in the notation.
fn name(name: &str) -> String {
    name.chars().filter(|it| it.is_alphanumeric() || *it == '_').collect()
}

/// Numbers that are larger than any place is are not where anything is.
fn number(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
