//! Mini debug info: an xz-compressed ELF file with the symbols that `strip` would lose, as Fedora ships it.
//!
//! Only the container is read here, without its checksums: the contents are parsed as hostile bytes anyway, and so the
//! hashes that xz may use need no crates. The container's chunk headers state how much comes out of each, so that the
//! size is known, and limited, before anything is decompressed.

use std::io::Read;

use lzma_rust2::Lzma2Reader;

use crate::ImageError;

/// No symbol table is larger; a small hostile section can be made to expand a thousandfold.
const MAX_SIZE: usize = 256 << 20;

const STREAM_MAGIC: &[u8] = b"\xfd7zXZ\0";
const STREAM_HEADER_SIZE: usize = 12;
const INDEX_INDICATOR: u8 = 0;
const FILTER_LZMA2: u8 = 0x21;
/// Bytes of the checksum after each block, by the low bits of the stream's flags.
const CHECK_SIZES: [usize; 16] = [0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64];

/// Decompresses the contents of a `.gnu_debugdata` section.
pub(crate) fn decompress(xz: &[u8]) -> Result<Vec<u8>, ImageError> {
    let bad = |offset, reason| ImageError::BadMiniDebugInfo { offset, reason };
    if !xz.starts_with(STREAM_MAGIC) {
        return Err(bad(0, "not xz"));
    }
    let flags = *xz.get(7).ok_or(bad(7, "ends within the stream header"))?;
    let check_size = CHECK_SIZES[usize::from(flags & 15)];
    let mut output = Vec::new();
    let mut at = STREAM_HEADER_SIZE;
    loop {
        let rest = xz.get(at..).unwrap_or_default();
        match rest.first() {
            None => return Err(bad(at, "ends without an index")),
            Some(&INDEX_INDICATOR) => return Ok(output),
            Some(&size) => {
                let header = rest.get(..(usize::from(size) + 1) * 4).ok_or(bad(at, "ends within a block header"))?;
                let dictionary = dictionary_size(header).ok_or(bad(at, "a block that is not plain LZMA2"))?;
                at += header.len();
                let chunks = Chunks::measure(&xz[at..]).ok_or(bad(at, "ends within a block"))?;
                if chunks.unpacked > MAX_SIZE - output.len() {
                    return Err(bad(at, "too large when decompressed"));
                }
                // A dictionary never needs to reach back further than the block does.
                let dictionary = dictionary.min(chunks.unpacked as u32);
                let mut unpacked = Lzma2Reader::new(&xz[at..at + chunks.packed], dictionary, None);
                let read = unpacked.by_ref().take(chunks.unpacked as u64).read_to_end(&mut output);
                read.map_err(|_| bad(at, "a broken LZMA2 chunk"))?;
                at += chunks.packed.next_multiple_of(4) + check_size;
            }
        }
    }
}

/// The dictionary size that a block header states, if LZMA2 is the block's only filter.
fn dictionary_size(header: &[u8]) -> Option<u32> {
    let flags = *header.get(1)?;
    let filters = (flags & 3) + 1;
    let mut at = 2;
    for present in [flags & 0x40, flags & 0x80] {
        if present != 0 {
            // The block's sizes, as numbers of seven bits a byte; the chunks have them more exactly.
            while header.get(at)? & 0x80 != 0 {
                at += 1;
            }
            at += 1;
        }
    }
    let [FILTER_LZMA2, 1, exponent @ 0..=40] = *header.get(at..at + 3)? else { return None };
    (filters == 1).then_some(match exponent {
        40 => u32::MAX,
        _ => (2 | u32::from(exponent & 1)) << (exponent / 2 + 11),
    })
}

/// The extent of a run of LZMA2 chunks.
struct Chunks {
    packed: usize,
    unpacked: usize,
}

impl Chunks {
    fn measure(bytes: &[u8]) -> Option<Self> {
        let (mut packed, mut unpacked) = (0, 0);
        loop {
            let rest = bytes.get(packed..)?;
            let control = *rest.first()?;
            let number = |at: usize| Some(usize::from(u16::from_be_bytes([*rest.get(at)?, *rest.get(at + 1)?])));
            match control {
                0 => return Some(Self { packed: packed + 1, unpacked }),
                1 | 2 => {
                    let size = number(1)? + 1;
                    unpacked += size;
                    packed += 3 + size;
                }
                0x80.. => {
                    unpacked += (usize::from(control & 0x1f) << 16) + number(1)? + 1;
                    packed += 5 + usize::from(control >= 0xc0) + number(3)? + 1;
                }
                _ => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf 'mini debug info, mini debug info' | xz`
    const HELLO_XZ: &[u8] = include_bytes!("../tests/data/hello.xz");

    #[test]
    fn what_xz_packs_is_unpacked() {
        assert_eq!(decompress(HELLO_XZ).unwrap(), b"mini debug info, mini debug info");
    }

    #[test]
    fn a_cut_or_foreign_stream_is_an_error_with_its_offset() {
        for length in 0..HELLO_XZ.len() - 12 {
            if let Ok(bytes) = decompress(&HELLO_XZ[..length]) {
                assert_eq!(bytes, b"mini debug info, mini debug info");
            }
        }
        assert_eq!(decompress(b"PK").err(), Some(ImageError::BadMiniDebugInfo { offset: 0, reason: "not xz" }));
    }

    #[test]
    fn a_stream_that_promises_too_much_is_refused_before_it_is_unpacked() {
        let mut bomb = HELLO_XZ[..24].to_vec();
        for _ in 0..200 {
            // A chunk of two megabytes that come out of one byte.
            bomb.extend([0xff, 0xff, 0xff, 0, 0, 0x5d, 0]);
        }
        bomb.push(0);
        let error = ImageError::BadMiniDebugInfo { offset: 24, reason: "too large when decompressed" };
        assert_eq!(decompress(&bomb).err(), Some(error));
    }
}
