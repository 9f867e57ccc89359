//! Types of values, as far as passing and showing them needs.

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// No value.
    Void,
    /// An integer.
    Integer {
        /// Whether it has a sign.
        is_signed: bool,
        /// Its bytes.
        bytes: u8,
    },
    /// True or false.
    Bool,
    /// A character of C.
    Char,
    /// A number with a fraction, of so many bytes.
    Float(u8),
    /// An enumeration.
    Enum {
        /// Whether its numbers have a sign.
        is_signed: bool,
        /// Its bytes.
        bytes: u8,
        /// Its values and their names.
        names: Vec<(i64, String)>,
    },
    /// A pointer or reference.
    Pointer(Box<ValueType>),
    /// A function.
    Function,
    /// A structure, class or union.
    Aggregate {
        /// Its bytes.
        bytes: u64,
        /// How it is passed.
        passing: Passing,
        /// What is in it, as far as that was asked for. Nothing of a union.
        content: ContentType,
    },
    /// So many characters in a row.
    Characters(u64),
    /// Something else.
    Other,
}

/// How a structure is passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passing {
    /// In these registers; where there are too few of them left, in memory.
    Registers(Vec<RegisterPart>),
    /// In these registers, each as an argument of its own: Rust's.
    Apart(Vec<RegisterPart>),
    /// In memory: an argument is on the stack, a result where the caller says.
    Memory,
    /// As a pointer to a copy. A result is where the caller says.
    Pointer,
}

/// A part of a structure that a register has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterPart {
    /// How many bytes into the structure it begins.
    pub offset: u64,
    /// The kind of the register.
    pub kind: PassedIn,
}

/// In which kind of register a part of a structure is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassedIn {
    /// An integer register.
    Integer,
    /// A vector register.
    Vector,
}

/// What is in a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentType {
    /// Fields; none of what is not known.
    Fields(Vec<FieldType>),
    /// Elements in a row elsewhere, which it points at.
    Sequence(SequenceType),
    /// One of several.
    Variants(VariantsType),
    /// One value so many bytes into it, which is all that people see in it.
    Wrapped(u64, Box<ValueType>),
}

/// A field of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldType {
    /// Its name.
    pub name: String,
    /// How many bytes into the structure it begins.
    pub offset: u64,
    /// Its type.
    pub ty: ValueType,
}

/// Elements in a row: a vector, a slice, a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceType {
    /// How many bytes into the structure there is the pointer to the first element.
    pub start: u64,
    /// What says how many there are.
    pub end: SequenceEnd,
    /// The elements.
    pub elements: ElementType,
}

/// What says how many elements there are, and how many bytes into the structure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceEnd {
    /// Their number.
    Count(u64),
    /// A pointer behind the last.
    Pointer(u64),
}

/// What a sequence has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// The bytes of a text.
    Text,
    /// Elements of so many bytes each.
    Elements(u64, Box<ValueType>),
}

/// Of these variants, one is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantsType {
    /// What the variants are called together; nothing where their own names say enough.
    pub name: String,
    /// How many bytes into the structure there is the number that says which, and its bytes. There is none where there is
    /// one variant.
    pub tag: Option<(u64, u8)>,
    /// They.
    pub variants: Vec<VariantType>,
}

/// A variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantType {
    /// Its name; nothing where its one field is all that people see.
    pub name: String,
    /// The tag's value; none of the variant that all other values stand for.
    pub tag: Option<u64>,
    /// Its fields.
    pub fields: Vec<FieldType>,
}

impl ContentType {
    /// Nothing that is known.
    pub const UNKNOWN: Self = Self::Fields(Vec::new());
}
