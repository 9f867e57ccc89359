//! `SELECT … FROM spans … GROUP BY …` in the words of `stats`, where these mean the same: SQLite's own grouping takes ten
//! times as long, and its memory has a limit.

use super::condition;
use super::group::parse_parts;

/// The same question to `stats`. None where it asks for more than that can answer, and SQLite has to.
pub(crate) fn grouped(sql: &str) -> Option<String> {
    let sql = sql.trim().trim_end_matches(';').trim();
    let tokens = tokens(sql)?;
    let mut parts = Parts { sql, tokens: &tokens, at: 0 };
    parts.word("select")?;
    let items = parts.until("from")?;
    parts.word("from")?;
    parts.word("spans")?;
    let condition = if parts.word("where").is_some() { parts.text_until("group")? } else { "" };
    parts.word("group")?;
    parts.word("by")?;
    let (keys, order) = parts.keys_and_order()?;
    // What stats does not know of makes SQLite answer, and complain.
    parse_parts(&keys.join(", ")).ok()?;
    if !condition.trim().is_empty() {
        condition::parse(condition).ok()?;
    }
    let mut columns = Vec::new();
    let mut aliases = Vec::new();
    for item in split(items, ",") {
        let (expression, alias) = match item {
            [expression @ .., (_, Token::Word(word)), (_, Token::Word(alias))] if word == "as" => {
                (expression, Some(alias))
            }
            expression => (expression, None),
        };
        let column = meaning(expression, &keys)?;
        let text = match alias {
            Some(alias) => alias.clone(),
            // What SQLite would call the column.
            None => text_of(sql, expression)?.to_owned(),
        };
        columns.push(format!("{column} AS \"{}\"", text.replace('"', "\"\"")));
        aliases.extend(alias.cloned());
    }
    let (mut order, limit) = ordered(sql, order, &keys, &aliases)?;
    // SQLite sorts what it groups.
    order.extend((1..=keys.len()).map(|number| format!("key{number}")));
    let quoted = |text: &str| text.replace('\'', "''");
    Some(format!(
        "SELECT {} FROM stats('{}', '{}') ORDER BY {}{limit}",
        columns.join(", "),
        quoted(&keys.join(", ")),
        quoted(condition.trim()),
        order.join(", "),
    ))
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// In lower case.
    Word(String),
    Sign(char),
    /// A number, or a text in quotes.
    Constant,
}

type Placed = (usize, Token);

fn tokens(sql: &str) -> Option<Vec<Placed>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(letter) = sql[at..].chars().next() {
        let rest = &sql[at..];
        let is_part = |it: char| it.is_alphanumeric() || it == '_';
        if letter.is_whitespace() {
            at += letter.len_utf8();
        } else if letter.is_alphanumeric() || letter == '_' {
            let length = rest.find(|it: char| !is_part(it)).unwrap_or(rest.len());
            let word = rest[..length].to_lowercase();
            found.push((at, if letter.is_ascii_digit() { Token::Constant } else { Token::Word(word) }));
            at += length;
        } else if letter == '\'' {
            // A doubled quote begins the next text, which is as good.
            let length = rest[1..].find('\'')? + 2;
            found.push((at, Token::Constant));
            at += length;
        } else if matches!(letter, '"' | '`' | '[') || rest.starts_with("--") || rest.starts_with("/*") {
            return None;
        } else {
            found.push((at, Token::Sign(letter)));
            at += letter.len_utf8();
        }
    }
    found.push((sql.len(), Token::Sign(';')));
    Some(found)
}

struct Parts<'a> {
    sql: &'a str,
    tokens: &'a [Placed],
    at: usize,
}

impl<'a> Parts<'a> {
    fn word(&mut self, wanted: &str) -> Option<()> {
        let is_it = matches!(self.tokens.get(self.at), Some((_, Token::Word(word))) if word == wanted);
        self.at += usize::from(is_it);
        is_it.then_some(())
    }

    /// What comes before a word.
    fn until(&mut self, word: &str) -> Option<&'a [Placed]> {
        let rest = &self.tokens[self.at..];
        let length = rest.iter().position(|(_, token)| matches!(token, Token::Word(it) if it == word))?;
        self.at += length;
        Some(&rest[..length])
    }

    fn text_until(&mut self, word: &str) -> Option<&'a str> {
        let from = self.tokens.get(self.at)?.0;
        self.until(word)?;
        self.sql.get(from..self.tokens.get(self.at)?.0)
    }

    /// Columns that are grouped by, and what follows them from ORDER or LIMIT on.
    fn keys_and_order(&mut self) -> Option<(Vec<String>, &'a [Placed])> {
        let rest = &self.tokens[self.at..self.tokens.len() - 1];
        let is_end = |token: &Token| matches!(token, Token::Word(word) if word == "order" || word == "limit");
        let length = rest.iter().position(|(_, token)| is_end(token)).unwrap_or(rest.len());
        let keys: Option<Vec<String>> = split(&rest[..length], ",")
            .into_iter()
            .map(|key| match key {
                [(_, Token::Word(word))] => Some(word.clone()),
                _ => None,
            })
            .collect();
        let order = match &rest[length..] {
            [(_, Token::Word(order)), (_, Token::Word(by)), rest @ ..] if order == "order" && by == "by" => rest,
            rest => rest,
        };
        Some((keys?, order))
    }
}

