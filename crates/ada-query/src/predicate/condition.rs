//! Conditions in the words of SQL: what follows `WHERE`, over columns of spans or events and constants.

use rusqlite::types::Value;

use super::{Field, Subject, Test};
use crate::mistake::Mistake;
use crate::nearest::nearest;
use crate::relation::Op;

/// How deep parentheses may nest.
const DEEPEST: usize = 64;

/// Reads a condition.
pub(crate) fn parse(subject: Subject, text: &str) -> Result<Test, Mistake> {
    let tokens = tokens(text)?;
    let mut parser = Parser { subject, text, tokens, at: 0, depth: 0 };
    let test = parser.any()?;
    match parser.peek() {
        None => Ok(test),
        Some(_) => Err(parser.wrong("expected AND, OR or the end")),
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// A name or a word of SQL, in lower case.
    Word(String),
    Constant(Value),
    Sign(&'static str),
}

fn tokens(text: &str) -> Result<Vec<(usize, Token)>, Mistake> {
    const SIGNS: [&str; 13] = ["<=", ">=", "<>", "!=", "==", "=", "<", ">", "(", ")", ",", "-", "+"];
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        let rest = &text[at..];
        if letter.is_whitespace() {
            at += letter.len_utf8();
        } else if letter == '\'' {
            let (value, length) =
                quoted(rest).ok_or_else(|| Mistake::new("the quote is not closed", text, Some(at)))?;
            found.push((at, Token::Constant(Value::Text(value))));
            at += length;
        } else if letter.is_ascii_digit() {
            let length =
                rest.find(|it: char| !(it.is_ascii_alphanumeric() || it == '.' || it == '_')).unwrap_or(rest.len());
            let digits = rest[..length].replace('_', "");
            let value = match digits.parse::<i64>() {
                Ok(number) => Value::Integer(number),
                Err(_) => match digits.parse::<f64>() {
                    Ok(number) => Value::Real(number),
                    Err(_) => return Err(Mistake::new("this is not a number", text, Some(at))),
                },
            };
            found.push((at, Token::Constant(value)));
            at += length;
        } else if letter.is_alphabetic() || letter == '_' {
            let length = rest.find(|it: char| !(it.is_alphanumeric() || it == '_')).unwrap_or(rest.len());
            found.push((at, Token::Word(rest[..length].to_lowercase())));
            at += length;
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            found.push((at, Token::Sign(sign)));
            at += sign.len();
        } else {
            return Err(Mistake::new(format!("{letter} is not expected here"), text, Some(at)));
        }
    }
    Ok(found)
}

/// A text in quotes, doubled ones standing for one, and how long it is with its quotes.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter != '\'' {
            value.push(letter);
        } else if letters.peek().is_some_and(|(_, next)| *next == '\'') {
            value.push('\'');
            letters.next();
        } else {
            return Some((value, at + 1));
        }
    }
    None
}

