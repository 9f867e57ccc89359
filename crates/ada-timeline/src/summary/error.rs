//! What can be wrong with a summary's file.

/// Why a file is not the summary that is wanted. It is made anew then: nothing is in it that the span tables lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SummaryError {
    /// There is no file, or it cannot be read.
    #[error("the summary cannot be read")]
    Unreadable,
    /// It is shorter than its last part.
    #[error("{length} bytes are too few for a summary")]
    TooShort {
        /// How long it is.
        length: u64,
    },
    /// It does not end as summaries do.
    #[error("byte {offset}: this is no summary, or one of another version")]
    OtherFormat {
        /// Where its end should say so.
        offset: u64,
    },
    /// It is of other tables.
    #[error("byte {offset}: the summary is of other tables")]
    OtherTables {
        /// Where the key is.
        offset: u64,
    },
    /// Its parts are not as long as it says.
    #[error("byte {offset}: the summary's parts do not add up")]
    Lengths {
        /// Where the lengths are.
        offset: u64,
    },
    /// The directory says something that cannot be.
    #[error("byte {offset}: the summary's directory is wrong")]
    Directory {
        /// Where.
        offset: u64,
    },
    /// Something was changed.
    #[error("byte {offset}: the summary is not what its checksum says")]
    Checksum {
        /// Where the checksum is.
        offset: u64,
    },
}
