//! Values in the names of folders, as Hive, Spark and DuckDB read them: `host=web1`.

/// What Hive writes for a value that is not known.
const UNKNOWN: &str = "__HIVE_DEFAULT_PARTITION__";

/// A folder's name.
pub(crate) fn folder_name(column: &str, value: Option<&str>) -> String {
    format!("{column}={}", value.map_or_else(|| UNKNOWN.to_owned(), escaped))
}

/// The column and the value that a folder's name stands for.
pub(crate) fn parse_folder_name(name: &str) -> Option<(String, Option<String>)> {
    let (column, value) = name.split_once('=')?;
    Some((column.to_owned(), Some(unescaped(value)).filter(|_| value != UNKNOWN)))
}

pub(crate) fn escaped(text: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
    let escape = |letter: char| {
        let mut bytes = [0; 4];
        letter.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")).collect::<String>()
    };
    text.chars().map(|it| if plain(it) { it.to_string() } else { escape(it) }).collect()
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = after.first_chunk::<2>().filter(|_| *first == b'%');
        let value = escaped.and_then(|it| u8::from_str_radix(std::str::from_utf8(it).ok()?, 16).ok());
        bytes.push(value.unwrap_or(*first));
        rest = if value.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_as_others_read_them() {
        assert_eq!(folder_name("session", Some("session_20261115_101500")), "session=session_20261115_101500");
        assert_eq!(folder_name("host", Some("a=b/c#2")), "host=a%3Db%2Fc%232");
        assert_eq!(folder_name("version", None), "version=__HIVE_DEFAULT_PARTITION__");
    }

    #[test]
    fn names_read_back_as_they_were_meant() {
        for value in [Some("session_20261115"), Some("a=b/c#2"), Some("50%"), Some("größe"), None] {
            let read = parse_folder_name(&folder_name("key", value));
            assert_eq!(read, Some(("key".to_owned(), value.map(str::to_owned))));
        }
        assert_eq!(parse_folder_name("50%=50%"), Some(("50%".to_owned(), Some("50%".to_owned()))));
        assert_eq!(parse_folder_name("part-00000.parquet"), None);
    }
}