struct Parser<'a> {
    subject: Subject,
    text: &'a str,
    tokens: Vec<(usize, Token)>,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(_, token)| token)
    }

    fn wrong(&self, words: impl Into<String>) -> Mistake {
        let offset = self.tokens.get(self.at).map_or(self.text.len(), |(offset, _)| *offset);
        Mistake::new(words, self.text, Some(offset))
    }

    fn takes(&mut self, token: &Token) -> bool {
        let is_here = self.peek() == Some(token);
        self.at += usize::from(is_here);
        is_here
    }

    fn takes_word(&mut self, word: &str) -> bool {
        self.takes(&Token::Word(word.to_owned()))
    }

    fn takes_sign(&mut self, sign: &'static str) -> bool {
        self.takes(&Token::Sign(sign))
    }

    fn any(&mut self) -> Result<Test, Mistake> {
        let mut tests = vec![self.all()?];
        while self.takes_word("or") {
            tests.push(self.all()?);
        }
        Ok(if tests.len() == 1 { tests.remove(0) } else { Test::Any(tests) })
    }

    fn all(&mut self) -> Result<Test, Mistake> {
        let mut tests = vec![self.one()?];
        while self.takes_word("and") {
            tests.push(self.one()?);
        }
        Ok(if tests.len() == 1 { tests.remove(0) } else { Test::All(tests) })
    }

    fn one(&mut self) -> Result<Test, Mistake> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("this nests too deep"));
        }
        let test = if self.takes_word("not") {
            self.one()?.negated()
        } else if self.takes_sign("(") {
            let test = self.any()?;
            if !self.takes_sign(")") {
                return Err(self.wrong("expected )"));
            }
            test
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(test)
    }

    fn comparison(&mut self) -> Result<Test, Mistake> {
        let field = self.field()?;
        if self.takes_word("is") {
            let is_not = self.takes_word("not");
            return if self.takes_word("null") {
                Ok(if is_not { Test::IsNotNull(field) } else { Test::IsNull(field) })
            } else {
                Err(self.wrong("expected NULL or NOT NULL"))
            };
        }
        let is_not = self.takes_word("not");
        let test = if self.takes_word("like") {
            Test::Compare(field, Op::Like, self.text_constant()?)
        } else if self.takes_word("glob") {
            let pattern = self.text_constant()?;
            if matches!(&pattern, Value::Text(text) if text.contains('[')) {
                return Err(self.wrong("sets of letters are not known here; LIKE, or a query with WHERE, does without"));
            }
            Test::Compare(field, Op::Glob, pattern)
        } else if self.takes_word("between") {
            let low = self.constant(field)?;
            if !self.takes_word("and") {
                return Err(self.wrong("expected AND"));
            }
            let high = self.constant(field)?;
            Test::All(vec![Test::Compare(field, Op::Ge, low), Test::Compare(field, Op::Le, high)])
        } else if self.takes_word("in") {
            self.list(field)?
        } else if is_not {
            return Err(self.wrong("expected LIKE, GLOB, BETWEEN or IN"));
        } else {
            return self.sign(field);
        };
        Ok(if is_not { test.negated() } else { test })
    }

    fn list(&mut self, field: Field) -> Result<Test, Mistake> {
        if !self.takes_sign("(") {
            return Err(self.wrong("expected ("));
        }
        let mut tests = vec![Test::Compare(field, Op::Eq, self.constant(field)?)];
        while self.takes_sign(",") {
            tests.push(Test::Compare(field, Op::Eq, self.constant(field)?));
        }
        if self.takes_sign(")") { Ok(Test::Any(tests)) } else { Err(self.wrong("expected , or )")) }
    }

    fn sign(&mut self, field: Field) -> Result<Test, Mistake> {
        let sign = match self.peek() {
            Some(Token::Sign(sign)) => *sign,
            _ => return Err(self.wrong("expected a comparison")),
        };
        let op = match sign {
            "=" | "==" | "!=" | "<>" => Op::Eq,
            "<" => Op::Lt,
            "<=" => Op::Le,
            ">" => Op::Gt,
            ">=" => Op::Ge,
            _ => return Err(self.wrong("expected a comparison")),
        };
        self.at += 1;
        let value = self.constant(field)?;
        Ok(if matches!(sign, "!=" | "<>") { Test::Not(field, op, value) } else { Test::Compare(field, op, value) })
    }

    fn field(&mut self) -> Result<Field, Mistake> {
        let Some(Token::Word(name)) = self.peek().cloned() else {
            return Err(self.wrong("expected a column"));
        };
        match Field::from_name(self.subject, &name) {
            Some(field) => {
                self.at += 1;
                Ok(field)
            }
            None => {
                let mut mistake = self.wrong(format!("conditions cannot be on {name}"));
                mistake.suggestion = nearest(&name, Field::names(self.subject)).map(str::to_owned);
                Err(mistake)
            }
        }
    }

    fn text_constant(&mut self) -> Result<Value, Mistake> {
        match self.peek().cloned() {
            Some(Token::Constant(value @ Value::Text(_))) => {
                self.at += 1;
                Ok(value)
            }
            _ => Err(self.wrong("expected a text in quotes")),
        }
    }

    /// A constant of the field's kind.
    fn constant(&mut self, field: Field) -> Result<Value, Mistake> {
        let is_negative = self.takes_sign("-");
        if !is_negative {
            self.takes_sign("+");
        }
        let value = match self.peek().cloned() {
            Some(Token::Constant(value)) => value,
            _ => return Err(self.wrong("expected a number, or a text in quotes")),
        };
        let value = match value {
            Value::Integer(number) if is_negative => Value::Integer(-number),
            Value::Real(number) if is_negative => Value::Real(-number),
            Value::Text(_) if is_negative || field.is_number() => return Err(self.wrong("expected a number")),
            Value::Integer(_) | Value::Real(_) if !field.is_number() => {
                return Err(self.wrong("expected a text in quotes"));
            }
            value => value,
        };
        self.at += 1;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(condition: &str, name: &str, duration: i64) -> bool {
        let of = |field: Field| match field {
            Field::Name => Value::Text(name.into()),
            Field::Duration => Value::Integer(duration),
            _ => Value::Null,
        };
        parse(Subject::Spans, condition).unwrap_or_else(|mistake| panic!("{mistake}")).matches(&of)
    }

    #[test]
    fn conditions_mean_what_sql_means_by_them() {
        assert!(holds("duration_ns > 5 AND name = 'f'", "f", 6));
        assert!(!holds("duration_ns > 5 AND name = 'f'", "g", 6));
        assert!(holds("name = 'x' OR name = 'f' AND duration_ns = 1", "x", 0));
        assert!(holds("NOT (name = 'x' OR duration_ns < 3)", "f", 3));
        assert!(holds("name LIKE 'PAR%' and duration_ns between 1 and 1e3", "parse", 1000));
        assert!(holds("name in ('a', 'it''s')", "it's", 0));
        assert!(holds("name not in ('a')", "b", 0) && !holds("name NOT LIKE 'b%'", "b", 0));
        assert!(holds("reason is null", "", 0) && !holds("reason <> 'crash'", "", 0));
        assert!(holds("duration_ns >= -1.5", "", 0) && holds("duration_ns < 1_000", "", 999));
    }

    #[test]
    fn mistakes_are_pointed_at() {
        let mistake = parse(Subject::Spans, "name = 'f' AND duratoin_ns > 3").unwrap_err();
        assert_eq!((mistake.offset, mistake.suggestion.as_deref()), (Some(15), Some("duration_ns")));
        for (wrong, offset) in [
            ("", 0),
            ("name", 4),
            ("name = ", 7),
            ("name = 5", 7),
            ("duration_ns = 'x'", 14),
            ("name = 'f", 7),
            ("(name = 'f'", 11),
            ("name = 'f' name", 11),
            ("name GLOB '[a]'", 15),
            ("name ~ 'f'", 5),
            ("duration_ns > 5x", 14),
        ] {
            assert_eq!(parse(Subject::Spans, wrong).unwrap_err().offset, Some(offset), "{wrong}");
        }
        assert!(parse(Subject::Spans, &"(".repeat(1000)).is_err());
    }
}
