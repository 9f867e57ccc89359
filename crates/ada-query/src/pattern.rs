//! SQL's two kinds of patterns, as SQLite matches them.

/// `LIKE`: `%` and `_` are wild, ASCII letters are alike in both cases.
pub(crate) fn like(pattern: &str, text: &str) -> bool {
    let pattern: Vec<Part> = pattern
        .chars()
        .map(|letter| match letter {
            '%' => Part::Any,
            '_' => Part::One,
            other => Part::Letter(other.to_ascii_lowercase()),
        })
        .collect();
    matches(&pattern, text, |letter| letter.to_ascii_lowercase())
}

/// `GLOB` without sets of letters: `*` and `?` are wild. None where the pattern has a set.
pub(crate) fn glob(pattern: &str, text: &str) -> Option<bool> {
    if pattern.contains('[') {
        return None;
    }
    let pattern: Vec<Part> = pattern
        .chars()
        .map(|letter| match letter {
            '*' => Part::Any,
            '?' => Part::One,
            other => Part::Letter(other),
        })
        .collect();
    Some(matches(&pattern, text, |letter| letter))
}

enum Part {
    Any,
    One,
    Letter(char),
}

/// Goes back to the newest wild part only, which takes time by the product of both lengths at most.
fn matches(pattern: &[Part], text: &str, fold: impl Fn(char) -> char) -> bool {
    let text: Vec<char> = text.chars().map(fold).collect();
    let (mut at, mut in_text) = (0, 0);
    let mut wild: Option<(usize, usize)> = None;
    while in_text < text.len() {
        match pattern.get(at) {
            Some(Part::Any) => {
                wild = Some((at, in_text));
                at += 1;
                continue;
            }
            Some(Part::One) => {
                at += 1;
                in_text += 1;
                continue;
            }
            Some(Part::Letter(letter)) if *letter == text[in_text] => {
                at += 1;
                in_text += 1;
                continue;
            }
            _ => (),
        }
        let Some((wild_at, from)) = wild else { return false };
        wild = Some((wild_at, from + 1));
        (at, in_text) = (wild_at + 1, from + 1);
    }
    pattern[at..].iter().all(|part| matches!(part, Part::Any))
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
