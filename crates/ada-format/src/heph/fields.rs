//! A cursor over the fields of one packet: every step is checked against the packet's end.

use super::{Error, Field};

/// What remains of a packet, and where that is in the trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    offset: u64,
}

impl<'a> Fields<'a> {
    /// The fields in `bytes`, whose first byte is at `offset` of the trace.
    pub(super) const fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self { rest: bytes, offset }
    }

    pub(super) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn bytes(&mut self, length: usize, field: Field) -> Result<&'a [u8], Error> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(self.outside(length, field));
        };
        self.advance(rest, length);
        Ok(taken)
    }

    pub(super) fn u8(&mut self, field: Field) -> Result<u8, Error> {
        self.array::<1>(field).map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self, field: Field) -> Result<u16, Error> {
        self.array(field).map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self, field: Field) -> Result<u32, Error> {
        self.array(field).map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self, field: Field) -> Result<u64, Error> {
        self.array(field).map(u64::from_be_bytes)
    }

    /// A 16-bit length and that many bytes of UTF-8.
    pub(super) fn string(&mut self, field: Field) -> Result<&'a str, Error> {
        let length = self.u16(field)?;
        let start = self.offset;
        let bytes = self.bytes(length.into(), field)?;
        str::from_utf8(bytes).map_err(|error| Error::NotUtf8 { offset: start + error.valid_up_to() as u64, field })
    }

    pub(super) fn array<const N: usize>(&mut self, field: Field) -> Result<[u8; N], Error> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.outside(N, field));
        };
        self.advance(rest, N);
        Ok(*taken)
    }

    fn advance(&mut self, rest: &'a [u8], by: usize) {
        self.rest = rest;
        self.offset += by as u64;
    }

    #[cold]
    fn outside(&self, needed: usize, field: Field) -> Error {
        Error::FieldOutsidePacket {
            offset: self.offset,
            field,
            needed: needed as u64,
            available: self.rest.len() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_may_end_with_the_packet_but_not_after_it() {
        let mut fields = Fields::new(b"\0\x02hi", 10);
        assert_eq!(fields.string(Field::Description), Ok("hi"));
        assert!(fields.is_empty());

        let mut fields = Fields::new(b"\0\x03hi", 10);
        assert_eq!(
            fields.string(Field::Description),
            Err(Error::FieldOutsidePacket { offset: 12, field: Field::Description, needed: 3, available: 2 })
        );
    }

    #[test]
    fn the_offset_of_bad_text_is_its_first_bad_byte() {
        let mut fields = Fields::new(b"\0\x03hi\xff", 10);
        assert_eq!(fields.string(Field::Value), Err(Error::NotUtf8 { offset: 14, field: Field::Value }));
    }
}
