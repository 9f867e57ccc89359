//! What functions are called with, and what they give back.
//!
//! A [`Prototype`] says which parameters a function has and of which type. [`Signature::of`] makes a capture program of it: what
//! is to be read from memory when the function is called, and when it returns. With what was captured, the signature gives
//! the values. [`known`] has the prototypes of the C library.
//!
//! A [`ValueTest`] is a condition on them.
//!
//! Prototypes have a [notation](notation), in which sessions keep them: what a session has captured can be read wherever it is,
//! by whatever version.
#![forbid(unsafe_code)]

mod call_line;
mod extended_float;
mod find_value;
mod followed;
mod name_set;
pub mod notation;
mod place;
mod printf_format;
mod prototype;
mod signature;
mod socket_address;
mod structure;
mod table;
mod ty;
mod value;
mod value_names;
mod value_test;

pub use call_line::{call_line, call_line_within, result_line};
pub use find_value::find_value;
pub use notation::NotationError;
pub use place::PartRegister;
pub use prototype::{Condition, Convention, Failure, Parameter, Prototype, Values};
pub use signature::{Captured, Outcome, Signature};
pub use table::{ByDefault, Known, is_c_library, is_cxx_library, known};
pub use ty::{Content, Elements, Field, Length, Part, Passing, Sequence, SequenceEnd, Style, Type, Variant, Variants};
pub use value::Value;
pub use value_test::{ERRNO, RESULT, ValueTest, ValueTestError};
