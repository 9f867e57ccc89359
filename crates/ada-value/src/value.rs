//! Values.

use crate::ty::{Style, Type};

/// A value, as far as it was captured.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number, and how it is written.
    Number(i128, String),
    /// A number with a fraction.
    Float(f64),
    /// A text, and whether it goes on behind what was captured.
    Text(Vec<u8>, bool),
    /// Bytes that are no text, likewise.
    Bytes(Vec<u8>, bool),
    /// A pointer.
    Pointer(u64),
    /// A pointer to a function.
    Code(u64),
    /// A pointer to a value; where it points is not known of one that was read when the function returned.
    Reference(Option<u64>, Box<Value>),
    /// Fields with their names, and how they are written together where that is not field by field.
    Structure(Vec<(String, Value)>, Option<String>),
    /// A variant with its name, and its fields with theirs; or, where they have none, with their numbers.
    Variant(String, Vec<(String, Value)>),
    /// Elements, as far as they were captured, and how many there are.
    List(Vec<Value>, u64),
    /// There is none: see [`Condition`](crate::Condition).
    Absent,
    /// Not captured, and why.
    Unknown(&'static str),
}

/// It was in no register that is recorded.
pub(crate) const NOT_RECORDED: &str = "not recorded";
/// The compiler has done away with it.
pub(crate) const OPTIMIZED_AWAY: &str = "optimized away";
/// The user did not want it captured.
pub(crate) const REDACTED: &str = "redacted";
/// Its memory was not there, or could not be read.
pub(crate) const UNREADABLE: &str = "unreadable";

impl Value {
    /// What a word is as a value of a type that fits into one.
    pub(crate) fn of_word(ty: &Type, word: u64) -> Self {
        match ty {
            Type::Void => Self::Absent,
            Type::Integer { bytes: 16, .. } => Self::Unknown(NOT_RECORDED),
            Type::Integer { is_signed, bytes, style } => {
                let number = cut(word, *is_signed, *bytes);
                let written = match style {
                    Style::Decimal | Style::Descriptor => number.to_string(),
                    Style::Hex => format!("{number:#x}"),
                    Style::Octal => format!("{number:#o}").replace("0o", "0"),
                };
                Self::Number(number, written)
            }
            Type::Bool => {
                Self::Number((word & 0xff).into(), if word & 0xff == 0 { "false" } else { "true" }.to_owned())
            }
            Type::Char => {
                let byte = word as u8;
                Self::Number(byte.into(), format!("'{}'", byte.escape_ascii()))
            }
            Type::Float(4) => Self::Float(f32::from_bits(word as u32).into()),
            Type::Float(8) => Self::Float(f64::from_bits(word)),
            Type::Float(_) => Self::Unknown(NOT_RECORDED),
            Type::Named(set) => {
                let number = cut(word, true, 4);
                Self::Number(number, set.words(number as i64))
            }
            Type::Enum { is_signed, bytes, names } => {
                let number = cut(word, *is_signed, *bytes);
                let name = names.iter().find(|(known, _)| i128::from(*known) == number).map(|(_, name)| name.clone());
                Self::Number(number, name.unwrap_or_else(|| number.to_string()))
            }
            Type::OptimizedAway(_) => Self::Unknown(OPTIMIZED_AWAY),
            Type::Redacted => Self::Unknown(REDACTED),
            Type::Aggregate { .. } | Type::Unknown => Self::Unknown(NOT_RECORDED),
            Type::Code if word != 0 => Self::Code(word),
            _ => Self::Pointer(word),
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<i128> {
        match self {
            Self::Number(number, _) => Some(*number),
            Self::Pointer(address) | Self::Code(address) | Self::Reference(Some(address), _) => Some((*address).into()),
            Self::Variant(..) => self.payload()?.number(),
            Self::Float(_)
            | Self::List(..)
            | Self::Reference(None, _)
            | Self::Text(..)
            | Self::Bytes(..)
            | Self::Structure(..)
            | Self::Absent
            | Self::Unknown(_) => None,
        }
    }

    /// What is to be compared: of a pointer to a value, that value, and of `Some(value)` and `Ok(value)` too.
    pub fn scalar(&self) -> &Self {
        match self {
            Self::Reference(_, value) => value.scalar(),
            value => value.payload().map_or(value, Self::scalar),
        }
    }

    /// The same with its variants.
    pub fn behind_pointers(&self) -> &Self {
        match self {
            Self::Reference(_, value) => value.behind_pointers(),
            value => value,
        }
    }

    /// What people mean when they speak of a variant of Rust's library that has a value.
    fn payload(&self) -> Option<&Self> {
        match self {
            Self::Variant(name, fields) if matches!(name.as_str(), "Some" | "Ok") => match &fields[..] {
                [(_, value)] => Some(value),
                _ => None,
            },
            _ => None,
        }
    }

    /// The field of this name, here or deeper; a path with dots leads to one.
    pub fn field(&self, name: &str) -> Option<&Self> {
        let (Self::Structure(fields, _) | Self::Variant(_, fields)) = self.behind_pointers() else { return None };
        let of = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        let within = || fields.iter().find_map(|(_, value)| value.field(name));
        match name.split_once('.') {
            Some((first, rest)) => of(first)?.field(rest),
            None => of(name).or_else(within),
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Text(bytes, _) => Some(String::from_utf8_lossy(bytes).into_owned()),
            value => value.payload()?.text(),
        }
    }

    /// As people read it. `name_of` names the function at an address, if there is one.
    pub fn shown(&self, name_of: &dyn Fn(u64) -> Option<String>) -> String {
        let address = |address: u64| if address == 0 { "null".to_owned() } else { format!("{address:#x}") };
        let quoted = |bytes: &[u8], goes_on: bool| format!("\"{}\"{}", escaped(bytes), if goes_on { "…" } else { "" });
        match self {
            Self::Number(_, written) | Self::Structure(_, Some(written)) => written.clone(),
            Self::Structure(fields, None) if are_numbered(fields) => format!("({})", joined(fields, name_of)),
            Self::Structure(fields, None) => format!("{{{}}}", joined(fields, name_of)),
            Self::Variant(name, fields) if fields.is_empty() => name.clone(),
            Self::Variant(name, fields) if are_numbered(fields) => format!("{name}({})", joined(fields, name_of)),
            Self::Variant(name, fields) => format!("{name} {{ {} }}", joined(fields, name_of)),
            Self::List(elements, length) => {
                let shown: Vec<String> = elements.iter().map(|element| element.shown(name_of)).collect();
                match (shown.len() as u64 == *length, &shown[..]) {
                    (true, shown) => format!("[{}]", shown.join(", ")),
                    (false, []) => format!("[…; {length}]"),
                    (false, shown) => format!("[{}, …; {length}]", shown.join(", ")),
                }
            }
            Self::Float(number) => format!("{number:?}"),
            Self::Text(bytes, goes_on) | Self::Bytes(bytes, goes_on) => quoted(bytes, *goes_on),
            Self::Pointer(at) => address(*at),
            Self::Code(at) => name_of(*at).unwrap_or_else(|| address(*at)),
            Self::Reference(_, value)
                if matches!(
                    **value,
                    Self::Structure(..) | Self::Variant(..) | Self::List(..) | Self::Reference(..)
                ) =>
            {
                format!("&{}", value.shown(name_of))
            }
            Self::Reference(_, value) => format!("[{}]", value.shown(name_of)),
            Self::Absent => String::new(),
            Self::Unknown(why) if [OPTIMIZED_AWAY, REDACTED].contains(why) => format!("<{why}>"),
            Self::Unknown(_) => "?".to_owned(),
        }
    }
}

/// Whether fields have numbers for names.
fn are_numbered(fields: &[(String, Value)]) -> bool {
    fields.iter().enumerate().all(|(number, (name, _))| *name == number.to_string()) && !fields.is_empty()
}

fn joined(fields: &[(String, Value)], name_of: &dyn Fn(u64) -> Option<String>) -> String {
    let is_numbered = are_numbered(fields);
    let field = |(name, value): &(String, Value)| match is_numbered {
        true => value.shown(name_of),
        false => format!("{name}: {}", value.shown(name_of)),
    };
    fields.iter().map(field).collect::<Vec<_>>().join(", ")
}

/// Bytes as a text: characters as they are, others escaped.
fn escaped(bytes: &[u8]) -> String {
    let mut written = String::new();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' | '\\' | '\n' | '\r' | '\t' => written.extend(character.escape_default()),
                other if other.is_control() => written.push_str(&format!("\\x{:02x}", u32::from(other))),
                other => written.push(other),
            }
        }
        chunk.invalid().iter().for_each(|byte| written.push_str(&format!("\\x{byte:02x}")));
    }
    written
}

