//! Arrays as attributes hold them: views of bytes that are already checked.

use std::fmt;
use std::marker::PhantomData;

use super::fields::Fields;
use super::{Error, Field};

/// A number that an array can hold.
pub trait Number: sealed::Number {}

impl Number for u64 {}
impl Number for i64 {}
impl Number for f64 {}

/// An array of numbers, decoded as it is iterated.
#[derive(Clone, Copy)]
pub struct Numbers<'a, T> {
    stored: &'a [[u8; 8]],
    number: PhantomData<T>,
}

impl<'a, T: Number> Numbers<'a, T> {
    pub(super) fn decode(fields: &mut Fields<'a>) -> Result<Self, Error> {
        let length = fields.u16(Field::Value)?;
        let (stored, _) = fields.bytes(usize::from(length) * 8, Field::Value)?.as_chunks();
        Ok(Self { stored, number: PhantomData })
    }

    /// How many numbers there are.
    pub const fn len(&self) -> usize {
        self.stored.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.stored.is_empty()
    }

    /// The numbers in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + use<'a, T> {
        self.stored.iter().map(|stored| T::from_stored(*stored))
    }

    pub(super) fn stored(&self) -> &'a [u8] {
        self.stored.as_flattened()
    }
}

/// By value, as for slices of the numbers: a NaN is unequal to itself.
impl<T: Number + PartialEq> PartialEq for Numbers<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Number + fmt::Debug> fmt::Debug for Numbers<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// An array of strings, decoded as it is iterated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Strings<'a> {
    stored: &'a [u8],
    length: u16,
}

impl<'a> Strings<'a> {
    pub(super) fn decode(fields: &mut Fields<'a>) -> Result<Self, Error> {
        let length = fields.u16(Field::Value)?;
        let before = fields.rest();
        for _ in 0..length {
            fields.string(Field::Value)?;
        }
        let stored = &before[..before.len() - fields.rest().len()];
        Ok(Self { stored, length })
    }

    /// How many strings there are.
    pub const fn len(&self) -> usize {
        self.length as usize
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let mut fields = Fields::new(self.stored, 0);
        // `decode` has seen each of them, so it is the end of the bytes that ends the iteration.
        std::iter::from_fn(move || fields.string(Field::Value).ok())
    }

    pub(super) const fn stored(&self) -> &'a [u8] {
        self.stored
    }
}

impl fmt::Debug for Strings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

pub(super) mod sealed {
    use crate::heph::layout::value_type;

    /// How a number is stored.
    pub trait Number: Copy {
        const TYPE: u8;
        fn from_stored(stored: [u8; 8]) -> Self;
        fn to_stored(self) -> [u8; 8];
    }

    macro_rules! stored_big_endian {
        ($($number:ty = $type:ident),*) => {$(
            impl Number for $number {
                const TYPE: u8 = value_type::$type;

                fn from_stored(stored: [u8; 8]) -> Self {
                    Self::from_be_bytes(stored)
                }

                fn to_stored(self) -> [u8; 8] {
                    self.to_be_bytes()
                }
            }
        )*};
    }

    stored_big_endian!(u64 = U64, i64 = I64, f64 = F64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_out_in_order_the_empty_ones_too() {
        let mut fields = Fields::new(b"\0\x03\0\x01a\0\0\0\x02bcREST", 0);
        let strings = Strings::decode(&mut fields).expect("a sound array");
        assert_eq!(strings.iter().collect::<Vec<_>>(), ["a", "", "bc"]);
        assert_eq!((strings.len(), fields.rest()), (3, b"REST".as_slice()));
    }

    #[test]
    fn an_array_that_reaches_past_the_packet_is_refused() {
        let error = Numbers::<u64>::decode(&mut Fields::new(b"\xff\xff12345678", 0)).expect_err("8 of 524280 bytes");
        assert_eq!(error, Error::FieldOutsidePacket { offset: 2, field: Field::Value, needed: 524_280, available: 8 });
    }
}
