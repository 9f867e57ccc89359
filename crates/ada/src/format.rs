//! How commands print what they found.

use clap::ValueEnum;

/// For whom a command prints.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}
