//! Structures: how they are passed, and what is in them.

use super::Type;

/// How a structure is passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passing {
    /// In memory: an argument is on the stack, a result where the caller has said.
    Memory,
    /// In these registers; where there are too few of them left, in memory.
    Registers(Vec<Part>),
    /// In these registers, each as an argument of its own.
    Apart(Vec<Part>),
}

/// A part of a structure that a register has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// How many bytes into the structure it begins.
    pub offset: u32,
    /// Whether the register is a vector register.
    pub is_vector: bool,
}

/// What is in a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Fields, as far as they are known.
    Fields(Vec<Field>),
    /// Elements in a row elsewhere.
    Sequence(Sequence),
    /// One of several variants.
    Variants(Variants),
    /// One value so many bytes into it, which is all that people see in it.
    Wrapped(u32, Box<Type>),
}

/// A field of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// How many bytes into the structure it begins.
    pub offset: u32,
    /// Its type.
    pub ty: Type,
}

/// Elements in a row: a vector, a slice, a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// How many bytes into the structure there is the pointer to the first one.
    pub start: u32,
    /// What says how many there are.
    pub end: SequenceEnd,
    /// They.
    pub elements: Elements,
}

/// What says how many elements there are, and how many bytes into the structure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceEnd {
    /// Their number.
    Count(u32),
    /// A pointer behind the last.
    Pointer(u32),
}

/// What a sequence has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elements {
    /// The bytes of a text.
    Text,
    /// Elements of so many bytes each.
    Of(u32, Box<Type>),
}

/// Of these variants, one is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variants {
    /// What stands before their names; nothing where these say enough.
    pub name: String,
    /// How many bytes into the structure there is the number that says which, and its bytes. None where there is one variant.
    pub tag: Option<(u32, u8)>,
    /// They.
    pub variants: Vec<Variant>,
}

/// A variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Its name; nothing where its one field is all that people see.
    pub name: String,
    /// The tag's value; none of the variant that all other values stand for.
    pub tag: Option<u64>,
    /// Its fields.
    pub fields: Vec<Field>,
}

impl Passing {
    /// The registers, in their order.
    pub fn parts(&self) -> &[Part] {
        match self {
            Self::Memory => &[],
            Self::Registers(parts) | Self::Apart(parts) => parts,
        }
    }

    /// How many of them are integer registers, and how many vector registers.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let vectors = self.parts().iter().filter(|part| part.is_vector).count();
        (self.parts().len() - vectors, vectors)
    }
}

impl Field {
    /// Its name; of one that has none, its number, as Rust's debug information writes it.
    pub(crate) fn shown_name(&self) -> &str {
        let number = self.name.strip_prefix("__").filter(|rest| rest.bytes().all(|digit| digit.is_ascii_digit()));
        number.filter(|number| !number.is_empty()).unwrap_or(&self.name)
    }
}

impl Content {
    /// Nothing that is known.
    pub const UNKNOWN: Self = Self::Fields(Vec::new());

    /// The fields that it may have.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &Field> {
        let fields: Vec<&Field> = match self {
            Self::Fields(fields) => fields.iter().collect(),
            Self::Variants(of) => of.variants.iter().flat_map(|variant| &variant.fields).collect(),
            Self::Sequence(_) | Self::Wrapped(..) => Vec::new(),
        };
        fields.into_iter()
    }
}

impl Sequence {
    /// A text of so many bytes.
    pub const fn text(start: u32, length: u32) -> Self {
        Self { start, end: SequenceEnd::Count(length), elements: Elements::Text }
    }

    /// How many bytes an element has.
    pub(crate) fn element_bytes(&self) -> u32 {
        match self.elements {
            Elements::Text => 1,
            Elements::Of(bytes, _) => bytes,
        }
    }
}
