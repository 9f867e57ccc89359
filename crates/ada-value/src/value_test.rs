//! Conditions on the values of a call: `port == 8081 and result < 0`.
//!
//! | | |
//! | --- | --- |
//! | `==` `!=` `<` `<=` `>` `>=` | with a number, or with a word: `flags == O_RDONLY`, `path == "/etc/passwd"` |
//! | `~` `!~` | has a word in it, or has not: `path ~ /etc` |
//! | `and` `or` | `and` binds tighter |
//!
//! Names are those of parameters and of their fields, `result`, and `errno`. Without one, the result is meant: `<0`. What was not
//! captured is neither equal nor unequal to anything.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::Value;

/// A condition on the values of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueTest {
    /// One of these, each of which has all its comparisons.
    any: Vec<Vec<Comparison>>,
    written: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparison {
    name: String,
    operator: Operator,
    word: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Has,
    HasNot,
}

/// Why a condition cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a condition such as 'port == 8081 and result < 0': {0}")]
pub struct ValueTestError(String);

/// What a comparison without a name is about.
pub const RESULT: &str = "result";
/// What the reason of a failure is called.
pub const ERRNO: &str = "errno";

/// Operators, longer ones first.
const OPERATORS: [(&str, Operator); 9] = [
    ("==", Operator::Equal),
    ("!=", Operator::Unequal),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("!~", Operator::HasNot),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("~", Operator::Has),
    ("=", Operator::Equal),
];

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Operator(Operator),
    Word(String),
    And,
    Or,
}

impl FromStr for ValueTest {
    type Err = ValueTestError;

    fn from_str(written: &str) -> Result<Self, ValueTestError> {
        let mut any = Vec::new();
        let tokens = tokens(written)?;
        for part in tokens.split(|token| *token == Token::Or) {
            let comparisons = part.split(|token| *token == Token::And).map(comparison);
            any.push(comparisons.collect::<Option<Vec<_>>>().ok_or_else(|| ValueTestError(format!("{written:?}")))?);
        }
        Ok(Self { any, written: written.to_owned() })
    }
}

impl fmt::Display for ValueTest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.written)
    }
}

fn comparison(tokens: &[Token]) -> Option<Comparison> {
    match tokens {
        [Token::Word(name), Token::Operator(operator), Token::Word(word)] => {
            Some(Comparison { name: name.clone(), operator: *operator, word: word.clone() })
        }
        [Token::Operator(operator), Token::Word(word)] => {
            Some(Comparison { name: RESULT.to_owned(), operator: *operator, word: word.clone() })
        }
        _ => None,
    }
}

fn tokens(written: &str) -> Result<Vec<Token>, ValueTestError> {
    let mut tokens = Vec::new();
    let mut rest = written.trim_start();
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('"') {
            let (word, behind) = inside
                .split_once('"')
                .ok_or_else(|| ValueTestError(format!("a quote without its end in {written:?}")))?;
            tokens.push(Token::Word(word.to_owned()));
            rest = behind;
        } else if let Some((sign, operator)) = OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign)) {
            tokens.push(Token::Operator(*operator));
            rest = &rest[sign.len()..];
        } else {
            let is_end = |letter: char| letter.is_whitespace() || matches!(letter, '=' | '!' | '<' | '>' | '~' | '"');
            // A sign that is no operator is a word of its own.
            let end = rest.char_indices().skip(1).find(|(_, letter)| is_end(*letter)).map_or(rest.len(), |(at, _)| at);
            tokens.push(match &rest[..end] {
                "and" | "&&" => Token::And,
                "or" | "||" => Token::Or,
                word => Token::Word(word.to_owned()),
            });
            rest = &rest[end..];
        }
        rest = rest.trim_start();
    }
    Ok(tokens)
}

impl ValueTest {
    /// Whether it holds for a call, by the values of its names.
    pub fn holds(&self, value_of: &dyn Fn(&str) -> Option<Value>) -> bool {
        let compares = |it: &Comparison| value_of(&it.name).and_then(|value| it.holds(&value)) == Some(true);
        self.any.iter().any(|all| all.iter().all(compares))
    }

    /// The names that it asks for.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.any.iter().flatten().map(|it| it.name.as_str())
    }
}

