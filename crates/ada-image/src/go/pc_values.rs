//! Values by address, as Go's tables have them: differences of value and address in turn, each of one to five bytes.

/// The values of one kind in a function: lines, files, stack heights.
pub(super) struct PcValues<'d> {
    bytes: &'d [u8],
    value: i32,
    /// From the function's start.
    end: u32,
    is_first: bool,
}

/// A value, and up to where it holds, from the function's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PcValue {
    pub(super) value: i32,
    pub(super) end: u32,
}

impl<'d> PcValues<'d> {
    /// From `bytes` on, which may go on behind the values.
    pub(super) fn new(bytes: &'d [u8]) -> Self {
        Self { bytes, value: -1, end: 0, is_first: true }
    }

    fn number(&mut self) -> Option<u32> {
        let mut number = 0u32;
        for shift in (0..35).step_by(7) {
            let (&byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            number |= u32::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}

impl Iterator for PcValues<'_> {
    type Item = PcValue;

    fn next(&mut self) -> Option<PcValue> {
        let difference = self.number()?;
        // Only the first may be 0: then the value is the one that all begin with.
        if difference == 0 && !self.is_first {
            self.bytes = &[];
            return None;
        }
        self.is_first = false;
        let magnitude = (difference >> 1) as i32;
        self.value = self.value.wrapping_add(if difference & 1 == 1 { !magnitude } else { magnitude });
        self.end = self.end.checked_add(self.number()?)?;
        Some(PcValue { value: self.value, end: self.end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_add_up() {
        // 0 for 4 bytes, 24 for 0x101, 0 again for 1.
        let bytes = [2, 4, 48, 0x81, 2, 47, 1, 0, 99];
        let values: Vec<_> = PcValues::new(&bytes).map(|it| (it.value, it.end)).collect();
        assert_eq!(values, [(0, 4), (24, 0x105), (0, 0x106)]);
    }

    #[test]
    fn the_first_difference_may_be_nothing() {
        assert_eq!(PcValues::new(&[0, 9, 0]).collect::<Vec<_>>(), [PcValue { value: -1, end: 9 }]);
    }

    #[test]
    fn what_ends_early_or_runs_on_has_no_more_values() {
        assert_eq!(PcValues::new(&[2]).count(), 0);
        assert_eq!(PcValues::new(&[0xff; 9]).count(), 0);
        let far = [2, 0xff, 0xff, 0xff, 0xff, 0x0f];
        assert_eq!(PcValues::new(&[&far[..], &far[..]].concat()).count(), 1, "addresses do not overflow");
    }
}
