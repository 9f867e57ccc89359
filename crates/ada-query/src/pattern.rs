//! SQL's two kinds of patterns, as SQLite matches them.

use ada_image::Wildcards;

/// `LIKE`: `%` and `_` are wild, ASCII letters are alike in both cases.
pub(crate) fn like(pattern: &str, text: &str) -> bool {
    Wildcards { any: '%', one: '_', ignores_ascii_case: true }.matches(pattern, text)
}

/// `GLOB` without sets of letters: `*` and `?` are wild. None where the pattern has a set.
pub(crate) fn glob(pattern: &str, text: &str) -> Option<bool> {
    (!pattern.contains('[')).then(|| ada_image::glob(pattern, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_sqlite() {
        let sqlite = rusqlite::Connection::open_in_memory().unwrap();
        let texts = ["", "a", "abc", "ABC", "aXbXc", "parse_number", "std::vec<int>", "ä%_b", "aab"];
        let patterns = ["", "%", "a%", "%c", "a_c", "%x%", "parse\\_%", "A%B%C", "%%", "_", "ä%", "%a_b", "%aab%"];
        for pattern in patterns {
            for text in texts {
                let ask = |sql: &str, pattern: &str| -> bool {
                    sqlite.query_row(sql, [text, pattern], |row| row.get(0)).unwrap()
                };
                assert_eq!(like(pattern, text), ask("SELECT ?1 LIKE ?2", pattern), "{text} LIKE {pattern}");
                let stars = pattern.replace('%', "*").replace('_', "?");
                assert_eq!(glob(&stars, text), Some(ask("SELECT ?1 GLOB ?2", &stars)), "{text} GLOB {stars}");
            }
        }
        assert_eq!(glob("[a]", "a"), None);
    }
}
