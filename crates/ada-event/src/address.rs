//! Two address spaces that must never mix: where code lies in its file, and where it lies in a process.

use core::fmt;
use core::ops::{Add, AddAssign, Sub, SubAssign};

/// A virtual address as the image's own headers state it, before the loader added a base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ImageOffset(pub u64);

/// An address in a running process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct RuntimeAddr(pub u64);

impl ImageOffset {
    /// Where this offset lies once the image is loaded with `bias` added to each of its addresses.
    /// Wraps, as the loader's own arithmetic does.
    pub const fn at_bias(self, bias: u64) -> RuntimeAddr {
        RuntimeAddr(self.0.wrapping_add(bias))
    }
}

impl RuntimeAddr {
    /// The offset in an image that was loaded with `bias`.
    pub const fn in_image(self, bias: u64) -> ImageOffset {
        ImageOffset(self.0.wrapping_sub(bias))
    }

    /// The address so many bytes further on. Wraps, so that a distance can also lead back.
    #[inline]
    pub const fn wrapping_add(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// How many bytes it is after another. Wraps, so that adding them to that one always leads here.
    #[inline]
    pub const fn wrapping_sub(self, other: Self) -> u64 {
        self.0.wrapping_sub(other.0)
    }

    /// How many bytes it is after another, if it is not before it.
    #[inline]
    pub const fn checked_sub(self, other: Self) -> Option<u64> {
        self.0.checked_sub(other.0)
    }

    /// The start of the block that it is in; blocks have so many bytes, a power of two.
    #[inline]
    pub const fn align_down(self, bytes: u64) -> Self {
        Self(self.0 & !(bytes - 1))
    }

    /// The first start of a block that is not before it.
    #[inline]
    pub const fn align_up(self, bytes: u64) -> Self {
        Self(self.0.next_multiple_of(bytes))
    }
}

impl Add<u64> for RuntimeAddr {
    type Output = Self;

    #[inline]
    fn add(self, bytes: u64) -> Self {
        Self(self.0 + bytes)
    }
}

impl AddAssign<u64> for RuntimeAddr {
    #[inline]
    fn add_assign(&mut self, bytes: u64) {
        self.0 += bytes;
    }
}

impl Sub<u64> for RuntimeAddr {
    type Output = Self;

    #[inline]
    fn sub(self, bytes: u64) -> Self {
        Self(self.0 - bytes)
    }
}

impl SubAssign<u64> for RuntimeAddr {
    #[inline]
    fn sub_assign(&mut self, bytes: u64) {
        self.0 -= bytes;
    }
}

/// How many bytes one address is after another.
impl Sub for RuntimeAddr {
    type Output = u64;

    #[inline]
    fn sub(self, other: Self) -> u64 {
        self.0 - other.0
    }
}

impl fmt::Display for ImageOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{:#x}", self.0)
    }
}

impl fmt::Display for RuntimeAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

macro_rules! hex_as_number {
    ($($address:ty),*) => {$(
        impl fmt::LowerHex for $address {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::LowerHex::fmt(&self.0, f)
            }
        }
    )*};
}

hex_as_number!(ImageOffset, RuntimeAddr);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_survives_the_way_through_a_process() {
        let bias = 0x7f00_0000_0000;
        assert_eq!(ImageOffset(0x1234).at_bias(bias), RuntimeAddr(0x7f00_0000_1234));
        assert_eq!(RuntimeAddr(0x7f00_0000_1234).in_image(bias), ImageOffset(0x1234));
        assert_eq!(ImageOffset(u64::MAX).at_bias(1).in_image(1), ImageOffset(u64::MAX));
    }

    #[test]
    fn addresses_are_bytes_apart() {
        let (low, high) = (RuntimeAddr(0x1000), RuntimeAddr(0x1801));
        assert_eq!((high - low, low + 0x801, high - 0x801_u64), (0x801, high, low));
        assert_eq!((low.checked_sub(high), low.wrapping_add(high.wrapping_sub(low))), (None, high));
        assert_eq!((high.align_down(4096), high.align_up(4096), low.align_up(4096)), (low, RuntimeAddr(0x2000), low));
    }
}
