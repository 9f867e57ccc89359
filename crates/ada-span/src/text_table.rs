//! Texts that the tables refer to by their numbers.

use std::collections::HashMap;

/// Each text once.
#[derive(Default)]
pub(crate) struct TextTable {
    pub(crate) texts: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl TextTable {
    /// The number of a text, as a word of a table.
    pub(crate) fn number_of(&mut self, text: &str) -> u64 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as u64;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    /// The number of a text that may not be known.
    pub(crate) fn number_if(&mut self, text: Option<&str>) -> u64 {
        text.map_or(crate::NONE, |text| self.number_of(text))
    }
}
