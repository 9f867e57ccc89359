//! The codes of a block of events, which its writer and its reader share.

/// A control byte's two low bits: a return from the newest frame, a call that one of the two guesses names, or what the
/// list of functions says.
pub(super) const RETURN: u8 = 0;
pub(super) const CALL_FAR: u8 = 1;
pub(super) const CALL_NEAR: u8 = 2;
pub(super) const EXPLICIT: u8 = 3;

/// Its six high bits: nanoseconds beyond the usual time since the event before, or one of these, if the time is in the
/// list of that width.
pub(super) const TIME_8: u8 = 61;
pub(super) const TIME_16: u8 = 62;
pub(super) const TIME_64: u8 = 63;

/// In the list of functions: the event is in the list of escapes, with all its fields.
pub(super) const ESCAPE: u16 = u16::MAX;
/// Bits of an escape's first byte; the three lowest are its kind, or 0.
pub(super) const HAS_DEPTH: u8 = 8;
pub(super) const HAS_THREAD: u8 = 16;

/// Bytes of a payload before its first part.
pub(super) const PREFIX: usize = 40;
