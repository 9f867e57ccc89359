//! The words that were written lately: what a function returns is soon another one's argument.

/// The last word for each index that words hash to.
pub(super) struct RecentWords([u64; PLACES]);

const PLACES: usize = 256;

impl Default for RecentWords {
    fn default() -> Self {
        Self([0; PLACES])
    }
}

impl RecentWords {
    /// Takes note of a word that differs so from what was expected; or says where it is found. Small differences are written
    /// in as little as an index takes, and are not kept.
    #[inline(always)]
    pub(super) fn find_or_add(&mut self, difference: u64, word: u64) -> Option<u8> {
        if difference >> 24 == 0 {
            return None;
        }
        let index = (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
        let recent = &mut self.0[usize::from(index)];
        if *recent == word {
            return Some(index);
        }
        *recent = word;
        None
    }

    /// The word at an index.
    #[inline]
    pub(super) fn at(&self, index: u8) -> u64 {
        self.0[usize::from(index)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_difference_is_written_once() {
        let mut recent = RecentWords::default();
        let word = 0x7fff_1234_5678;
        assert_eq!(recent.find_or_add(1, word), None);
        assert_eq!(recent.find_or_add(word, word), None);
        let index = recent.find_or_add(word ^ 0x1000_0000, word).unwrap();
        assert_eq!(recent.at(index), word);
        assert_eq!(recent.find_or_add(3, word), None);
    }
}