fn split<'a>(tokens: &'a [Placed], sign: &str) -> Vec<&'a [Placed]> {
    tokens.split(|(_, token)| matches!(token, Token::Sign(it) if sign.contains(*it))).collect()
}

/// The column of stats that an expression means.
fn meaning(expression: &[Placed], keys: &[String]) -> Option<String> {
    let words: Vec<&Token> = expression.iter().map(|(_, token)| token).collect();
    let aggregate = |name: &str, of: &str| match (name, of) {
        ("sum", "duration_ns") => Some("total_ns"),
        ("sum", "self_ns") => Some("self_ns"),
        ("min", "duration_ns") => Some("min_ns"),
        ("max", "duration_ns") => Some("max_ns"),
        ("avg", "duration_ns") => Some("avg_ns"),
        _ => None,
    };
    match words[..] {
        [Token::Word(column)] => {
            let number = keys.iter().position(|key| key == column)?;
            Some(format!("key{}", number + 1))
        }
        [Token::Word(name), Token::Sign('('), Token::Sign('*'), Token::Sign(')')] if name == "count" => {
            Some("count".to_owned())
        }
        [Token::Word(name), Token::Sign('('), Token::Word(of), Token::Sign(')')] => {
            aggregate(name, of).map(str::to_owned)
        }
        _ => None,
    }
}

/// What SQLite takes for a column's name: the expression as it was typed.
fn text_of<'a>(sql: &'a str, expression: &[Placed]) -> Option<&'a str> {
    let ((from, _), (last, token)) = (expression.first()?, expression.last()?);
    let length = match token {
        Token::Word(word) => word.len(),
        _ => 1,
    };
    sql.get(*from..last + length)
}

/// What follows ORDER BY, in the words of stats, and the limit as it was typed.
fn ordered(sql: &str, order: &[Placed], keys: &[String], aliases: &[String]) -> Option<(Vec<String>, String)> {
    let is_limit = |token: &Token| matches!(token, Token::Word(word) if word == "limit");
    let length = order.iter().position(|(_, token)| is_limit(token)).unwrap_or(order.len());
    let (terms, limit) = order.split_at(length);
    let mut texts = Vec::new();
    for term in split(terms, ",").into_iter().filter(|term| !term.is_empty()) {
        let (expression, direction) = match term {
            [expression @ .., (_, Token::Word(word))] if word == "desc" => (expression, " DESC"),
            [expression @ .., (_, Token::Word(word))] if word == "asc" => (expression, ""),
            expression => (expression, ""),
        };
        let column = match expression {
            [(_, Token::Word(word))] if aliases.contains(word) => format!("\"{word}\""),
            expression => meaning(expression, keys)?,
        };
        texts.push(format!("{column}{direction}"));
    }
    match limit {
        [] => Some((texts, String::new())),
        [_, (at, Token::Constant)] => Some((texts, format!(" LIMIT {}", sql.get(*at..)?))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_that_stats_can_answer_are_put_to_it() {
        let sql = "SELECT name, count(*) AS n, sum(duration_ns) FROM spans WHERE status = 'open' AND name <> 'it''s' \
                   GROUP BY name ORDER BY n DESC, sum(duration_ns) LIMIT 5;";
        let words = "SELECT key1 AS \"name\", count AS \"n\", total_ns AS \"sum(duration_ns)\" FROM stats('name', \
                     'status = ''open'' AND name <> ''it''''s''') ORDER BY \"n\" DESC, total_ns, key1 LIMIT 5";
        assert_eq!(grouped(sql).as_deref(), Some(words));
        let two = "select Status, reason, COUNT(*) from spans group by status, reason";
        let words = "SELECT key1 AS \"Status\", key2 AS \"reason\", count AS \"COUNT(*)\" FROM stats('status, reason', '') \
                     ORDER BY key1, key2";
        assert_eq!(grouped(two).as_deref(), Some(words));
    }

    #[test]
    fn all_others_are_left_to_sqlite() {
        for sql in [
            "SELECT count(*) FROM spans",
            "SELECT name FROM functions GROUP BY name",
            "SELECT name, p99(duration_ns) FROM spans GROUP BY name",
            "SELECT name, sum(depth) FROM spans GROUP BY name",
            "SELECT upper(name), count(*) FROM spans GROUP BY name",
            "SELECT module, count(*) FROM spans GROUP BY name",
            "SELECT name, count(*) FROM spans GROUP BY name HAVING count(*) > 3",
            "SELECT name, count(*) FROM spans s GROUP BY name",
            "SELECT name, count(*) FROM spans JOIN functions USING (name) GROUP BY name",
            "SELECT name, count(*) FROM spans WHERE name IN (SELECT name FROM functions) GROUP BY name",
            "SELECT name, count(*) FROM spans GROUP BY name ORDER BY length(name)",
            "SELECT name, count(*) FROM spans GROUP BY name UNION SELECT 1, 2",
            "SELECT name, count(*) FROM spans GROUP BY name LIMIT 3 OFFSET 2",
            "SELECT \"name\", count(*) FROM spans GROUP BY name",
            "SELECT name, count(*) FROM spans GROUP BY 1",
            "SELECT name, count(*) FROM spans GROUP BY evidence",
            "SELECT name -- group by\n FROM spans GROUP BY name",
            "SELECT DISTINCT name FROM spans GROUP BY name",
            "WITH x AS (SELECT 1) SELECT name, count(*) FROM spans GROUP BY name",
            "'",
            "",
        ] {
            assert_eq!(grouped(sql), None, "{sql}");
        }
    }
}
