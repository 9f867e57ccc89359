//! Which functions a block may have: bits that its functions have set, and perhaps others too.

/// Bits for each function; with two of them set, one function in twenty that is not there seems to be.
const BITS_EACH: usize = 8;
/// The largest filter, in bytes.
const LARGEST: usize = 2048;

/// The filter of these functions: a power of two bytes.
pub(super) fn of(functions: impl ExactSizeIterator<Item = u64>) -> Vec<u8> {
    let bits = (functions.len() * BITS_EACH).next_power_of_two().clamp(64, LARGEST * 8);
    let mut bytes = vec![0; bits / 8];
    for function in functions {
        for bit in bits_of(function, bytes.len()) {
            bytes[bit / 8] |= 1 << (bit % 8);
        }
    }
    bytes
}

/// Whether a filter may have been made with a function.
pub(super) fn may_have(bytes: &[u8], function: u64) -> bool {
    bytes.is_empty() || bits_of(function, bytes.len()).iter().all(|bit| bytes[bit / 8] & 1 << (bit % 8) != 0)
}

fn bits_of(function: u64, bytes: usize) -> [usize; 2] {
    let hash = function.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    [(hash >> 48) as usize % (bytes * 8), (hash >> 24) as usize % (bytes * 8)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_and_few_others() {
        let functions: Vec<u64> = (0..700).map(|n| (n << 32) | (3 * n)).collect();
        let filter = of(functions.iter().copied());
        assert_eq!(filter.len(), 1024);
        assert!(functions.iter().all(|&function| may_have(&filter, function)));
        let others = (0..10_000_u64).filter(|&n| may_have(&filter, (n << 32) | (3 * n + 1))).count();
        assert!(others < 1000, "{others} of 10000");
        assert!(may_have(&[], 1));
    }
}
