//! The numbers that the format document fixes.

/// Starts a metadata packet.
pub const METADATA_MAGIC: u32 = 0x75D1_1D4D;
/// Starts an event packet.
pub const EVENT_MAGIC: u32 = 0xC1FC_1FB7;
/// The name of the option that sets the trace's zero time.
pub const EPOCH: &str = "epoch";

/// The largest packet that is read unless the caller says otherwise: far above what programs send, and small enough
/// to hold in memory for each of many peers.
pub const DEFAULT_MAX_PACKET: u32 = 16 << 20;

/// The magic constant.
pub(super) const MAGIC_SIZE: usize = 4;
/// The magic constant and the packet's size.
pub(super) const PREFIX_SIZE: usize = MAGIC_SIZE + 4;
/// A metadata packet whose name and value are empty.
pub(super) const METADATA_MIN_SIZE: u32 = PREFIX_SIZE as u32 + 2;
/// An event packet whose description is empty and that has no attributes.
pub(super) const EVENT_MIN_SIZE: u32 = PREFIX_SIZE as u32 + 4 + 4 + 8 + 8 + 8 + 2;

/// The byte before an attribute's value.
pub(super) mod value_type {
    pub(in super::super) const U64: u8 = 0b0000_0001;
    pub(in super::super) const I64: u8 = 0b0000_0010;
    pub(in super::super) const F64: u8 = 0b0000_0011;
    pub(in super::super) const STRING: u8 = 0b0000_0100;
    /// Combined with one of the others; invalid alone.
    pub(in super::super) const ARRAY: u8 = 0b1000_0000;
}

/// The smallest size that a packet with this magic can have, or nothing if no packet starts with it.
pub(super) const fn min_size(magic: u32) -> Option<u32> {
    match magic {
        METADATA_MAGIC => Some(METADATA_MIN_SIZE),
        EVENT_MAGIC => Some(EVENT_MIN_SIZE),
        _ => None,
    }
}
