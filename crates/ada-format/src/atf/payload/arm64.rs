//! The arm64 payload: the same layout for calls and returns.

use ada_event::{FunctionId, RuntimeAddr};

use super::{checked_stack_size, need, stack_size};
use crate::atf::layout::u64_at;
use crate::atf::{AtfError, WriteError};

const X: usize = 8;
const LR: usize = 72;
const FP: usize = 80;
const SP: usize = 88;
const STACK_SIZE: usize = 96;
const STACK: usize = 100;

/// Registers and stack on arm64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arm64Frame<'a> {
    /// Which function.
    pub function: FunctionId,
    /// `x0` to `x7`.
    pub x: [u64; 8],
    /// The link register: the return address.
    pub lr: RuntimeAddr,
    /// The frame pointer.
    pub fp: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The stack from `sp` upwards.
    pub stack: &'a [u8],
}

impl<'a> Arm64Frame<'a> {
    /// Reads a payload. Bytes after the stack are left alone: the format does not forbid them.
    pub(super) fn decode(bytes: &'a [u8], offset: u64) -> Result<Self, AtfError> {
        need(bytes, STACK, offset)?;
        let stack_end = STACK + stack_size(bytes, STACK_SIZE, offset)?;
        need(bytes, stack_end, offset)?;
        Ok(Self {
            function: FunctionId(u64_at(bytes, 0)),
            x: std::array::from_fn(|n| u64_at(bytes, X + 8 * n)),
            lr: RuntimeAddr(u64_at(bytes, LR)),
            fp: u64_at(bytes, FP),
            sp: u64_at(bytes, SP),
            stack: &bytes[STACK..stack_end],
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<(), WriteError> {
        let stack_size = checked_stack_size(self.stack)?;
        out.extend(self.function.0.to_le_bytes());
        out.extend(self.x.iter().flat_map(|value| value.to_le_bytes()));
        for value in [self.lr.0, self.fp, self.sp] {
            out.extend(value.to_le_bytes());
        }
        out.extend(stack_size.to_le_bytes());
        out.extend([0; 2]);
        out.extend_from_slice(self.stack);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_survives_a_round_trip_and_any_cut_is_noticed() {
        let frame = Arm64Frame {
            function: FunctionId(1),
            x: [2, 3, 4, 5, 6, 7, 8, 9],
            lr: RuntimeAddr(10),
            fp: 11,
            sp: 12,
            stack: b"stack",
        };
        let mut bytes = Vec::new();
        frame.encode(&mut bytes).unwrap();
        assert_eq!(bytes.len(), 105);
        assert_eq!(Arm64Frame::decode(&bytes, 0), Ok(frame));
        for len in 0..bytes.len() {
            assert!(matches!(Arm64Frame::decode(&bytes[..len], 7), Err(AtfError::PayloadTooShort { offset: 7, .. })));
        }
    }
}
