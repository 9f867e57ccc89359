//! The attributes of an event: names with typed values.

use super::array::{Numbers, Strings};
use super::fields::Fields;
use super::layout::value_type::{ARRAY, F64, I64, STRING, U64};
use super::{Error, Field};

/// A name and its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attribute<'a> {
    /// What the value is called; nothing keeps an event from using a name twice.
    pub name: &'a str,
    /// The value.
    pub value: Value<'a>,
}

/// A value of one of the types that the format has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// An unsigned integer.
    U64(u64),
    /// A signed integer.
    I64(i64),
    /// A floating point number, its bits as they were sent.
    F64(f64),
    /// Text.
    String(&'a str),
    /// Unsigned integers.
    U64Array(Numbers<'a, u64>),
    /// Signed integers.
    I64Array(Numbers<'a, i64>),
    /// Floating point numbers.
    F64Array(Numbers<'a, f64>),
    /// Texts.
    StringArray(Strings<'a>),
}

impl<'a> Attribute<'a> {
    fn decode(fields: &mut Fields<'a>) -> Result<Self, Error> {
        let name = fields.string(Field::AttributeName)?;
        Ok(Self { name, value: Value::decode(fields)? })
    }
}

impl<'a> Value<'a> {
    fn decode(fields: &mut Fields<'a>) -> Result<Self, Error> {
        const U64_ARRAY: u8 = ARRAY | U64;
        const I64_ARRAY: u8 = ARRAY | I64;
        const F64_ARRAY: u8 = ARRAY | F64;
        const STRING_ARRAY: u8 = ARRAY | STRING;

        let offset = fields.offset();
        Ok(match fields.u8(Field::ValueType)? {
            U64 => Self::U64(fields.u64(Field::Value)?),
            I64 => Self::I64(fields.array(Field::Value).map(i64::from_be_bytes)?),
            F64 => Self::F64(fields.array(Field::Value).map(f64::from_be_bytes)?),
            STRING => Self::String(fields.string(Field::Value)?),
            U64_ARRAY => Self::U64Array(Numbers::decode(fields)?),
            I64_ARRAY => Self::I64Array(Numbers::decode(fields)?),
            F64_ARRAY => Self::F64Array(Numbers::decode(fields)?),
            STRING_ARRAY => Self::StringArray(Strings::decode(fields)?),
            ARRAY => return Err(Error::ArrayWithoutType { offset }),
            found => return Err(Error::UnknownValueType { offset, found }),
        })
    }
}

/// An event's attributes: checked when the event is decoded, and given out one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes<'a> {
    stored: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Checks everything to the end of the packet.
    pub(super) fn decode(mut fields: Fields<'a>) -> Result<Self, Error> {
        let stored = fields.rest();
        while !fields.is_empty() {
            Attribute::decode(&mut fields)?;
        }
        Ok(Self { stored })
    }

    /// Whether the event has none.
    pub const fn is_empty(&self) -> bool {
        self.stored.is_empty()
    }

    /// The attributes in the order in which they were sent.
    pub fn iter(&self) -> impl Iterator<Item = Attribute<'a>> + use<'a> {
        let mut fields = Fields::new(self.stored, 0);
        // `decode` has seen each of them, so it is the end of the bytes that ends the iteration.
        std::iter::from_fn(move || Attribute::decode(&mut fields).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> Result<Vec<Attribute<'_>>, Error> {
        Attributes::decode(Fields::new(bytes, 100)).map(|attributes| attributes.iter().collect())
    }

    #[test]
    fn scalars_of_each_type() {
        let values = |bytes| decode(bytes).map(|attributes| attributes[0].value);
        assert_eq!(values(b"\0\x01n\x01\0\0\0\0\0\0\0\x05"), Ok(Value::U64(5)));
        assert_eq!(values(b"\0\x01n\x02\xff\xff\xff\xff\xff\xff\xff\xfe"), Ok(Value::I64(-2)));
        assert_eq!(values(b"\0\x01n\x03\x3f\xf8\0\0\0\0\0\0"), Ok(Value::F64(1.5)));
        assert_eq!(values(b"\0\x01n\x04\0\x02hi"), Ok(Value::String("hi")));
    }

    #[test]
    fn a_lone_array_marker_is_invalid() {
        assert_eq!(decode(b"\0\x01n\x80\0\0"), Err(Error::ArrayWithoutType { offset: 103 }));
    }

    #[test]
    fn every_type_byte_but_the_eight_known_ones_is_invalid() {
        let known = [0x01, 0x02, 0x03, 0x04, 0x81, 0x82, 0x83, 0x84];
        for found in (0..=u8::MAX).filter(|byte| *byte != 0x80) {
            let bytes = [0, 1, b'n', found, 0, 0, 0, 0, 0, 0, 0, 0];
            let refused = decode(&bytes) == Err(Error::UnknownValueType { offset: 103, found });
            assert_eq!(refused, !known.contains(&found), "{found:#04x}");
        }
    }
}
