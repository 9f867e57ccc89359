//! Columns of `stats` by the names of what it groups by: `SELECT name, count FROM stats('name')`.

use crate::grouping::{Token, Word, parse_parts, words};
use crate::predicate::Subject;

use super::COLUMNS;

/// A statement in which `stats` has named columns. None where nothing changes: it has none, its columns are not typed but
/// computed, or it is asked for `key1` and the like.
pub(crate) fn with_names(sql: &str) -> Option<String> {
    let words = words(sql)?;
    let is_numbered = |word: &Word| matches!(&word.token, Token::Name(name) if name.starts_with("key"));
    if words.iter().any(is_numbered) {
        return None;
    }
    let mut text = String::new();
    let mut copied = 0;
    let mut rest = &words[..];
    while let [first, behind @ ..] = rest {
        rest = behind;
        let [open, columns, ..] = behind else { continue };
        if !first.is("stats") || !open.is_sign('(') || columns.token != Token::Text {
            continue;
        }
        let parts = parse_parts(Subject::Spans, sql.get(columns.from + 1..columns.until - 1)?).ok()?;
        let mut depth = 0;
        let close = behind.iter().find(|word| {
            depth += i32::from(word.is_sign('(')) - i32::from(word.is_sign(')'));
            depth == 0
        })?;
        let keys = parts.iter().zip(1..).map(|(part, number)| {
            let name = part.field.name(Subject::Spans);
            // One of the sums may have the same name.
            if COLUMNS.iter().any(|it| it.name == name) {
                format!("key{number}")
            } else {
                format!("key{number} AS {name}")
            }
        });
        let sums = COLUMNS.iter().filter(|it| !it.name.starts_with("key")).map(|it| it.name.to_owned());
        let chosen: Vec<String> = keys.chain(sums).collect();
        text += sql.get(copied..first.from)?;
        text += &format!("(SELECT {} FROM {})", chosen.join(", "), sql.get(first.from..close.until)?);
        copied = close.until;
    }
    (copied > 0).then(|| text + &sql[copied..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_grouped_by_is_a_column_of_its_name() {
        let sums = "count, total_ns, self_ns, min_ns, max_ns, avg_ns, p50_ns, p95_ns, p99_ns";
        assert_eq!(
            with_names("SELECT name, count FROM stats('name, start_ns/1000', 'depth IN (1, 2)') s WHERE name > 'a'"),
            Some(format!(
                "SELECT name, count FROM (SELECT key1 AS name, key2 AS start_ns, {sums} FROM stats('name, start_ns/1000', \
                 'depth IN (1, 2)')) s WHERE name > 'a'"
            ))
        );
        assert_eq!(with_names("SELECT key1 FROM stats('name')"), None);
        assert_eq!(with_names("SELECT * FROM stats('nmae')"), None, "stats itself says what is wrong");
        assert_eq!(with_names("SELECT name FROM functions"), None);
    }
}
