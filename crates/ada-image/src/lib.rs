//! ELF images of x86-64 Linux: where their functions are, what they are called, and how their frames are laid out.
//!
//! Everything here takes bytes and never a path: the caller reads or maps the file, finds a separate debug file, and
//! says so. [`Image::parse`] looks at the headers, [`UnwindTable::parse`] evaluates `.eh_frame` into flat rows, and
//! [`FunctionTable::discover`] takes the union of what symbols and unwind tables know:
//!
//! ```no_run
//! use ada_image::{FunctionTable, Image, UnwindTable};
//!
//! let bytes = std::fs::read("/usr/bin/git")?;
//! let image = Image::parse(&bytes)?;
//! let unwind = UnwindTable::parse(&image);
//! let table = FunctionTable::discover(&image, &unwind, &[]);
//! for (index, function) in table.functions().iter().enumerate() {
//!     println!("{} {}", function.start, table.name(index).unwrap_or("?"));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The bytes are not trusted. What the kernel needs to load the image must be sound, or parsing fails; what only
//! tools need (section headers, symbols, unwind tables) may be missing or broken, and then yields what could be read
//! and a note of the first problem met.
//!
//! This crate decides nothing about hooking: a table lists what is a function, not what can be patched.
#![forbid(unsafe_code)]

mod build_id;
mod callers;
mod code_pointers;
mod code_range;
mod containers;
mod cpp_containers;
mod debug_image;
mod debug_info;
mod debug_sections;
mod demangle;
mod discovery;
mod dynamic;
mod eh_frame;
mod entry_place;
mod error;
mod function_table;
mod function_types;
mod go;
mod header;
mod image;
mod implementations;
mod landing_pads;
mod members;
mod mini_debug;
mod name_rank;
mod namespaces;
mod note;
mod padding;
mod relocations;
mod resolvers;
mod restartable_sequences;
mod row_program;
mod rust_containers;
mod rust_passing;
mod segment;
mod source_lines;
mod source_place;
mod sources;
mod start_code;
mod stored_table;
mod symbol_names;
mod symbol_table;
mod system_v;
mod type_reader;
mod unit_starts;
mod unwind_table;
mod value_type;
mod variants;
mod wildcards;
mod without_arguments;

pub use build_id::build_id;
pub use callers::{Callers, FrameRegisters, INSTRUCTION, STACK_POINTER};
pub use code_range::CodeRange;
pub use debug_image::DebugImage;
pub use debug_sections::has_debug_info;
pub use demangle::demangle;
pub use entry_place::{EntryPart, EntryPlace, PartPlace};
pub use error::ImageError;
pub use function_table::{Function, FunctionTable, function_table_hash};
pub use function_types::{FunctionType, function_types};
pub use go::{GoFunction, GoFunctionType, GoParameter, GoPlace, GoTable, GoType, go_function_types, is_of_go_library};
pub use image::{Image, ImageKind};
pub use implementations::IMPLEMENTATION;
pub use note::ControlFlowProtection;
pub use row_program::{Cfa, Row};
pub use segment::Segment;
pub use source_lines::SourceLines;
pub use source_place::SourcePlace;
pub use sources::Sources;
pub use stored_table::StoredTable;
pub use symbol_names::SymbolNames;
pub use unwind_table::{Fde, UnwindTable};
pub use value_type::{
    ContentType, ElementType, FieldType, PassedIn, Passing, RegisterPart, SequenceEnd, SequenceType, ValueType,
    VariantType, VariantsType,
};
pub use wildcards::{Wildcards, glob};
pub use without_arguments::without_arguments;
