//! Shadow frames, as stubs address them.

use std::mem::offset_of;

use ada_ring::ShadowFrame;

/// Bytes from one frame to the next.
pub(super) const FRAME: i32 = ShadowFrame::SIZE as i32;
pub(super) const SLOT_WORD: i32 = offset_of!(ShadowFrame, slot_complement) as i32;
pub(super) const RETURN_ADDRESS: i32 = offset_of!(ShadowFrame, return_address) as i32;
pub(super) const FUNCTION: i32 = offset_of!(ShadowFrame, function) as i32;
pub(super) const RECORD: i32 = offset_of!(ShadowFrame, record_and_flags) as i32;
pub(super) const PROBE: i32 = offset_of!(ShadowFrame, probe) as i32;
