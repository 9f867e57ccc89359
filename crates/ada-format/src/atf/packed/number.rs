//! Numbers of varying length: seven bits a byte, the lowest first, the top bit says that more follow.

use crate::atf::BlockFault;

/// Appends a number.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a number that may be negative, small where it is near zero.
pub(super) fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    put(bytes, (number.wrapping_shl(1) ^ (number >> 63)) as u64);
}

/// Takes a number off the front.
pub(super) fn take(bytes: &mut &[u8]) -> Result<u64, BlockFault> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let [byte, rest @ ..] = bytes else { return Err(BlockFault::Short) };
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(BlockFault::Number)
}

/// Takes a number off the front that may be negative.
pub(super) fn take_signed(bytes: &mut &[u8]) -> Result<i64, BlockFault> {
    let number = take(bytes)?;
    Ok((number >> 1) as i64 ^ -((number & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_reads_back(number: u64, signed: i64) {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            put_signed(&mut bytes, signed);
            let mut rest = &bytes[..];
            prop_assert_eq!(take(&mut rest), Ok(number));
            prop_assert_eq!(take_signed(&mut rest), Ok(signed));
            prop_assert!(rest.is_empty());
        }
    }

    #[test]
    fn a_number_without_end_is_refused() {
        assert_eq!(take(&mut &[0x80; 11][..]), Err(BlockFault::Number));
        assert_eq!(take(&mut &[0x80; 3][..]), Err(BlockFault::Short));
    }
}
