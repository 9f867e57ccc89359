//! The shadow stack's frames: the calls that are open, and where they return to.

/// A call whose exit is yet to come. 32 bytes, so that five bits of its address are free.
///
/// A stub fills the entry above the newest frame first, and then moves the top over it. A handler that comes in
/// between leaves another slot word there, by which the stub sees that it has to fill the entry once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(32))]
pub struct ShadowFrame {
    /// Complement of the address of the frame's return slot; that of the sentinel is no slot, but where the stack ends, as far as is known.
    /// Complemented so that an older frame, whose slot lies higher, compares lower, and zeroed memory lowest.
    pub slot_complement: u64,
    /// Where the function returns to.
    pub return_address: u64,
    /// The function's number in its process.
    pub function: u32,
    /// The low half of the address of the frame's newest record, which may not be written yet; `FRAME_…` flags in the
    /// bits that its alignment leaves free.
    pub record_and_flags: u32,
    /// The number of the probe that the call is of, where [`FRAME_KEEPS_RESULT`] says so; and where [`Self::is_probed_by_agent`]
    /// does, if the probe has the role of Go's values.
    pub probe: u32,
}

/// The function of a probed call has gone on in another one, with which it will return.
pub const FRAME_GOES_ON: u32 = 1;
/// The function has returned, and its frame is about to be popped; the record is that of the return.
pub const FRAME_RETURNING: u32 = 2;
/// The call's values are captured, and the exit keeps what there is to keep of its return, without the agent.
pub const FRAME_KEEPS_RESULT: u32 = 4;
/// The function is a signal handler, and what it sees of the interrupted code was put right: see [`crate::origins`].
pub const FRAME_HANDLES: u32 = 8;

impl ShadowFrame {
    /// Bytes of a frame.
    pub const SIZE: usize = 32;
    /// The bits of [`Self::record_and_flags`] that are flags.
    pub const FLAGS: u32 = 15;

    /// The address of the frame's return slot. The word of a probed call whose exit is caught is one more than the
    /// complement, so that no exit takes it for its own without asking the agent; slots are aligned, which distinguishes them.
    pub const fn slot(&self) -> u64 {
        if self.is_marked() { self.slot_complement.wrapping_neg() } else { !self.slot_complement }
    }

    const fn is_marked(&self) -> bool {
        self.slot_complement.is_multiple_of(8) && self.slot_complement != 0
    }

    /// Whether it is that of a probed call whose exit the agent catches.
    pub const fn is_probed_by_agent(&self) -> bool {
        self.is_marked() && !self.has(FRAME_KEEPS_RESULT | FRAME_HANDLES)
    }

    /// Whether a `FRAME_…` bit is set.
    pub const fn has(&self, flag: u32) -> bool {
        self.record_and_flags & flag != 0
    }
}

const _: () = assert!(size_of::<ShadowFrame>() == ShadowFrame::SIZE);
