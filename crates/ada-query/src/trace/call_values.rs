//! What calls were made with, and what they gave back.

use ada_value::{Value, call_line, call_line_within, find_value, result_line};
use serde_json::{Map, json};

/// A call with its values, as far as these were captured.
#[derive(Clone, Debug, PartialEq)]
pub struct CallValues {
    pub(super) name: String,
    pub(super) arguments: Vec<NamedValue>,
    /// Whether there are, or may be, arguments that are not known.
    pub(super) has_more: bool,
    pub(super) result: Option<NamedValue>,
    /// Why it has failed: the error's number and name.
    pub(super) error: Option<(i64, String)>,
}

/// A value, and what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedValue {
    /// The parameter's name, or `result`.
    pub name: String,
    /// Its type, as prototypes are written.
    pub ty: String,
    /// The value.
    pub value: Value,
    /// As people read it.
    pub text: String,
}

impl CallValues {
    /// The arguments that are there.
    pub fn arguments(&self) -> impl Iterator<Item = &NamedValue> + Clone {
        self.arguments.iter().filter(|argument| argument.value != Value::Absent)
    }

    /// The result, once there is one.
    pub fn result(&self) -> Option<&NamedValue> {
        self.result.as_ref()
    }

    /// Why it has failed, if it has and that is known: the error's number and name.
    pub fn error(&self) -> Option<(i64, &str)> {
        self.error.as_ref().map(|(number, name)| (*number, name.as_str()))
    }

    /// The value of a parameter or of one of its fields, of the result, or of `errno`.
    pub fn find(&self, name: &str) -> Option<Value> {
        let arguments = self.arguments().map(|it| (it.name.as_str(), &it.value));
        find_value(arguments, self.result.as_ref().map(|it| &it.value), self.error(), name)
    }

    /// As a line: `open("/etc/passwd", O_RDONLY) = 3`.
    pub fn line(&self) -> String {
        call_line(&self.name, self.arguments().map(|it| it.text.as_str()), self.has_more) + &self.end()
    }

    /// The same in so many columns; `short_name` makes a name fit into the room that it gets.
    pub fn line_within(&self, columns: usize, short_name: &dyn Fn(&str, usize) -> String) -> String {
        let arguments = self.arguments().map(|it| it.text.as_str()).chain(self.has_more.then_some("…"));
        call_line_within(&self.name, &arguments.collect::<Vec<_>>(), &self.end(), columns, short_name)
    }

    fn end(&self) -> String {
        result_line(self.result.as_ref().map(|it| it.text.as_str()), self.error().map(|(_, name)| name))
    }

    /// As JSON: the line, the arguments, the result and the error.
    pub fn to_json(&self) -> serde_json::Value {
        let named = |it: &NamedValue| {
            let mut shown: Map<String, serde_json::Value> = Map::new();
            shown.insert("name".to_owned(), it.name.clone().into());
            shown.insert("type".to_owned(), it.ty.clone().into());
            shown.insert("value".to_owned(), it.text.clone().into());
            if let Some(number) = it.number() {
                shown.insert("number".to_owned(), number.into());
            }
            if let Some(text) = it.value.text() {
                shown.insert("text".to_owned(), text.into());
            }
            match it.value.behind_pointers() {
                Value::Structure(..) => drop(shown.insert("fields".to_owned(), it.to_json())),
                Value::Variant(name, _) => {
                    shown.insert("variant".to_owned(), name.clone().into());
                    shown.insert("fields".to_owned(), it.to_json());
                }
                Value::List(_, length) => {
                    shown.insert("length".to_owned(), (*length).into());
                    shown.insert("fields".to_owned(), it.to_json());
                }
                _ => {}
            }
            serde_json::Value::from(shown)
        };
        let arguments: Vec<serde_json::Value> = self.arguments().map(named).collect();
        let error = self.error().map(|(number, name)| json!({ "number": number, "name": name }));
        json!({ "line": self.line(), "arguments": arguments, "result": self.result.as_ref().map(named), "error": error })
    }
}

impl NamedValue {
    /// The number, if it is one that 64 bits hold.
    pub fn number(&self) -> Option<i64> {
        self.value.number().and_then(|number| i64::try_from(number).ok())
    }

    /// The value as JSON has it: a number, a text, or an object of fields. Of a list it is an object with its length and with the
    /// elements that were captured; a variant without fields is its name, and others are objects with that. Addresses are texts,
    /// and what is not known is null.
    pub fn to_json(&self) -> serde_json::Value {
        value_json(&self.value, &self.text)
    }
}

/// `shown`: how people read it.
fn value_json(value: &Value, shown: &str) -> serde_json::Value {
    match value {
        Value::Number(number, written) if *written == number.to_string() => {
            i64::try_from(*number).map_or_else(|_| written.clone().into(), Into::into)
        }
        Value::Float(number) => (*number).into(),
        Value::Text(..) => value.text().into(),
        Value::Reference(_, value) => inner_json(value),
        Value::Structure(fields, _) => fields_json(fields),
        Value::Variant(name, fields) => match &fields[..] {
            [] => name.clone().into(),
            // The one value of a variant like `Some`.
            [(number, value)] if number == "0" => json!({ name: inner_json(value) }),
            fields => json!({ name: fields_json(fields) }),
        },
        Value::List(elements, length) => {
            let elements: Vec<serde_json::Value> = elements.iter().map(inner_json).collect();
            json!({ "length": length, "elements": elements })
        }
        Value::Unknown(_) | Value::Absent => serde_json::Value::Null,
        Value::Number(..) | Value::Bytes(..) | Value::Pointer(_) | Value::Code(_) => shown.into(),
    }
}

fn inner_json(value: &Value) -> serde_json::Value {
    value_json(value, &value.shown(&|_| None))
}

fn fields_json(fields: &[(String, Value)]) -> serde_json::Value {
    fields.iter().map(|(name, value)| (name.clone(), inner_json(value))).collect::<Map<_, _>>().into()
}
