//! Writes packets.

use std::io::{self, Write};

use super::encode_value::{EncodeValue, string_length, write_string};
use super::layout::{EVENT_MAGIC, EVENT_MIN_SIZE, METADATA_MAGIC, METADATA_MIN_SIZE, PREFIX_SIZE};
use super::{EPOCH, Error, EventHead, Field, Packet, UnixNanos};

/// Encodes packets one after the other into a buffer that it keeps.
///
/// A packet that the format cannot hold is refused and leaves nothing behind.
#[derive(Debug, Default)]
pub struct Encoder {
    buffer: Vec<u8>,
}

impl Encoder {
    /// An encoder without a packet.
    pub const fn new() -> Self {
        Self { buffer: Vec::new() }
    }

    /// The packets so far.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Forgets the packets, and keeps the memory for the next.
    pub fn clear(&mut self) {
        self.buffer.clear();
    }

    /// Writes the packets out and forgets them. If that fails, they are all still there.
    pub fn write_to(&mut self, mut output: impl Write) -> io::Result<()> {
        output.write_all(&self.buffer)?;
        self.clear();
        Ok(())
    }

    /// Adds a packet that sets the trace's zero time.
    pub fn epoch(&mut self, epoch: UnixNanos) -> Result<(), Error> {
        self.metadata(EPOCH, &epoch.0.to_be_bytes())
    }

    /// Adds a packet that sets the option `name`.
    pub fn metadata(&mut self, name: &str, value: &[u8]) -> Result<(), Error> {
        if name == EPOCH && value.len() != 8 {
            return Err(Error::WriteEpochLength { length: value.len() });
        }
        let name_length = string_length(name, Field::OptionName)?;
        let size = packet_size(u64::from(METADATA_MIN_SIZE) + u64::from(name_length) + value.len() as u64)?;
        self.buffer.extend_from_slice(&METADATA_MAGIC.to_be_bytes());
        self.buffer.extend_from_slice(&size.to_be_bytes());
        write_string(name, &mut self.buffer);
        self.buffer.extend_from_slice(value);
        Ok(())
    }

    /// Begins an event. It is there once it is [finished](EventEncoder::finish); dropped before, it is forgotten.
    pub fn event(&mut self, head: &EventHead<'_>) -> Result<EventEncoder<'_>, Error> {
        let EventHead { stream, counter, substream, start, end, description } = *head;
        if end < start {
            return Err(Error::WriteEndBeforeStart { start, end });
        }
        string_length(description, Field::Description)?;

        // One array for the fixed fields: a single check for room in the buffer.
        let mut fixed = [0; EVENT_MIN_SIZE as usize - 2];
        fixed[0..4].copy_from_slice(&EVENT_MAGIC.to_be_bytes());
        fixed[8..12].copy_from_slice(&stream.0.to_be_bytes());
        fixed[12..16].copy_from_slice(&counter.0.to_be_bytes());
        fixed[16..24].copy_from_slice(&substream.0.to_be_bytes());
        fixed[24..32].copy_from_slice(&start.0.to_be_bytes());
        fixed[32..40].copy_from_slice(&end.0.to_be_bytes());

        let packet = self.buffer.len();
        self.buffer.extend_from_slice(&fixed);
        write_string(description, &mut self.buffer);
        Ok(EventEncoder { buffer: &mut self.buffer, packet, finished: false })
    }

    /// Adds a packet that was decoded, byte for byte as it was.
    pub fn packet(&mut self, packet: &Packet<'_>) -> Result<(), Error> {
        match packet {
            Packet::Metadata(metadata) => self.metadata(metadata.name(), metadata.value()),
            Packet::Event(event) => {
                let mut encoder = self.event(&event.head)?;
                for attribute in event.attributes.iter() {
                    encoder = encoder.attribute(attribute.name, attribute.value)?;
                }
                encoder.finish()
            }
        }
    }
}

/// An event that is being encoded.
#[derive(Debug)]
#[must_use = "an event is written once it is finished"]
pub struct EventEncoder<'e> {
    buffer: &'e mut Vec<u8>,
    /// Where in the buffer the event starts.
    packet: usize,
    finished: bool,
}

