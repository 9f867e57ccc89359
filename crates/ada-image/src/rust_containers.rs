//! Strings, vectors, slices and counted pointers of Rust's library.

use crate::containers::BOX;
use crate::debug_info::EntryAt;
use crate::members::Member;
use crate::type_reader::{MOST_HOPS, Reach, TypeReader};
use crate::value_type::{ContentType, ElementType, Passing, SequenceEnd, SequenceType, ValueType};

/// The namespaces of Rust's library.
const LIBRARIES: [&str; 3] = ["core", "alloc", "std"];

impl TypeReader<'_, '_> {
    /// Whether a type is one of Rust's library.
    pub(crate) fn is_rust_librarys(&self, at: EntryAt) -> bool {
        self.namespaces(at).first().is_some_and(|name| LIBRARIES.contains(&name.as_str()))
    }

    /// What people see in a container of Rust's library. `name`: without its arguments.
    pub(crate) fn rust_container(&self, at: EntryAt, name: &str, reach: Reach) -> Option<ContentType> {
        let is_in = |namespace: &str| {
            self.is_rust_librarys(at) && self.namespaces(at).last().is_some_and(|last| last == namespace)
        };
        match name {
            "String" if is_in("string") => {
                let (offset, vector) = self.named_member(at, "vec")?;
                self.vector(vector, offset, |_| Some(ElementType::Text))
            }
            "Vec" if is_in("vec") => self.vector(at, 0, |vector| self.elements(self.first_argument(vector)?, reach)),
            "Rc" if is_in("rc") => self.counted(at, "value", reach),
            "Arc" if is_in("sync") => self.counted(at, "data", reach),
            _ => None,
        }
    }

    /// What a fat pointer leads to: a slice or a text. These are in no namespace.
    pub(crate) fn rust_slice(&self, at: EntryAt, name: &str, reach: Reach) -> Option<ContentType> {
        let members = self.members(at)?;
        let [data, length] = &members[..] else { return None };
        let is_named = |member: &Member, name| member.name.as_deref() == Some(name);
        (is_named(data, "data_ptr") && is_named(length, "length")).then_some(())?;
        let is_text = ["&str", "&mut str", "*const str", "*mut str"].contains(&name)
            || name.strip_prefix(BOX).is_some_and(|of| of.starts_with("str,") || of == "str>");
        let elements = match is_text {
            true => ElementType::Text,
            false => self.elements(self.pointee(data.ty)?, reach)?,
        };
        let end = SequenceEnd::Count(length.offset?);
        Some(ContentType::Sequence(SequenceType { start: data.offset?, end, elements }))
    }

    /// A vector that begins so many bytes into what it is in.
    fn vector(
        &self,
        at: EntryAt,
        offset: u64,
        elements: impl Fn(EntryAt) -> Option<ElementType>,
    ) -> Option<ContentType> {
        let at = self.structure(at)?;
        let length = self.members(at)?.into_iter().find(|member| member.name.as_deref() == Some("len"))?;
        let (outer, pointer) = self.named_member(at, "ptr")?;
        let inner = self.inner_member(pointer, &|member| self.pointee(member.ty).is_some());
        let start = outer.checked_add(inner.map_or(0, |(inner, _)| inner))?.checked_add(offset)?;
        let end = SequenceEnd::Count(length.offset?.checked_add(offset)?);
        Some(ContentType::Sequence(SequenceType { start, end, elements: elements(at)? }))
    }

    /// Elements of a type.
    pub(crate) fn elements(&self, ty: EntryAt, reach: Reach) -> Option<ElementType> {
        let bytes = self.bytes_of(ty, MOST_HOPS)?;
        let reach = reach.behind().within()?;
        Some(ElementType::Elements(bytes, Box::new(self.read_within(ty, MOST_HOPS, reach).unwrap_or(ValueType::Other))))
    }

    /// A pointer to a value behind its counts, which is all that people see there.
    fn counted(&self, at: EntryAt, name: &str, reach: Reach) -> Option<ContentType> {
        let (start, pointer) = self.inner_member(at, &|member| self.pointee(member.ty).is_some())?;
        let counted = self.structure(self.pointee(pointer)?)?;
        let value = self.members(counted)?.into_iter().find(|member| member.name.as_deref() == Some(name))?;
        let within = reach.behind().within()?;
        let ty = self.read_within(value.ty, MOST_HOPS, within).unwrap_or(ValueType::Other);
        let behind = ValueType::Aggregate {
            bytes: self.bytes_of(counted, MOST_HOPS)?,
            passing: Passing::Memory,
            content: ContentType::Wrapped(value.offset?, Box::new(ty)),
        };
        Some(ContentType::Wrapped(start, Box::new(ValueType::Pointer(Box::new(behind)))))
    }
}
