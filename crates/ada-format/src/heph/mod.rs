//! The Heph trace format 0.1.0: packets of metadata and events, big-endian.
//!
//! A trace is packets one after the other, in a file, a TCP stream or datagrams. Decoding borrows: a [`Packet`] is a
//! checked view of the bytes it came from.
//!
//! | the bytes are | use |
//! | --- | --- |
//! | in memory: a file, one datagram | [`Packets`] |
//! | behind a [`Read`](std::io::Read): a file, standard input, a socket | [`PacketReader`] |
//! | handed over in pieces by somebody else's loop | [`Decoder`] |
//!
//! All three find the same packets and the same [`Error`]s at the same offsets, however the bytes are cut. A bad
//! packet is one error; reading then goes on at the next magic constant. Memory is bounded by the largest packet
//! that the caller allows, not by what the input claims.
//!
//! [`Encoder`] writes packets, [`EventCounters`] finds the events that were missed and [`parents`] finds which event
//! caused which. Nothing here reads a clock, opens a file or prints.
//!
//! ```
//! use ada_format::heph::{Encoder, EventCounter, EventHead, Nanos, Packet, Packets, StreamId, SubstreamId};
//!
//! let head = EventHead {
//!     stream: StreamId(0),
//!     counter: EventCounter(0),
//!     substream: SubstreamId(1),
//!     start: Nanos(100),
//!     end: Nanos(200),
//!     description: "My event",
//! };
//! let mut encoder = Encoder::new();
//! encoder.event(&head)?.attribute("Test", 123_u64)?.attribute("Test2", [123.456, 789.0].as_slice())?.finish()?;
//! assert_eq!(encoder.bytes().len(), 91);
//!
//! for found in Packets::new(encoder.bytes()) {
//!     let Packet::Event(event) = found?.packet else { panic!("an event was written") };
//!     assert_eq!(event.head, head);
//!     assert_eq!(event.attributes.iter().count(), 2);
//! }
//! # Ok::<(), ada_format::heph::Error>(())
//! ```
//!
#![doc = include_str!("../../../../docs/formats/heph.md")]

mod array;
mod attribute;
mod counters;
mod decoder;
mod encode_value;
mod encoder;
mod error;
mod event;
mod fields;
mod id;
mod layout;
mod metadata;
mod nesting;
mod packet;
mod packets;
mod reader;
mod scanner;

pub use array::{Number, Numbers, Strings};
pub use attribute::{Attribute, Attributes, Value};
pub use counters::{EventCounters, StreamCount};
pub use decoder::Decoder;
pub use encode_value::EncodeValue;
pub use encoder::{Encoder, EventEncoder};
pub use error::{Error, Field};
pub use event::{Event, EventHead};
pub use id::{EventCounter, Nanos, StreamId, SubstreamId, UnixNanos};
pub use layout::{DEFAULT_MAX_PACKET, EPOCH, EVENT_MAGIC, METADATA_MAGIC};
pub use metadata::Metadata;
pub use nesting::{Interval, depth, parents};
pub use packet::{Framed, Packet};
pub use packets::Packets;
pub use reader::PacketReader;
pub use scanner::Totals;