impl EventEncoder<'_> {
    /// Adds an attribute.
    pub fn attribute(self, name: &str, value: impl EncodeValue) -> Result<Self, Error> {
        let name_length = string_length(name, Field::AttributeName)?;
        let so_far = (self.buffer.len() - self.packet) as u64;
        // Before the bytes are copied: a value can be much larger than the memory there is.
        packet_size(so_far + 2 + u64::from(name_length) + 1 + value.size()?)?;
        write_string(name, self.buffer);
        self.buffer.push(value.value_type());
        value.write(self.buffer);
        Ok(self)
    }

    /// Completes the event.
    pub fn finish(mut self) -> Result<(), Error> {
        let size = packet_size((self.buffer.len() - self.packet) as u64)?;
        self.buffer[self.packet + 4..self.packet + PREFIX_SIZE].copy_from_slice(&size.to_be_bytes());
        self.finished = true;
        Ok(())
    }
}

/// Takes back what was written of an event that is given up.
impl Drop for EventEncoder<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.buffer.truncate(self.packet);
        }
    }
}

fn packet_size(size: u64) -> Result<u32, Error> {
    u32::try_from(size).map_err(|_| Error::PacketOver4GiB { size })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heph::{EventCounter, Nanos, StreamId, SubstreamId};

    const HEAD: EventHead<'static> = EventHead {
        stream: StreamId(1),
        counter: EventCounter(2),
        substream: SubstreamId(3),
        start: Nanos(4),
        end: Nanos(5),
        description: "",
    };

    #[test]
    fn an_event_that_ends_before_it_starts_is_refused() {
        let error = Encoder::new().event(&EventHead { end: Nanos(3), ..HEAD }).expect_err("3 is before 4");
        assert_eq!(error, Error::WriteEndBeforeStart { start: Nanos(4), end: Nanos(3) });
    }

    #[test]
    fn long_names_are_refused_by_what_they_name() {
        let long = "x".repeat(65_536);
        let mut encoder = Encoder::new();
        let too_long = |field| Error::StringTooLong { field, length: 65_536 };
        assert_eq!(encoder.metadata(&long, &[]), Err(too_long(Field::OptionName)));
        assert_eq!(encoder.event(&EventHead { description: &long, ..HEAD }).err(), Some(too_long(Field::Description)));
        assert_eq!(
            encoder.event(&HEAD).and_then(|event| event.attribute(&long, 1_u64)).err(),
            Some(too_long(Field::AttributeName))
        );
        assert!(encoder.bytes().is_empty(), "what was refused leaves nothing behind");
    }

    #[test]
    fn a_packet_over_4_gib_is_refused_before_it_is_made() {
        let long = "x".repeat(65_535);
        let texts = vec![long.as_str(); 65_535];
        let mut encoder = Encoder::new();
        let refused = encoder.event(&HEAD).and_then(|event| event.attribute("texts", texts.as_slice())).err();
        assert_eq!(refused, Some(Error::PacketOver4GiB { size: 42 + 2 + 5 + 1 + 2 + 65_535 * 65_537 }));
        assert!(encoder.buffer.capacity() < 1000);
    }

    #[test]
    fn an_event_that_is_dropped_is_taken_back() {
        let mut encoder = Encoder::new();
        encoder.event(&HEAD).unwrap().finish().unwrap();
        drop(encoder.event(&HEAD).unwrap().attribute("half", 1_u64));
        assert_eq!(encoder.bytes().len(), 42);
    }

    #[test]
    fn an_epoch_is_eight_bytes() {
        assert_eq!(Encoder::new().metadata("epoch", b"1234"), Err(Error::WriteEpochLength { length: 4 }));
    }
}