impl Comparison {
    /// None where there is nothing to compare.
    fn holds(&self, value: &Value) -> Option<bool> {
        // Of a variant that has a value, both may be meant: `Ok`, and what it says.
        let (whole, value) = (value.behind_pointers(), value.scalar());
        if matches!(value, Value::Unknown(_) | Value::Absent) && value == whole {
            return None;
        }
        let text = value.text().unwrap_or_else(|| value.shown(&|_| None));
        let is_in = |word: &str| text.contains(word) || whole.shown(&|_| None).contains(word);
        let is_variant = matches!(whole, Value::Variant(name, _) if *name == self.word)
            || whole != value && whole.shown(&|_| None) == self.word;
        let order = match (order_of_numbers(value, &self.word), self.operator) {
            (_, Operator::Has) => return Some(is_in(&self.word)),
            (_, Operator::HasNot) => return Some(!is_in(&self.word)),
            (Some(order), _) => order,
            (None, _) if is_variant => Ordering::Equal,
            (None, _) => text.as_str().cmp(&self.word),
        };
        Some(match self.operator {
            Operator::Equal => order == Ordering::Equal,
            Operator::Unequal => order != Ordering::Equal,
            Operator::Less => order == Ordering::Less,
            Operator::LessOrEqual => order != Ordering::Greater,
            Operator::Greater => order == Ordering::Greater,
            Operator::GreaterOrEqual => order != Ordering::Less,
            Operator::Has | Operator::HasNot => return None,
        })
    }
}

/// How a value stands to a word, if both are numbers.
fn order_of_numbers(value: &Value, word: &str) -> Option<Ordering> {
    let whole = whole_number(word);
    if let (Some(number), Some(whole)) = (value.number(), whole) {
        return Some(number.cmp(&whole));
    }
    let real: f64 = word.parse().ok().or(whole.map(|whole| whole as f64))?;
    let number = match value {
        Value::Float(number) => *number,
        value => value.number()? as f64,
    };
    number.partial_cmp(&real)
}

fn whole_number(word: &str) -> Option<i128> {
    let (digits, is_negative) = word.strip_prefix('-').map_or((word, false), |digits| (digits, true));
    let radix = |prefix, radix| digits.strip_prefix(prefix).and_then(|it| i128::from_str_radix(it, radix).ok());
    let number = radix("0x", 16).or_else(|| radix("0o", 8)).or_else(|| digits.parse().ok())?;
    Some(if is_negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value_of(name: &str) -> Option<Value> {
        match name {
            "port" => Some(Value::Number(8081, "8081".to_owned())),
            "path" => Some(Value::Text(b"/etc/passwd".to_vec(), false)),
            "flags" => Some(Value::Number(0, "O_RDONLY".to_owned())),
            "result" => Some(Value::Number(-1, "-1".to_owned())),
            "errno" => Some(Value::Number(2, "ENOENT".to_owned())),
            "share" => Some(Value::Float(0.5)),
            "at" => Some(Value::Pointer(0)),
            "lost" => Some(Value::Unknown("not recorded")),
            _ => None,
        }
    }

    #[test]
    fn numbers_words_and_texts_are_compared() {
        for (written, holds) in [
            ("port == 8081", true),
            ("port=8081", true),
            ("port == 0x1f91", true),
            ("port != 80 and result<0", true),
            ("port == 80 or <0", true),
            ("port == 80 or > 0", false),
            ("<0", true),
            ("result == -1 && errno == ENOENT", true),
            ("errno == 2", true),
            ("path == \"/etc/passwd\"", true),
            ("path ~ passwd", true),
            ("path !~ passwd", false),
            ("flags == O_RDONLY", true),
            ("share > 0.25 and share < 1", true),
            ("at == null", true),
            ("at == 0", true),
            ("lost == 1", false),
            ("lost != 1", false),
            ("nothing != 1", false),
        ] {
            assert_eq!(written.parse::<ValueTest>().unwrap().holds(&value_of), holds, "{written}");
        }
    }

    #[test]
    fn what_is_no_condition_is_an_error() {
        for written in ["", "port", "port ==", "== ", "port == 1 and", "port == \"x", "a b c", "port == 1 2"] {
            written.parse::<ValueTest>().unwrap_err();
        }
    }
}
