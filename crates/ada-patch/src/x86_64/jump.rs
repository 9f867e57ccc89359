//! The jumps that patches are made of.

use ada_event::RuntimeAddr;

use crate::SkipReason;

/// Bytes of the jump to a stub.
pub(crate) const JUMP_BYTES: usize = 5;
/// Bytes of the jump to a relay nearby.
pub(crate) const SHORT_JUMP_BYTES: usize = 2;

/// `jmp rel8` over a distance, counted from the jump's first byte, if that is near enough.
pub(crate) fn short_jump(distance: u64) -> Option<[u8; SHORT_JUMP_BYTES]> {
    let distance = distance.wrapping_sub(SHORT_JUMP_BYTES as u64) as i64;
    i8::try_from(distance).ok().map(|distance| [0xeb, distance as u8])
}

/// `jmp rel32` from `at` to `target`.
pub(crate) fn push_jump(at: RuntimeAddr, target: RuntimeAddr, out: &mut Vec<u8>) -> Result<(), SkipReason> {
    let distance = target.0.wrapping_sub(at.0 + JUMP_BYTES as u64) as i64;
    let distance = i32::try_from(distance).map_err(|_| SkipReason::NoRoom)?;
    out.push(0xe9);
    out.extend_from_slice(&distance.to_le_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_jump_reaches_127_bytes() {
        assert_eq!(short_jump(2 + 127), Some([0xeb, 0x7f]));
        assert_eq!(short_jump(0_u64.wrapping_sub(126)), Some([0xeb, 0x80]));
        assert_eq!(short_jump(2 + 128), None);
        assert_eq!(short_jump(0_u64.wrapping_sub(127)), None);
    }
}
