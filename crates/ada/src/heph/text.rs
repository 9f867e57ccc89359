//! Packets as lines for people. Names and texts are quoted, so that a trace cannot talk to the terminal.

use std::fmt;

use ada_format::heph::{Attribute, Event, EventHead, Framed, Metadata, Packet, UnixNanos, Value};

use crate::wall_clock::WallClock;

/// A packet in one line; the times of events also by the wall clock if the epoch is known.
pub(super) struct Line<'a> {
    pub(super) framed: &'a Framed<'a>,
    pub(super) epoch: Option<UnixNanos>,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>10}  ", self.framed.offset)?;
        match &self.framed.packet {
            Packet::Metadata(metadata) => write!(f, "metadata  {}", OptionText(metadata)),
            Packet::Event(event) => self.event(event, f),
        }
    }
}

impl Line<'_> {
    fn event(&self, event: &Event<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EventHead { stream, counter, substream, start, end, description } = event.head;
        write!(f, "event     stream {stream} #{counter} substream {substream}  {start}..{end} ns")?;
        if let Some(moment) = self.epoch.and_then(|epoch| epoch.after(start)) {
            write!(f, "  {}", WallClock(moment))?;
        }
        write!(f, "  {description:?}")?;
        event.attributes.iter().try_for_each(|Attribute { name, value }| {
            // `{:?}` of text escapes; a plain word is easier to read without the quotes.
            let is_word =
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
            if is_word {
                write!(f, " {name}=")?
            } else {
                write!(f, " {name:?}=")?
            }
            match value {
                Value::U64(number) => write!(f, "{number}"),
                Value::I64(number) => write!(f, "{number:+}"),
                Value::F64(number) => write!(f, "{number:?}"),
                Value::String(text) => write!(f, "{text:?}"),
                Value::U64Array(numbers) => write!(f, "{numbers:?}"),
                Value::I64Array(numbers) => write!(f, "{numbers:+?}"),
                Value::F64Array(numbers) => write!(f, "{numbers:?}"),
                Value::StringArray(texts) => write!(f, "{texts:?}"),
            }
        })
    }
}

/// Bytes of an option's value that people are shown.
const SHOWN_BYTES: usize = 64;

/// What people are shown of an option's value.
pub(super) fn shown(value: &[u8]) -> &[u8] {
    &value[..value.len().min(SHOWN_BYTES)]
}

/// An option as `name = value`: the epoch by the wall clock, others by their first bytes.
pub(super) struct OptionText<'a>(pub(super) &'a Metadata<'a>);

impl fmt::Display for OptionText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metadata = self.0;
        if let Some(epoch) = metadata.epoch() {
            return write!(f, "epoch = {epoch} ({})", WallClock(epoch));
        }
        let value = metadata.value();
        write!(f, "{:?} = {} bytes", metadata.name(), value.len())?;
        if !value.is_empty() {
            write!(f, " {}{}", Hex(shown(value)), if value.len() > SHOWN_BYTES { "…" } else { "" })?;
        }
        Ok(())
    }
}

/// Bytes in hexadecimal.
pub(super) struct Hex<'a>(pub(super) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
