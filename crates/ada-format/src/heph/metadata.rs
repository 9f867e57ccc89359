//! Metadata packets: one option of the trace each.

use super::fields::Fields;
use super::{EPOCH, Error, Field, UnixNanos};

/// An option that holds for the whole trace. Options other than `epoch` are kept as they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata<'a> {
    name: &'a str,
    value: &'a [u8],
}

impl<'a> Metadata<'a> {
    /// Decodes what follows the packet's magic and size.
    pub(super) fn decode(mut fields: Fields<'a>) -> Result<Self, Error> {
        let name = fields.string(Field::OptionName)?;
        let metadata = Self { name, value: fields.rest() };
        if name == EPOCH && metadata.epoch().is_none() {
            return Err(Error::EpochLength { offset: fields.offset(), length: fields.rest().len() as u64 });
        }
        Ok(metadata)
    }

    /// The option's name.
    pub const fn name(&self) -> &'a str {
        self.name
    }

    /// The option's value, whose layout only the option knows.
    pub const fn value(&self) -> &'a [u8] {
        self.value
    }

    /// The trace's zero time, if that is the option.
    pub fn epoch(&self) -> Option<UnixNanos> {
        let stored = <[u8; 8]>::try_from(self.value).ok()?;
        (self.name == EPOCH).then(|| UnixNanos(u64::from_be_bytes(stored)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_option_is_kept() {
        let metadata = Metadata::decode(Fields::new(b"\0\x04host\x01\x02\x03", 8)).expect("a sound option");
        assert_eq!((metadata.name(), metadata.value()), ("host", [1, 2, 3].as_slice()));
        assert_eq!(metadata.epoch(), None);
    }

    #[test]
    fn an_eight_byte_option_of_another_name_is_no_epoch() {
        let metadata = Metadata::decode(Fields::new(b"\0\x05Epoch\0\0\0\0\0\0\0\x01", 8)).expect("a sound option");
        assert_eq!(metadata.epoch(), None);
    }

    #[test]
    fn an_epoch_of_seven_bytes_is_refused() {
        let error = Metadata::decode(Fields::new(b"\0\x05epoch1234567", 8)).expect_err("7 bytes");
        assert_eq!(error, Error::EpochLength { offset: 15, length: 7 });
    }
}
