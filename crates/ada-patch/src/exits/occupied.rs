//! The bytes of an image that patches use.

use ada_image::CodeRange;

/// One bit for each byte of code.
pub(crate) struct Occupied {
    ranges: Vec<(u64, Vec<u64>)>,
}

impl Occupied {
    pub(crate) fn new(ranges: &[CodeRange<'_>]) -> Self {
        Self { ranges: ranges.iter().map(|range| (range.start.0, vec![0; range.bytes.len().div_ceil(64)])).collect() }
    }

    pub(crate) fn is_free(&self, start: u64, length: u64) -> bool {
        (start..start.saturating_add(length)).all(|at| self.word(at).is_some_and(|(word, bit)| word & bit == 0))
    }

    pub(crate) fn take(&mut self, start: u64, length: u64) {
        for at in start..start.saturating_add(length) {
            if let Some((range, byte)) = self.find(at) {
                self.ranges[range].1[byte / 64] |= 1 << (byte % 64);
            }
        }
    }

    fn word(&self, at: u64) -> Option<(u64, u64)> {
        let (range, byte) = self.find(at)?;
        Some((self.ranges[range].1[byte / 64], 1 << (byte % 64)))
    }

    fn find(&self, at: u64) -> Option<(usize, usize)> {
        let range = self.ranges.partition_point(|(start, _)| *start <= at).checked_sub(1)?;
        let (start, words) = &self.ranges[range];
        let byte = usize::try_from(at - start).ok().filter(|byte| byte / 64 < words.len())?;
        Some((range, byte))
    }
}
