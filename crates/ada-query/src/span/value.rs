//! A value of a column, before SQL or a record has it.

use std::borrow::Cow;

use ada_span::NONE;
use rusqlite::types::{Null, Value};
use rusqlite::vtab::Context;

use crate::relation::signed;
use crate::trace::{Target, TraceProcess};

/// A value of a column. Texts that exist are borrowed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SpanValue<'a> {
    Nothing,
    Flag(bool),
    Number(u64),
    /// From 0 to 1.
    Share(f64),
    Text(Cow<'a, str>),
}

impl<'a> SpanValue<'a> {
    pub(super) fn number(value: impl Into<u64>) -> Self {
        Self::Number(value.into())
    }

    pub(super) fn maybe(value: Option<impl Into<u64>>) -> Self {
        value.map_or(Self::Nothing, Self::number)
    }

    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn maybe_text(text: Option<impl Into<Cow<'a, str>>>) -> Self {
        text.map_or(Self::Nothing, Self::text)
    }

    pub(super) fn reference(process: &TraceProcess, target: Option<Target>) -> Self {
        Self::maybe_text(target.map(|target| process.refer(target)))
    }

    /// Gives the value to SQLite.
    #[inline]
    pub(crate) fn put(self, out: &mut Context) -> rusqlite::Result<()> {
        match self {
            Self::Nothing => out.set_result(Null),
            Self::Flag(flag) => out.set_result(flag),
            Self::Number(number) => out.set_result(signed(number)),
            Self::Share(share) => out.set_result(share),
            Self::Text(Cow::Borrowed(text)) => out.set_result(text),
            Self::Text(Cow::Owned(text)) => out.set_result(text),
        }
    }

    /// The value as records have it.
    pub(super) fn into_json(self) -> serde_json::Value {
        match self {
            Self::Nothing => serde_json::Value::Null,
            Self::Flag(flag) => flag.into(),
            Self::Number(number) => number.into(),
            Self::Share(share) => share.into(),
            Self::Text(text) => text.into_owned().into(),
        }
    }

    /// The text; nothing is an empty one.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Text(text) => text.into_owned(),
            _ => String::new(),
        }
    }
}

impl From<SpanValue<'_>> for Value {
    fn from(value: SpanValue<'_>) -> Self {
        match value {
            SpanValue::Nothing => Self::Null,
            SpanValue::Flag(flag) => Self::Integer(flag.into()),
            SpanValue::Number(number) => Self::Integer(signed(number)),
            SpanValue::Share(share) => Self::Real(share),
            SpanValue::Text(text) => Self::Text(text.into_owned()),
        }
    }
}

/// What is known of a word of the tables.
pub(super) fn known(word: u64) -> Option<u64> {
    (word != NONE).then_some(word)
}
