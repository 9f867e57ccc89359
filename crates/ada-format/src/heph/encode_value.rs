//! How values become bytes.

use super::array::{Number, Numbers, Strings};
use super::layout::value_type::{ARRAY, STRING};
use super::{Error, Field, Value};

/// A value that an attribute can have: the numbers `u64`, `i64` and `f64`, strings, slices of each, and what was
/// decoded.
pub trait EncodeValue: sealed::EncodeValue {}

impl<T: sealed::EncodeValue> EncodeValue for T {}

pub(super) mod sealed {
    use super::Error;

    pub trait EncodeValue {
        fn value_type(&self) -> u8;
        /// The bytes it takes after its type; an error if the format cannot hold it.
        fn size(&self) -> Result<u64, Error>;
        /// Appends what `size` has approved.
        fn write(&self, out: &mut Vec<u8>);
    }
}

/// The length of text as the format stores it.
pub(super) fn string_length(text: &str, field: Field) -> Result<u16, Error> {
    u16::try_from(text.len()).map_err(|_| Error::StringTooLong { field, length: text.len() })
}

fn array_length(length: usize) -> Result<u16, Error> {
    u16::try_from(length).map_err(|_| Error::ArrayTooLong { length })
}

/// Appends text whose length is checked.
pub(super) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&(text.len() as u16).to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

impl<T: Number> sealed::EncodeValue for T {
    fn value_type(&self) -> u8 {
        T::TYPE
    }

    fn size(&self) -> Result<u64, Error> {
        Ok(8)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_stored());
    }
}

impl sealed::EncodeValue for &str {
    fn value_type(&self) -> u8 {
        STRING
    }

    fn size(&self) -> Result<u64, Error> {
        Ok(2 + u64::from(string_length(self, Field::Value)?))
    }

    fn write(&self, out: &mut Vec<u8>) {
        write_string(self, out);
    }
}

impl<T: Number> sealed::EncodeValue for &[T] {
    fn value_type(&self) -> u8 {
        ARRAY | T::TYPE
    }

    fn size(&self) -> Result<u64, Error> {
        Ok(2 + 8 * u64::from(array_length(self.len())?))
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.len() as u16).to_be_bytes());
        out.extend(self.iter().flat_map(|number| number.to_stored()));
    }
}

impl sealed::EncodeValue for &[&str] {
    fn value_type(&self) -> u8 {
        ARRAY | STRING
    }

    fn size(&self) -> Result<u64, Error> {
        array_length(self.len())?;
        self.iter().try_fold(2, |size, text| Ok(size + text.size()?))
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.len() as u16).to_be_bytes());
        for text in *self {
            write_string(text, out);
        }
    }
}

impl<T: Number> sealed::EncodeValue for Numbers<'_, T> {
    fn value_type(&self) -> u8 {
        ARRAY | T::TYPE
    }

    fn size(&self) -> Result<u64, Error> {
        Ok(2 + self.stored().len() as u64)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.len() as u16).to_be_bytes());
        out.extend_from_slice(self.stored());
    }
}

impl sealed::EncodeValue for Strings<'_> {
    fn value_type(&self) -> u8 {
        ARRAY | STRING
    }

    fn size(&self) -> Result<u64, Error> {
        Ok(2 + self.stored().len() as u64)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.len() as u16).to_be_bytes());
        out.extend_from_slice(self.stored());
    }
}

macro_rules! for_each_type {
    ($value:expr, $inner:ident => $result:expr) => {
        match $value {
            Value::U64($inner) => $result,
            Value::I64($inner) => $result,
            Value::F64($inner) => $result,
            Value::String($inner) => $result,
            Value::U64Array($inner) => $result,
            Value::I64Array($inner) => $result,
            Value::F64Array($inner) => $result,
            Value::StringArray($inner) => $result,
        }
    };
}

impl sealed::EncodeValue for Value<'_> {
    fn value_type(&self) -> u8 {
        for_each_type!(self, value => value.value_type())
    }

    fn size(&self) -> Result<u64, Error> {
        for_each_type!(self, value => value.size())
    }

    fn write(&self, out: &mut Vec<u8>) {
        for_each_type!(self, value => value.write(out));
    }
}

#[cfg(test)]
mod tests {
    use super::sealed::EncodeValue;
    use super::*;

    #[test]
    fn sizes_are_those_of_what_is_written() {
        fn check(value: impl EncodeValue, expected: u64) {
            let mut out = Vec::new();
            value.write(&mut out);
            assert_eq!((value.size(), out.len() as u64), (Ok(expected), expected));
        }
        check(1_u64, 8);
        check(-1_i64, 8);
        check(f64::NAN, 8);
        check("abc", 5);
        check([1_u64, 2].as_slice(), 18);
        check(["a", ""].as_slice(), 7);
    }

    #[test]
    fn lengths_beyond_16_bits_are_refused() {
        let long = "x".repeat(65_536);
        assert_eq!(long.as_str().size(), Err(Error::StringTooLong { field: Field::Value, length: 65_536 }));
        assert_eq!((&long[1..]).size(), Ok(65_537));
        assert_eq!(vec![0_u64; 65_536].as_slice().size(), Err(Error::ArrayTooLong { length: 65_536 }));
        assert_eq!(vec![0_u64; 65_535].as_slice().size(), Ok(2 + 65_535 * 8));
        assert_eq!(vec![""; 65_536].as_slice().size(), Err(Error::ArrayTooLong { length: 65_536 }));
    }
}
