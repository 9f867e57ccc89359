//! Names of types, as the agent has read them from the type's descriptors.

use crate::concurrency::Text;

/// A type's name, and what it is declared in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct TypeName {
    /// With the types around it: `Outer.Inner`.
    pub(crate) name: String,
    /// None where the names had no room.
    pub(crate) module: Option<String>,
    /// Of an enum's value: its case.
    pub(crate) case: Option<String>,
}

impl TypeName {
    /// By texts with zeros behind them: the case or nothing, the type, and what is around it from the inside out.
    pub(crate) fn of(text: &Text) -> Option<Self> {
        // What has no zero behind it had no room.
        let (whole, _) = text.bytes.split_at(text.bytes.iter().rposition(|byte| *byte == 0)?);
        let mut texts = whole.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned());
        let case = texts.next().filter(|case| !case.is_empty());
        let mut names: Vec<String> = texts.filter(|name| !name.is_empty()).collect();
        let module = if text.is_cut || names.len() < 2 { None } else { names.pop() };
        if names.is_empty() {
            return None;
        }
        names.reverse();
        let name = if text.is_cut { format!("….{}", names.join(".")) } else { names.join(".") };
        Some(Self { name: name.replace(char::is_control, "?"), module, case })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(bytes: &[u8], is_cut: bool) -> Option<TypeName> {
        TypeName::of(&Text { bytes: bytes.to_vec(), is_cut })
    }

    #[test]
    fn names_go_from_the_outside_in() {
        let made = |name: &str, module: Option<&str>, case: Option<&str>| {
            Some(TypeName { name: name.into(), module: module.map(str::to_owned), case: case.map(str::to_owned) })
        };
        assert_eq!(name_of(b"second\0Failure\0app\0", false), made("Failure", Some("app"), Some("second")));
        assert_eq!(name_of(b"\0Inner\0Outer\0app\0", false), made("Outer.Inner", Some("app"), None));
        assert_eq!(name_of(b"\0Inner\0", false), made("Inner", None, None));
        // The name of what is around it had no room.
        assert_eq!(name_of(b"\0Inner\0", true), made("….Inner", None, None));
        for bytes in [&b""[..], b"\0", b"\0\0", b"case\0", b"Type"] {
            assert_eq!(name_of(bytes, false), None, "{bytes:?}");
        }
    }
}
