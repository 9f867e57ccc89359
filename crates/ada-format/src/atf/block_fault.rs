//! What can be wrong with a block of a packed file.

/// Why a block cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockFault {
    /// Its bytes are not those that its checksum was made of.
    #[error("its checksum is wrong")]
    Checksum,
    /// It ends before its events do.
    #[error("it ends too early")]
    Short,
    /// Bytes remain when all events are read.
    #[error("it goes on behind its last event")]
    Long,
    /// A number has more than 64 bits.
    #[error("a number in it has no end")]
    Number,
    /// It counts more events, functions or bytes than a block may have.
    #[error("it claims to be larger than a block may be")]
    TooLarge,
    /// It names a function that its list does not have.
    #[error("it names a function that it does not list")]
    Function,
    /// It has bits that mean nothing.
    #[error("it has a code without a meaning")]
    Code,
    /// Its compressed bytes cannot be decompressed.
    #[error("its compressed bytes are not")]
    Compression,
}
