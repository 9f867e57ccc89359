//! Two address spaces that must never mix: where code lies in its file, and where it lies in a process.

use core::fmt;

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
}
