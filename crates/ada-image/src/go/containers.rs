//! Strings, slices and interfaces of Go, as they lie in memory.

use crate::debug_info::EntryAt;
use crate::go::kind;
use crate::type_reader::{Reach, TypeReader};
use crate::value_type::{ContentType, ElementType, SequenceEnd, SequenceType, ValueType};

/// What all interfaces are, without and with methods.
const INTERFACES: [&str; 2] = ["runtime.eface", "runtime.iface"];

impl TypeReader<'_, '_> {
    /// What people see in a structure that Go's compiler has made for a type that is none.
    pub(crate) fn go_container(&self, at: EntryAt, name: &str, reach: Reach) -> Option<ContentType> {
        let (_, kind) = self.info.attribute(at, kind::GO_KIND)?;
        match kind.udata_value()? {
            kind::STRING => self.go_sequence(at, |_| Some(ElementType::Text)),
            kind::SLICE => self.go_sequence(at, |element| match self.elements(element, reach)? {
                ElementType::Elements(1, ty) if *ty == (ValueType::Integer { is_signed: false, bytes: 1 }) => {
                    Some(ElementType::Text)
                }
                elements => Some(elements),
            }),
            // Where its type is, or what leads to that.
            kind::STRUCT if INTERFACES.contains(&name) => {
                Some(ContentType::Wrapped(0, Box::new(ValueType::Pointer(Box::new(ValueType::Void)))))
            }
            _ => None,
        }
    }

    /// A pointer to elements, and how many there are, come first.
    fn go_sequence(&self, at: EntryAt, elements: impl Fn(EntryAt) -> Option<ElementType>) -> Option<ContentType> {
        let members = self.members(at)?;
        let [start, length, ..] = &members[..] else { return None };
        let elements = elements(self.pointee(start.ty)?)?;
        let end = SequenceEnd::Count(length.offset?);
        Some(ContentType::Sequence(SequenceType { start: start.offset?, end, elements }))
    }
}
