//! A group's key: the numbers of its values as the digits of one number.

/// A key that fits into one word, or into two.
pub(super) trait Key: Copy + Ord + Send + Sync {
    /// How many words it takes.
    const WORDS: usize;
    const LEAST: Self;
    const MOST: Self;

    /// One more digit behind the others, of so many that there are.
    fn with_digit(self, size: u64, digit: u64) -> Self;

    fn hash(self) -> u64;

    /// The same in two words.
    fn widened(self) -> u128;

    /// The key that was widened; the largest where it does not fit.
    fn narrowed(wide: u128) -> Self;

    /// Reads it from a row's first words.
    fn read(words: &[u64]) -> Self;

    fn write(self, words: &mut [u64]);
}

const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Key for u64 {
    const WORDS: usize = 1;
    const LEAST: Self = 0;
    const MOST: Self = u64::MAX;

    #[inline(always)]
    fn with_digit(self, size: u64, digit: u64) -> Self {
        self.wrapping_mul(size).wrapping_add(digit)
    }

    #[inline(always)]
    fn hash(self) -> u64 {
        // The upper half of the product depends on all of the key.
        (self ^ self >> 32).wrapping_mul(SPREAD)
    }

    #[inline(always)]
    fn widened(self) -> u128 {
        self.into()
    }

    fn narrowed(wide: u128) -> Self {
        Self::try_from(wide).unwrap_or(Self::MOST)
    }

    #[inline(always)]
    fn read(words: &[u64]) -> Self {
        words[0]
    }

    #[inline(always)]
    fn write(self, words: &mut [u64]) {
        words[0] = self;
    }
}

impl Key for u128 {
    const WORDS: usize = 2;
    const LEAST: Self = 0;
    const MOST: Self = u128::MAX;

    #[inline(always)]
    fn with_digit(self, size: u64, digit: u64) -> Self {
        self.wrapping_mul(size.into()).wrapping_add(digit.into())
    }

    #[inline(always)]
    fn hash(self) -> u64 {
        ((self >> 64) as u64).wrapping_mul(SPREAD).rotate_left(31).wrapping_add((self as u64).hash())
    }

    #[inline(always)]
    fn widened(self) -> u128 {
        self
    }

    fn narrowed(wide: u128) -> Self {
        wide
    }

    #[inline(always)]
    fn read(words: &[u64]) -> Self {
        u128::from(words[1]) << 64 | u128::from(words[0])
    }

    #[inline(always)]
    fn write(self, words: &mut [u64]) {
        (words[0], words[1]) = (self as u64, (self >> 64) as u64);
    }
}

/// The digits of a key, of so many in each place.
pub(super) fn digits(mut key: u128, sizes: &[u64], digits: &mut [u64]) {
    for (digit, size) in digits.iter_mut().zip(sizes).rev() {
        let size = u128::from(*size);
        (key, *digit) = (key / size, (key % size) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_back() {
        let narrow = 0_u64.with_digit(7, 6).with_digit(1 << 40, 12);
        let mut found = [0; 2];
        digits(narrow.widened(), &[7, 1 << 40], &mut found);
        assert_eq!(found, [6, 12]);
        let wide = 0_u128.with_digit(1 << 50, 5).with_digit(1 << 60, 7);
        let mut words = [0; 2];
        wide.write(&mut words);
        digits(u128::read(&words), &[1 << 50, 1 << 60], &mut found);
        assert_eq!(found, [5, 7]);
    }
}
