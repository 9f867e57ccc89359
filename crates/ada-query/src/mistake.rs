//! A mistake in a question: what, where, and what was probably meant.

use std::fmt;

use crate::nearest::nearest;

/// Something wrong with the text of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// What is wrong.
    pub words: String,
    /// The question.
    pub text: String,
    /// The byte of the text at which it is.
    pub offset: Option<usize>,
    /// The name that was probably meant.
    pub suggestion: Option<String>,
}

impl Mistake {
    pub(crate) fn new(words: impl Into<String>, text: &str, offset: Option<usize>) -> Self {
        Self { words: words.into(), text: text.to_owned(), offset, suggestion: None }
    }

    /// Suggests the known name that is nearest to the one that SQLite complains of.
    pub(crate) fn with_suggestion<'a>(mut self, known: impl Fn(What) -> Vec<&'a str>) -> Self {
        let complaints = [
            ("no such column: ", What::Column),
            ("no such table: ", What::Table),
            ("no such function: ", What::Function),
        ];
        for (complaint, what) in complaints {
            if let Some((_, name)) = self.words.split_once(complaint) {
                let name = name.rsplit('.').next().unwrap_or_default().trim_matches(['"', '\'', '`']);
                self.suggestion = nearest(name, known(what)).map(str::to_owned);
            }
        }
        self
    }
}

/// What a name is looked for among.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Column,
    Table,
    Function,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)?;
        if let Some(suggestion) = &self.suggestion {
            write!(f, "; did you mean {suggestion}?")?;
        }
        if let Some(offset) = self.offset.filter(|offset| *offset <= self.text.len()) {
            let before = &self.text.as_bytes()[..offset];
            let line_begin = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            let line = self.text[line_begin..].lines().next().unwrap_or_default();
            let column = String::from_utf8_lossy(&before[line_begin..]).chars().count();
            write!(f, "\n  {}\n  {:column$}^", line.replace('\t', " "), "")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_pointed_at_in_its_line() {
        let text = "SELECT 1,\n  nmae FROM spans";
        let mistake = Mistake::new("no such column: nmae", text, Some(12)).with_suggestion(|what| match what {
            What::Column => vec!["name", "module"],
            _ => vec![],
        });
        assert_eq!(mistake.to_string(), "no such column: nmae; did you mean name?\n    nmae FROM spans\n    ^");
    }
}
