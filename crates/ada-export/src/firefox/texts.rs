//! A thread's list of texts, which its tables name by number.

use std::collections::HashMap;

#[derive(Debug, Default)]
pub(super) struct Texts {
    known: HashMap<String, usize>,
    listed: Vec<String>,
}

impl Texts {
    pub(super) fn number(&mut self, text: &str) -> usize {
        if let Some(&number) = self.known.get(text) {
            return number;
        }
        self.listed.push(text.to_owned());
        self.known.insert(text.to_owned(), self.listed.len() - 1);
        self.listed.len() - 1
    }

    pub(super) fn listed(&self) -> &[String] {
        &self.listed
    }
}
