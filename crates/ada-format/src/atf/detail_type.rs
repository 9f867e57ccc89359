//! What a detail record holds.

/// What a record holds, as the file's number for it. Numbers from 16 on are ada's own; readers skip those they do not
/// know by the record's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct DetailType(pub u16);

impl DetailType {
    /// Registers and stack when a function was entered.
    pub const CALL: Self = Self(3);
    /// Registers when it returned.
    pub const RETURN: Self = Self(4);
}
