//! The two forms of a thread's files, and what they are called.

/// In which form a thread's files are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Store {
    /// ATF V2.
    #[default]
    Raw,
    /// The same in about a twentieth of the bytes.
    Packed,
    /// Events are counted and thrown away, to measure what writing them costs. What remains is no trace.
    Nothing,
}

impl Store {
    /// The name of a thread's file of events in this form.
    pub const fn index_file(self) -> &'static str {
        match self {
            Self::Raw | Self::Nothing => "index.atf",
            Self::Packed => "index.atp",
        }
    }

    /// The name of a thread's file of detail.
    pub const fn detail_file(self) -> &'static str {
        match self {
            Self::Raw | Self::Nothing => "detail.atf",
            Self::Packed => "detail.atp",
        }
    }
}
