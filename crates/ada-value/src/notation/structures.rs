//! Structures in writing: `struct{16;IV;x:i32@0}`, and with other content.

use super::{is_name, parts_of};
use crate::ty::{Content, Elements, Field, Part, Passing, Sequence, SequenceEnd, Type, Variant, Variants};

/// The most fields of a structure, and the most variants.
const MOST_FIELDS: usize = 64;
/// The most registers that a structure is passed in, by any convention.
const MOST_REGISTERS: usize = 24;
/// What is before the number of a place where a pointer is behind the last element.
const POINTER: char = '>';
/// What is before registers each of which has an argument of its own.
const APART: char = '+';

/// Reads a structure; none if it is no structure, or a wrong one. `parse` reads the types in it.
pub(super) fn parse_structure(written: &str, parse: &dyn Fn(&str) -> Option<Type>) -> Option<Type> {
    let (keyword, inside) = written.strip_suffix('}')?.split_once('{')?;
    let mut parts = parts_of(inside).into_iter();
    let (bytes, passing) = (parts.next()?.parse().ok()?, parse_passing(parts.next()?)?);
    // All that is in registers lies within the structure.
    passing.parts().iter().all(|part| part.offset < bytes).then_some(())?;
    let content = match keyword {
        "struct" => Content::Fields(parse_fields(parts.by_ref(), parse)?),
        "text" => Content::Sequence(Sequence {
            start: parts.next()?.parse().ok()?,
            end: parse_end(parts.next()?)?,
            elements: Elements::Text,
        }),
        "list" => Content::Sequence(Sequence {
            start: parts.next()?.parse().ok()?,
            end: parse_end(parts.next()?)?,
            elements: Elements::Of(parts.next()?.parse().ok()?, Box::new(parse(parts.next()?)?)),
        }),
        "variants" => {
            let name = parts.next().filter(|name| name.is_empty() || is_name(name))?.to_owned();
            let tag = match parts.next()?.split_once(':') {
                Some((offset, bytes)) => {
                    let bytes = bytes.parse().ok().filter(|bytes| matches!(bytes, 1 | 2 | 4 | 8))?;
                    Some((offset.parse().ok()?, bytes))
                }
                None => None,
            };
            let variants = parts.by_ref().map(|part| parse_variant(part, parse)).collect::<Option<Vec<_>>>()?;
            (variants.len() <= MOST_FIELDS).then_some(())?;
            Content::Variants(Variants { name, tag, variants })
        }
        "within" => {
            let (ty, offset) = parts.next()?.rsplit_once('@')?;
            Content::Wrapped(offset.parse().ok()?, Box::new(parse(ty)?))
        }
        _ => return None,
    };
    parts.next().is_none().then_some(Type::Aggregate { bytes, passing, content })
}

fn parse_passing(written: &str) -> Option<Passing> {
    let (is_apart, mut rest) = written.strip_prefix(APART).map_or((false, written), |rest| (true, rest));
    let mut parts: Vec<Part> = Vec::new();
    while let Some(kind) = rest.chars().next() {
        let digits = &rest[kind.len_utf8()..];
        let end = digits.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(digits.len());
        let offset = if end == 0 { usual_offset(parts.len()) } else { digits[..end].parse().ok()? };
        let is_behind = parts.last().is_none_or(|last| last.offset < offset);
        (matches!(kind, 'I' | 'V') && is_behind && parts.len() < MOST_REGISTERS).then_some(())?;
        parts.push(Part { offset, is_vector: kind == 'V' });
        rest = &digits[end..];
    }
    Some(match (is_apart, parts.is_empty()) {
        (true, _) => Passing::Apart(parts),
        (false, true) => Passing::Memory,
        (false, false) => Passing::Registers(parts),
    })
}

/// Where the part of this number begins, where nothing else is said.
fn usual_offset(number: usize) -> u32 {
    8 * number as u32
}

fn parse_end(written: &str) -> Option<SequenceEnd> {
    Some(match written.strip_prefix(POINTER) {
        Some(at) => SequenceEnd::Pointer(at.parse().ok()?),
        None => SequenceEnd::Count(written.parse().ok()?),
    })
}

fn parse_fields<'w>(parts: impl Iterator<Item = &'w str>, parse: &dyn Fn(&str) -> Option<Type>) -> Option<Vec<Field>> {
    let field = |part: &str| {
        let (name, rest) = part.split_once(':').filter(|(name, _)| is_name(name))?;
        let (ty, offset) = rest.rsplit_once('@')?;
        Some(Field { name: name.to_owned(), offset: offset.parse().ok()?, ty: parse(ty)? })
    };
    parts.map(field).collect::<Option<Vec<_>>>().filter(|fields| fields.len() <= MOST_FIELDS)
}

fn parse_variant(written: &str, parse: &dyn Fn(&str) -> Option<Type>) -> Option<Variant> {
    let (head, inside) = written.strip_suffix('}')?.split_once('{')?;
    let (name, tag) = match head.split_once('=') {
        Some((name, tag)) => (name, Some(tag.parse().ok()?)),
        None => (head, None),
    };
    (name.is_empty() || is_name(name)).then_some(())?;
    let fields = parse_fields(parts_of(inside).into_iter().filter(|part| !part.is_empty()), parse)?;
    Some(Variant { name: name.to_owned(), tag, fields })
}

/// Writes a structure. `written` writes the types in it.
pub(super) fn structure(bytes: u32, passing: &Passing, content: &Content, written: &dyn Fn(&Type) -> String) -> String {
    let passing = written_passing(passing);
    let field = |it: &Field| format!("{}:{}@{}", it.name, written(&it.ty), it.offset);
    let end = |end: &SequenceEnd| match end {
        SequenceEnd::Count(at) => at.to_string(),
        SequenceEnd::Pointer(at) => format!("{POINTER}{at}"),
    };
    match content {
        Content::Fields(fields) => {
            let fields: String = fields.iter().map(|it| format!(";{}", field(it))).collect();
            format!("struct{{{bytes};{passing}{fields}}}")
        }
        Content::Sequence(it) => match &it.elements {
            Elements::Text => format!("text{{{bytes};{passing};{};{}}}", it.start, end(&it.end)),
            Elements::Of(each, ty) => {
                format!("list{{{bytes};{passing};{};{};{each};{}}}", it.start, end(&it.end), written(ty))
            }
        },
        Content::Variants(it) => {
            let tag = it.tag.map_or("-".to_owned(), |(offset, bytes)| format!("{offset}:{bytes}"));
            let variant = |it: &Variant| {
                let tag = it.tag.map(|tag| format!("={tag}")).unwrap_or_default();
                let fields: Vec<String> = it.fields.iter().map(field).collect();
                format!(";{}{tag}{{{}}}", it.name, fields.join(";"))
            };
            let variants: String = it.variants.iter().map(variant).collect();
            format!("variants{{{bytes};{passing};{};{tag}{variants}}}", it.name)
        }
        Content::Wrapped(offset, ty) => format!("within{{{bytes};{passing};{}@{offset}}}", written(ty)),
    }
}

fn written_passing(passing: &Passing) -> String {
    let part = |(number, part): (usize, &Part)| {
        let kind = if part.is_vector { 'V' } else { 'I' };
        if part.offset == usual_offset(number) { kind.to_string() } else { format!("{kind}{}", part.offset) }
    };
    let parts: String = passing.parts().iter().enumerate().map(part).collect();
    if matches!(passing, Passing::Apart(_)) { format!("{APART}{parts}") } else { parts }
}
