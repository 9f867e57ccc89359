//! Types, as far as capturing and showing a value needs them.

mod aggregate;

pub use aggregate::{Content, Elements, Field, Part, Passing, Sequence, SequenceEnd, Variant, Variants};

use crate::name_set::NameSet;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// No value.
    Void,
    /// An integer.
    Integer {
        /// Whether it has a sign.
        is_signed: bool,
        /// How many bytes it has: 1, 2, 4, 8 or 16.
        bytes: u8,
        /// How it is written.
        style: Style,
    },
    /// True or false.
    Bool,
    /// A character.
    Char,
    /// A number with a fraction, of 4, 8 or 16 bytes. One of 16 is x87's.
    Float(u8),
    /// A pointer to a text that ends with a zero.
    Text,
    /// A pointer to bytes, and how many there are.
    Bytes(Length),
    /// A pointer to a socket's address, and how many bytes it has.
    Address(Length),
    /// A pointer to a value. `is_out` where the function writes it: it is read when the function returns.
    Reference {
        /// What is there.
        to: Box<Type>,
        /// Whether the function writes it.
        is_out: bool,
    },
    /// A pointer to where the address of who sent something is left, and a pointer to how many bytes it has.
    Source(Length),
    /// A pointer to a message that is sent, or received, whose address is read.
    Message {
        /// Whether it is received: then it is read when the function returns.
        is_out: bool,
    },
    /// A pointer to a list of descriptors for `poll`: the first is read at the call, and those that have room at the return, which
    /// say which of them were ready.
    PollList,
    /// A pointer to a set of descriptors for `select`, whose first words are read at the return.
    DescriptorSet,
    /// A pointer to whatever it is.
    Pointer,
    /// A pointer to a function.
    Code,
    /// A number whose values have names.
    Named(&'static NameSet),
    /// An enumeration of the program's.
    Enum {
        /// Whether its numbers have a sign.
        is_signed: bool,
        /// Its bytes.
        bytes: u8,
        /// Its values and their names.
        names: Vec<(i64, String)>,
    },
    /// A structure.
    Aggregate {
        /// Its bytes.
        bytes: u32,
        /// How it is passed.
        passing: Passing,
        /// What is in it.
        content: Content,
    },
    /// A pointer to a copy of what is passed: the caller has made it, and nobody sees the pointer.
    Copy(Box<Type>),
    /// So many characters in a row, in a structure.
    Characters(u32),
    /// Something of which is not even known where it is, nor where what follows it is.
    Unknown,
    /// A pointer that the user does not want to be followed.
    Redacted,
    /// Something that the compiler has done away with, or that is elsewhere than the calling convention says.
    OptimizedAway(Box<Type>),
}

/// How an integer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As people count.
    Decimal,
    /// Addresses and bits.
    Hex,
    /// Permissions.
    Octal,
    /// A file descriptor.
    Descriptor,
}

/// What says how long something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// The parameter of this number.
    Parameter(usize),
    /// What the function gives back.
    Result,
}

impl Type {
    /// An integer.
    pub const fn integer(is_signed: bool, bytes: u8) -> Self {
        Self::Integer { is_signed, bytes, style: Style::Decimal }
    }

    /// The `&str` of Rust and the `string` of Go, or, with the length first, C++'s `std::string_view`.
    pub fn slice(is_length_first: bool) -> Self {
        let parts = [0, 8].map(|offset| Part { offset, is_vector: false }).to_vec();
        let (passing, text) = match is_length_first {
            true => (Passing::Registers(parts), Sequence::text(8, 0)),
            false => (Passing::Apart(parts), Sequence::text(0, 8)),
        };
        Self::Aggregate { bytes: 16, passing, content: Content::Sequence(text) }
    }

    /// An interface of Go's, of which people see where its type is, or what leads to that. Behind it there is where its value is.
    pub fn interface() -> Self {
        let parts = [0, 8].map(|offset| Part { offset, is_vector: false }).to_vec();
        let content = Content::Wrapped(0, Box::new(Self::Pointer));
        Self::Aggregate { bytes: 16, passing: Passing::Registers(parts), content }
    }

    /// A pointer or reference to libstdc++'s `std::string`.
    pub fn string() -> Self {
        let content = Content::Sequence(Sequence::text(0, 8));
        let string = Self::Aggregate { bytes: 32, passing: Passing::Memory, content };
        Self::Reference { to: Box::new(string), is_out: false }
    }

    /// The structure that is passed, or that a pointer points at that is passed.
    pub(crate) fn structure(&self) -> Option<&Self> {
        match self {
            Self::Aggregate { .. } => Some(self),
            Self::Reference { to, .. } | Self::Copy(to) => {
                Some(&**to).filter(|to| matches!(to, Self::Aggregate { .. }))
            }
            _ => None,
        }
    }

    /// How many bytes a value of it has within a structure; none where that is not known.
    pub(crate) fn bytes(&self) -> Option<u32> {
        match self {
            Self::Integer { bytes, .. } | Self::Enum { bytes, .. } | Self::Float(bytes) => Some((*bytes).into()),
            Self::Bool | Self::Char => Some(1),
            Self::Named(_) => Some(4),
            Self::Characters(bytes) | Self::Aggregate { bytes, .. } => Some(*bytes),
            ty if ty.is_passed_as_pointer() => Some(8),
            _ => None,
        }
    }

    /// Whether a value is passed in a vector register.
    pub(crate) fn is_in_vector(&self) -> bool {
        matches!(self, Self::Float(4 | 8))
    }

    /// Whether it is a pointer, in one word.
    pub fn is_passed_as_pointer(&self) -> bool {
        self.is_captured() || matches!(self, Self::Pointer | Self::Code | Self::Redacted)
    }

    /// Whether it leads to the address of a socket.
    pub(crate) fn is_address(&self) -> bool {
        matches!(self, Self::Address(_) | Self::Source(_) | Self::Message { .. })
    }

    /// Whether it points at something that is captured.
    pub(crate) fn is_captured(&self) -> bool {
        matches!(
            self,
            Self::Text
                | Self::Copy(_)
                | Self::Bytes(_)
                | Self::Address(_)
                | Self::Reference { .. }
                | Self::Source(_)
                | Self::Message { .. }
                | Self::PollList
                | Self::DescriptorSet
        )
    }
}
