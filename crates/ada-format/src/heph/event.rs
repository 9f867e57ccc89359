//! Event packets.

use super::fields::Fields;
use super::{Attributes, Error, EventCounter, Field, Nanos, StreamId, SubstreamId};

/// What every event has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHead<'a> {
    /// The thread of execution it happened on.
    pub stream: StreamId,
    /// Its number in the stream.
    pub counter: EventCounter,
    /// The task, where the stream runs several by turns.
    pub substream: SubstreamId,
    /// When it started.
    pub start: Nanos,
    /// When it ended, never before `start`.
    pub end: Nanos,
    /// What happened.
    pub description: &'a str,
}

/// Something that happened, from when to when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// What every event has.
    pub head: EventHead<'a>,
    /// What this one has to add.
    pub attributes: Attributes<'a>,
}

impl<'a> Event<'a> {
    /// Decodes what follows the magic and the size of the packet that starts at `packet`.
    pub(super) fn decode(mut fields: Fields<'a>, packet: u64) -> Result<Self, Error> {
        let stream = StreamId(fields.u32(Field::Header)?);
        let counter = EventCounter(fields.u32(Field::Header)?);
        let substream = SubstreamId(fields.u64(Field::Header)?);
        let start = Nanos(fields.u64(Field::Header)?);
        let end = Nanos(fields.u64(Field::Header)?);
        if end < start {
            return Err(Error::ReadEndBeforeStart { offset: packet, start, end });
        }
        let description = fields.string(Field::Description)?;
        let attributes = Attributes::decode(fields)?;
        Ok(Self { head: EventHead { stream, counter, substream, start, end, description }, attributes })
    }
}
