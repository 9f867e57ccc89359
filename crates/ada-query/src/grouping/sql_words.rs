//! The words of a statement.

/// A word of SQL.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// In lower case.
    Name(String),
    /// A name in double quotes, in lower case.
    Quoted(String),
    Number(String),
    /// A text in quotes.
    Text,
    Sign(char),
}

/// A word, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) token: Token,
    pub(crate) from: usize,
    pub(crate) until: usize,
}

impl Word {
    pub(crate) fn is(&self, name: &str) -> bool {
        matches!(&self.token, Token::Name(it) if it == name)
    }

    pub(crate) fn is_sign(&self, sign: char) -> bool {
        self.token == Token::Sign(sign)
    }
}

/// The words of a statement. None where it has comments, or names in other quotes, which are SQLite's to read.
pub(crate) fn words(sql: &str) -> Option<Vec<Word>> {
    let mut found: Vec<Word> = Vec::new();
    let mut at = 0;
    while let Some(letter) = sql[at..].chars().next() {
        let rest = &sql[at..];
        let length_while = |is_part: fn(char) -> bool| rest.find(|it| !is_part(it)).unwrap_or(rest.len());
        let (token, length) = if letter.is_whitespace() {
            at += letter.len_utf8();
            continue;
        } else if letter.is_ascii_digit() {
            let length = length_while(|it| it.is_ascii_alphanumeric() || it == '.' || it == '_');
            (Token::Number(rest[..length].to_owned()), length)
        } else if letter.is_alphanumeric() || letter == '_' {
            let length = length_while(|it| it.is_alphanumeric() || it == '_');
            (Token::Name(rest[..length].to_lowercase()), length)
        } else if letter == '\'' {
            // A doubled quote stands for one.
            let mut length = rest[1..].find('\'')? + 2;
            while rest[length..].starts_with('\'') {
                length += rest[length + 1..].find('\'')? + 2;
            }
            (Token::Text, length)
        } else if letter == '"' {
            let length = rest[1..].find('"')? + 2;
            (Token::Quoted(rest[1..length - 1].to_lowercase()), length)
        } else if matches!(letter, '`' | '[') || rest.starts_with("--") || rest.starts_with("/*") {
            return None;
        } else {
            (Token::Sign(letter), letter.len_utf8())
        };
        found.push(Word { token, from: at, until: at + length });
        at += length;
    }
    Some(found)
}
