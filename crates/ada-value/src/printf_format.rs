//! What a format of printf says of the arguments behind it.

use crate::ty::{Style, Type};

/// The types of the arguments that a format asks for, in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FormatArguments {
    pub(crate) types: Vec<Type>,
    /// Whether these are all. Not where the format has something that is not known here.
    pub(crate) are_all: bool,
}

/// Reads a format, as far as it is understood.
pub(crate) fn format_arguments(format: &[u8]) -> FormatArguments {
    let mut types = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        let Some(after) = conversion(&rest[at + 1..], &mut types) else {
            return FormatArguments { types, are_all: false };
        };
        rest = after;
    }
    FormatArguments { types, are_all: true }
}

/// Adds what one conversion asks for; gives what follows it.
fn conversion<'f>(mut format: &'f [u8], types: &mut Vec<Type>) -> Option<&'f [u8]> {
    let mut wanted = Vec::new();
    while let Some((byte, after)) = format.split_first()
        && b"-+ #0'.*123456789".contains(byte)
    {
        // A width or a precision may be an argument.
        if *byte == b'*' {
            wanted.push(Type::integer(true, 4));
        }
        format = after;
    }
    let end = format.iter().position(|byte| !b"hlqjztL".contains(byte))?;
    let (length, after) = format.split_at(end);
    let (kind, after) = after.split_first()?;
    let bytes = match length {
        b"hh" => 1,
        b"h" => 2,
        b"" => 4,
        b"l" | b"ll" | b"q" | b"j" | b"z" | b"t" | b"L" => 8,
        _ => return None,
    };
    let unsigned = |style| Type::Integer { is_signed: false, bytes, style };
    match (kind, length) {
        (b'd' | b'i', _) => wanted.push(Type::integer(true, bytes)),
        (b'u', _) => wanted.push(unsigned(Style::Decimal)),
        (b'x' | b'X', _) => wanted.push(unsigned(Style::Hex)),
        (b'o', _) => wanted.push(unsigned(Style::Octal)),
        (b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A', _) => {
            wanted.push(Type::Float(if length == b"L" { 16 } else { 8 }));
        }
        (b'c', b"") => wanted.push(Type::Char),
        (b's', b"") => wanted.push(Type::Text),
        (b'p' | b'n', _) | (b's', b"l") => wanted.push(Type::Pointer),
        // The words for errno.
        (b'm' | b'%', b"") => {}
        // `%2$d` among them, which changes the order.
        _ => return None,
    }
    types.extend(wanted);
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_ask_for_arguments() {
        let int = Type::integer(true, 4);
        let found = format_arguments(b"%s: %-5d of %*.3f, 100 %% %m %llu%#lx%c");
        let unsigned = |style| Type::Integer { is_signed: false, bytes: 8, style };
        let types = vec![
            Type::Text,
            int.clone(),
            int.clone(),
            Type::Float(8),
            unsigned(Style::Decimal),
            unsigned(Style::Hex),
            Type::Char,
        ];
        assert_eq!(found, FormatArguments { types, are_all: true });
        assert_eq!(format_arguments(b"%Lg").types, [Type::Float(16)]);
    }

    #[test]
    fn what_is_not_understood_ends_what_is_known() {
        let int = Type::integer(true, 4);
        for format in ["%d %2$d %s", "%d %y %d", "%d %", "%d %l", "%d %hhhd"] {
            let known = FormatArguments { types: vec![int.clone()], are_all: false };
            assert_eq!(format_arguments(format.as_bytes()), known, "{format}");
        }
        assert_eq!(format_arguments(b""), FormatArguments { types: Vec::new(), are_all: true });
    }
}
