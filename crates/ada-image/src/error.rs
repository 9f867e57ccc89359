//! What can be wrong with an image.

use ada_event::ImageOffset;

/// Why bytes are no image that ada can work with, or which part of an image could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The first bytes are not ELF's.
    #[error("not an ELF file")]
    NotElf,
    /// A 32-bit image, or one of a class that does not exist.
    #[error("not a 64-bit ELF file (class {class})")]
    Not64Bit {
        /// `EI_CLASS`, byte 4 of the file.
        class: u8,
    },
    /// A big-endian image, or one of an encoding that does not exist.
    #[error("not a little-endian ELF file (encoding {encoding})")]
    NotLittleEndian {
        /// `EI_DATA`, byte 5 of the file.
        encoding: u8,
    },
    /// An image for another processor.
    #[error("not for x86-64 (ELF machine {machine})")]
    WrongMachine {
        /// `e_machine`.
        machine: u16,
    },
    /// An object file, a core dump or something else that no loader maps.
    #[error("neither a program nor a shared library (ELF type {elf_type})")]
    NotLoadable {
        /// `e_type`.
        elf_type: u16,
    },
    /// A part of the file that the headers promise is not there, or not as it must be.
    #[error("{part} at file offset {offset:#x}: {reason}")]
    Malformed {
        /// Which part.
        part: &'static str,
        /// Where the part starts, in the file.
        offset: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An entry of `.eh_frame` that could not be read.
    #[error("unwind entry at {entry}: {reason}")]
    BadUnwindEntry {
        /// Where the entry lies in the image.
        entry: ImageOffset,
        /// What is wrong with it.
        reason: gimli::Error,
    },
    /// An exception table of `.gcc_except_table` that could not be read.
    #[error("exception table at {table}: {reason}")]
    BadExceptionTable {
        /// Where the table lies in the image.
        table: ImageOffset,
        /// What is wrong with it.
        reason: gimli::Error,
    },
    /// A table of Go's linker, `.gopclntab`, that could not be read.
    #[error("Go's table of functions at {table}, byte {offset:#x}: {reason}")]
    BadGoTable {
        /// Where the table lies in the image.
        table: ImageOffset,
        /// Which of its bytes is wrong.
        offset: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Mini debug info that could not be decompressed.
    #[error("mini debug info, byte {offset:#x} of .gnu_debugdata: {reason}")]
    BadMiniDebugInfo {
        /// How far into the section reading came.
        offset: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
}
