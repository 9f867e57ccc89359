//! One packet, of either kind.

use super::fields::Fields;
use super::layout::{METADATA_MAGIC, PREFIX_SIZE, min_size};
use super::{Error, Event, Field, Metadata};

/// A packet: a checked view of the bytes it was decoded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet<'a> {
    /// An option of the trace.
    Metadata(Metadata<'a>),
    /// Something that happened.
    Event(Event<'a>),
}

/// A packet with its offset in the trace, and its bytes for whoever passes it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framed<'a> {
    /// Where the packet starts.
    pub offset: u64,
    /// The whole packet, magic constant and size included.
    pub bytes: &'a [u8],
    /// What it says.
    pub packet: Packet<'a>,
}

impl<'a> Packet<'a> {
    /// Decodes `bytes` that are exactly one packet.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Error> {
        let prefix = Prefix::decode(bytes, 0)?.ok_or(Error::Truncated {
            offset: 0,
            needed: PREFIX_SIZE as u32,
            available: bytes.len() as u64,
        })?;
        let (size, available) = (u64::from(prefix.size), bytes.len() as u64);
        if available < size {
            return Err(Error::Truncated { offset: 0, needed: prefix.size, available });
        }
        if available > size {
            return Err(Error::TrailingBytes { offset: size, extra: available - size });
        }
        Ok(prefix.decode_packet(bytes)?.packet)
    }
}

/// The magic constant and the size: what a packet claims to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix {
    offset: u64,
    magic: u32,
    pub(super) size: u32,
}

impl Prefix {
    /// The claim at the start of `bytes`, which is at `offset` of the trace; nothing if more bytes are needed to see it.
    pub(super) fn decode(bytes: &[u8], offset: u64) -> Result<Option<Self>, Error> {
        let mut fields = Fields::new(bytes, offset);
        let Ok(magic) = fields.u32(Field::Header) else { return Ok(None) };
        let Some(minimum) = min_size(magic) else {
            return Err(Error::NotAPacket { offset, found: magic });
        };
        match fields.u32(Field::Header) {
            Ok(size) if size < minimum => Err(Error::PacketTooSmall { offset, size, minimum }),
            Ok(size) => Ok(Some(Self { offset, magic, size })),
            Err(_) => Ok(None),
        }
    }

    /// Decodes the claimed packet from `bytes`, which are all of it.
    pub(super) fn decode_packet<'a>(&self, bytes: &'a [u8]) -> Result<Framed<'a>, Error> {
        let fields = Fields::new(&bytes[PREFIX_SIZE..], self.offset + PREFIX_SIZE as u64);
        let packet = if self.magic == METADATA_MAGIC {
            Packet::Metadata(Metadata::decode(fields)?)
        } else {
            Packet::Event(Event::decode(fields, self.offset)?)
        };
        Ok(Framed { offset: self.offset, bytes, packet })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_packet_is_asked_for() {
        let packet = b"\x75\xD1\x1D\x4D\0\0\0\x0a\0\0";
        assert!(Packet::decode(packet).is_ok());
        assert_eq!(Packet::decode(&packet[..9]), Err(Error::Truncated { offset: 0, needed: 10, available: 9 }));
        assert_eq!(Packet::decode(&packet[..3]), Err(Error::Truncated { offset: 0, needed: 8, available: 3 }));
        let two = [packet.as_slice(), b"!"].concat();
        assert_eq!(Packet::decode(&two), Err(Error::TrailingBytes { offset: 10, extra: 1 }));
    }

    #[test]
    fn a_size_below_the_fixed_fields_is_refused() {
        let error = Packet::decode(b"\xC1\xFC\x1F\xB7\0\0\0\x29").expect_err("41 of 42 bytes");
        assert_eq!(error, Error::PacketTooSmall { offset: 0, size: 41, minimum: 42 });
    }
}
