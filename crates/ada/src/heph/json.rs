//! Packets as JSON objects.
//!
//! Integers stay exact, beyond 2^53 too. JSON has no infinities and no NaN: they are the strings `"inf"`, `"-inf"`
//! and `"NaN"`. Attributes are a list, because an event may use a name twice.

use ada_format::heph::{Event, Framed, Metadata, Packet, Packets, UnixNanos, Value};
use serde::{Serialize, Serializer};

use super::text::Hex;

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum PacketJson<'a> {
    Metadata {
        offset: u64,
        option: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        epoch_unix_nanos: Option<u64>,
        value_hex: String,
    },
    Event {
        offset: u64,
        stream: u32,
        counter: u32,
        substream: u64,
        start: u64,
        end: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        start_unix_nanos: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        end_unix_nanos: Option<u64>,
        description: &'a str,
        attributes: Vec<AttributeJson<'a>>,
    },
}

#[derive(Serialize)]
pub(super) struct AttributeJson<'a> {
    name: &'a str,
    r#type: &'static str,
    value: ValueJson<'a>,
}

impl<'a> PacketJson<'a> {
    pub(super) fn new(framed: &Framed<'a>, epoch: Option<UnixNanos>) -> Self {
        match framed.packet {
            Packet::Metadata(metadata) => Self::metadata(framed.offset, &metadata),
            Packet::Event(event) => Self::event(framed.offset, &event, epoch),
        }
    }

    fn metadata(offset: u64, metadata: &Metadata<'a>) -> Self {
        Self::Metadata {
            offset,
            option: metadata.name(),
            epoch_unix_nanos: metadata.epoch().map(|epoch| epoch.0),
            value_hex: Hex(metadata.value()).to_string(),
        }
    }

    fn event(offset: u64, event: &Event<'a>, epoch: Option<UnixNanos>) -> Self {
        let head = event.head;
        let unix_nanos = |time| epoch.and_then(|epoch| epoch.after(time)).map(|moment| moment.0);
        Self::Event {
            offset,
            stream: head.stream.0,
            counter: head.counter.0,
            substream: head.substream.0,
            start: head.start.0,
            end: head.end.0,
            start_unix_nanos: unix_nanos(head.start),
            end_unix_nanos: unix_nanos(head.end),
            description: head.description,
            attributes: event
                .attributes
                .iter()
                .map(|it| AttributeJson { name: it.name, r#type: type_name(&it.value), value: ValueJson(it.value) })
                .collect(),
        }
    }
}

/// The attributes of the event in a packet; a name that is used twice has the later value.
pub(crate) fn attributes(packet: &[u8]) -> serde_json::Value {
    let mut fields = serde_json::Map::new();
    if let Some(Ok(Framed { packet: Packet::Event(event), .. })) = Packets::new(packet).next() {
        for it in event.attributes.iter() {
            fields.insert(it.name.to_owned(), serde_json::to_value(ValueJson(it.value)).unwrap_or_default());
        }
    }
    fields.into()
}

const fn type_name(value: &Value<'_>) -> &'static str {
    match value {
        Value::U64(_) => "u64",
        Value::I64(_) => "i64",
        Value::F64(_) => "f64",
        Value::String(_) => "string",
        Value::U64Array(_) => "u64[]",
        Value::I64Array(_) => "i64[]",
        Value::F64Array(_) => "f64[]",
        Value::StringArray(_) => "string[]",
    }
}

struct ValueJson<'a>(Value<'a>);

impl Serialize for ValueJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Value::U64(number) => number.serialize(serializer),
            Value::I64(number) => number.serialize(serializer),
            Value::F64(number) => FloatJson(*number).serialize(serializer),
            Value::String(text) => text.serialize(serializer),
            Value::U64Array(numbers) => serializer.collect_seq(numbers.iter()),
            Value::I64Array(numbers) => serializer.collect_seq(numbers.iter()),
            Value::F64Array(numbers) => serializer.collect_seq(numbers.iter().map(FloatJson)),
            Value::StringArray(texts) => serializer.collect_seq(texts.iter()),
        }
    }
}

struct FloatJson(f64);

impl Serialize for FloatJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() { self.0.serialize(serializer) } else { serializer.collect_str(&self.0) }
    }
}
