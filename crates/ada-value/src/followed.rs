//! What the pointers in a structure lead to.

use crate::{Content, Sequence, Type};

/// A pointer in a structure that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Followed<'t> {
    /// How many bytes into the structure it lies, or what has it.
    pub(crate) offset: u32,
    pub(crate) to: To<'t>,
}

/// What is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To<'t> {
    /// Characters up to a zero.
    Text,
    /// A value.
    Value(&'t Type),
    /// Elements.
    Elements(&'t Sequence),
}

/// The pointers in a structure that are followed, each once, in the order of its fields.
pub(crate) fn followed(ty: &Type) -> Vec<Followed<'_>> {
    let mut found = Vec::new();
    collect(ty, 0, &mut found);
    found
}

fn collect<'t>(ty: &'t Type, offset: u32, found: &mut Vec<Followed<'t>>) {
    let mut add = |to| {
        let it = Followed { offset, to };
        // Variants often have the same at the same place.
        if !found.contains(&it) {
            found.push(it);
        }
    };
    match ty {
        Type::Text => add(To::Text),
        Type::Reference { to, .. } => match &**to {
            Type::Aggregate { content, .. } if *content == Content::UNKNOWN => {}
            to if to.bytes().is_some() => add(To::Value(to)),
            _ => {}
        },
        Type::Aggregate { content: Content::Sequence(sequence), .. } => add(To::Elements(sequence)),
        Type::Aggregate { content: Content::Wrapped(at, ty), .. } => collect(ty, offset.saturating_add(*at), found),
        Type::Aggregate { content, .. } => {
            content.fields().for_each(|field| collect(&field.ty, offset.saturating_add(field.offset), found));
        }
        _ => {}
    }
}
