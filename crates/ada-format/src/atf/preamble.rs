//! The eight bytes that both files begin with.

use super::layout::{LITTLE_ENDIAN, VERSION, preamble};
use super::{Arch, AtfError, Os};

/// Checks magic, byte order and version as far as the bytes reach, so that a file that was cut inside its header is
/// still distinguished from one of another kind.
pub(crate) fn check(bytes: &[u8], magic: [u8; 4]) -> Result<(), AtfError> {
    let there = bytes.len().min(magic.len());
    if bytes[..there] != magic[..there] {
        let mut found = [0; 4];
        found[..there].copy_from_slice(&bytes[..there]);
        return Err(AtfError::Magic { offset: 0, found, expected: magic });
    }
    match bytes.get(preamble::ENDIAN) {
        Some(&found) if found != LITTLE_ENDIAN => {
            return Err(AtfError::Endian { offset: preamble::ENDIAN as u64, found });
        }
        _ => {}
    }
    match bytes.get(preamble::VERSION) {
        Some(&found) if found != VERSION => Err(AtfError::Version { offset: preamble::VERSION as u64, found }),
        _ => Ok(()),
    }
}

/// Writes the eight bytes.
pub(crate) fn write(bytes: &mut [u8], magic: [u8; 4], arch: Arch, os: Os) {
    bytes[..magic.len()].copy_from_slice(&magic);
    bytes[preamble::ENDIAN] = LITTLE_ENDIAN;
    bytes[preamble::VERSION] = VERSION;
    bytes[preamble::ARCH] = arch.0;
    bytes[preamble::OS] = os.0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_of_a_good_preamble_is_good() {
        let mut bytes = [0; 8];
        write(&mut bytes, *b"ATI2", Arch::X86_64, Os::LINUX);
        for len in 0..=bytes.len() {
            assert_eq!(check(&bytes[..len], *b"ATI2"), Ok(()));
        }
    }

    #[test]
    fn another_kind_of_file_is_refused_from_its_first_byte() {
        assert!(matches!(check(b"\x7f", *b"ATI2"), Err(AtfError::Magic { offset: 0, .. })));
        assert!(matches!(check(b"ATD2\x01\x01", *b"ATI2"), Err(AtfError::Magic { .. })));
        assert_eq!(check(b"ATI2\x02", *b"ATI2"), Err(AtfError::Endian { offset: 4, found: 2 }));
        assert_eq!(check(b"ATI2\x01\x03", *b"ATI2"), Err(AtfError::Version { offset: 5, found: 3 }));
    }
}