fn cut(word: u64, is_signed: bool, bytes: u8) -> i128 {
    let bits = 64 - 8 * u32::from(bytes.clamp(1, 8));
    if is_signed { (((word << bits) as i64) >> bits).into() } else { ((word << bits) >> bits).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(ty: &Type, word: u64) -> String {
        Value::of_word(ty, word).shown(&|_| None)
    }

    #[test]
    fn words_are_cut_to_their_type() {
        assert_eq!(shown(&Type::integer(true, 4), 0xffff_ffff), "-1");
        assert_eq!(shown(&Type::integer(false, 4), 0x5_ffff_ffff), "4294967295");
        assert_eq!(shown(&Type::integer(true, 1), 0x1280), "-128");
        assert_eq!(shown(&Type::Integer { is_signed: false, bytes: 4, style: Style::Octal }, 0o644), "0644");
        assert_eq!(shown(&Type::Bool, 0x7700), "false");
        assert_eq!(shown(&Type::Char, u64::from(b'\n')), "'\\n'");
        assert_eq!(shown(&Type::Pointer, 0), "null");
        assert_eq!(shown(&Type::Float(8), 2.5_f64.to_bits()), "2.5");
    }

    #[test]
    fn fields_are_found_by_their_names() {
        let number = |number: i128| Value::Number(number, number.to_string());
        let inner = Value::Structure(vec![("y".to_owned(), number(2))], None);
        let outer = Value::Structure(vec![("x".to_owned(), number(1)), ("at".to_owned(), inner)], None);
        assert_eq!(outer.shown(&|_| None), "{x: 1, at: {y: 2}}");
        let behind = Value::Reference(Some(16), Box::new(outer));
        assert_eq!(behind.field("y"), Some(&number(2)));
        assert_eq!(behind.field("at.y"), Some(&number(2)));
        assert_eq!((behind.field("z"), behind.field("x.y")), (None, None));
    }

    #[test]
    fn texts_are_quoted() {
        let text = |bytes: &[u8], goes_on| Value::Text(bytes.to_vec(), goes_on).shown(&|_| None);
        assert_eq!(text(b"a \"b\"\n", false), r#""a \"b\"\n""#);
        assert_eq!(text("grün\u{1b}".as_bytes(), true), "\"grün\\x1b\"…");
        assert_eq!(text(b"\xff", false), "\"\\xff\"");
    }
}
