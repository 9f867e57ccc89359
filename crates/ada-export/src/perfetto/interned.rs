//! Texts that are written once and then named by a number.

use std::collections::HashMap;

use super::fields::interned::{IID, TEXT};
use crate::message::Message;

/// One kind of text.
#[derive(Debug, Default)]
pub(super) struct Interned {
    known: HashMap<String, u64>,
}

impl Interned {
    /// The text's number. A new text goes into `news`, as the field of interned data that holds
    /// this kind.
    pub(super) fn number(&mut self, text: &str, field: u64, news: &mut Message) -> u64 {
        if let Some(&number) = self.known.get(text) {
            return number;
        }
        let number = self.known.len() as u64 + 1;
        self.known.insert(text.to_owned(), number);
        let mut entry = Message::default();
        entry.number(IID, number).text(TEXT, text);
        news.message(field, &entry);
        number
    }
}
