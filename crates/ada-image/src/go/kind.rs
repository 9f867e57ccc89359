//! How Go's debug information says what kind of type a type is.

use gimli::DwAt;

/// The attribute of types that has the number of their kind.
pub(super) const GO_KIND: DwAt = DwAt(0x2900);

pub(super) const BOOL: u64 = 1;
pub(super) const INT: u64 = 2;
pub(super) const UINTPTR: u64 = 12;
pub(super) const FLOAT32: u64 = 13;
pub(super) const FLOAT64: u64 = 14;
pub(super) const COMPLEX64: u64 = 15;
pub(super) const COMPLEX128: u64 = 16;
pub(super) const ARRAY: u64 = 17;
pub(super) const CHAN: u64 = 18;
pub(super) const FUNC: u64 = 19;
pub(super) const INTERFACE: u64 = 20;
pub(super) const MAP: u64 = 21;
pub(super) const POINTER: u64 = 22;
pub(super) const SLICE: u64 = 23;
pub(super) const STRING: u64 = 24;
pub(super) const STRUCT: u64 = 25;
pub(super) const UNSAFE_POINTER: u64 = 26;
