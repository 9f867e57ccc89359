//! Questions in SQL that group spans or events, taken apart: what is grouped here, and what SQLite does with the groups.
//!
//! Only the shape of a statement is looked at. Expressions over groups stay as they were typed, with the sums and the
//! columns in them replaced. Whatever is not known here makes SQLite answer as it always does, and complain.

use super::answer::MOST_VALUES;
use super::question::{Aggregate, MOST_PARTS, Part, Question, Term, Top};
use super::sql_words::{Token, Word, words};
use crate::predicate::{Field, Subject, Test, parse_condition};

/// A statement in two parts.
#[derive(Debug, PartialEq)]
pub(crate) struct Rewritten {
    pub(crate) question: Question,
    /// What is asked of the groups, in a table `ada_groups`.
    pub(crate) sql: String,
}

/// What SQLite also knows as sums, and this does not.
const OTHER_SUMS: [&str; 10] = [
    "group_concat",
    "string_agg",
    "json_group_array",
    "json_group_object",
    "median",
    "percentile",
    "p95",
    "p99",
    "jsonb_group_array",
    "jsonb_group_object",
];
/// Words of expressions.
const WORDS: [&str; 24] = [
    "and", "or", "not", "is", "null", "in", "like", "glob", "between", "case", "when", "then", "else", "end", "cast",
    "as", "integer", "text", "real", "escape", "true", "false", "isnull", "notnull",
];

/// Takes a statement apart.
pub(crate) fn rewrite(sql: &str) -> Option<Rewritten> {
    let words = words(sql)?;
    let clauses = Clauses::of(&words)?;
    let subject = clauses.subject;
    let mut rewriting = Rewriting { sql, clauses: &clauses, keys: Vec::new(), items: Vec::new(), values: Vec::new() };
    let items: Vec<Item> = split(clauses.items).into_iter().map(|item| rewriting.item(item)).collect::<Option<_>>()?;
    for key in clauses.keys.map(split).unwrap_or_default() {
        let key = rewriting.key(key, &items)?;
        rewriting.keys.push(key);
    }
    if rewriting.keys.len() > MOST_PARTS || clauses.keys.is_some_and(<[_]>::is_empty) {
        return None;
    }
    for item in &items {
        let text = rewriting.express(item.expression)?;
        rewriting.items.push((item.name.clone(), text));
    }
    // A question without sums and groups is about single rows.
    if clauses.keys.is_none() && rewriting.values.is_empty() {
        return None;
    }
    let columns = rewriting.items.iter().map(|(name, text)| format!("{text} AS \"{}\"", name.replace('"', "\"\"")));
    let mut text = format!("SELECT {} FROM ada_groups", columns.collect::<Vec<_>>().join(", "));
    if let Some(having) = clauses.having {
        text += &format!(" WHERE {}", rewriting.express(having)?);
    }
    let (mut terms, mut order) = (Some(Vec::new()), Vec::new());
    for term in clauses.order.map(split).unwrap_or_default() {
        let (term, text) = rewriting.order_term(term, &items)?;
        order.push(text);
        terms = terms.zip(term).map(|(mut terms, term)| {
            terms.push(term);
            terms
        });
    }
    if !order.is_empty() {
        text += &format!(" ORDER BY {}", order.join(", "));
    }
    let mut count = None;
    if let Some(limit) = clauses.limit {
        text += &format!(" LIMIT {}", rewriting.text(limit)?);
        count = count_of(limit);
    }
    let top = terms.zip(count).filter(|_| clauses.having.is_none()).map(|(terms, count)| Top { terms, count });
    let test = match clauses.condition {
        Some(condition) => parse_condition(subject, &rewriting.text(condition)?).ok()?,
        None => Test::All(Vec::new()),
    };
    let parts = rewriting.keys.iter().map(|key| key.part).collect();
    let values = rewriting.values;
    let is_never_empty = clauses.keys.is_none();
    let question = Question { subject, parts, test, values, top, is_never_empty, wants_quantiles: false };
    Some(Rewritten { question, sql: text })
}

/// How many rows are asked for: LIMIT n, LIMIT n OFFSET m or LIMIT m, n.
fn count_of(limit: &[Word]) -> Option<usize> {
    let number = |word: &Word| match &word.token {
        Token::Number(text) => text.parse::<usize>().ok(),
        _ => None,
    };
    match limit {
        [count] => number(count),
        [first, _, second] => number(first)?.checked_add(number(second)?),
        _ => None,
    }
}

/// The parts of a statement.
struct Clauses<'a> {
    subject: Subject,
    /// What columns may be called by: the table's name, or another one.
    table: String,
    items: &'a [Word],
    condition: Option<&'a [Word]>,
    keys: Option<&'a [Word]>,
    having: Option<&'a [Word]>,
    order: Option<&'a [Word]>,
    limit: Option<&'a [Word]>,
}

impl<'a> Clauses<'a> {
    fn of(words: &'a [Word]) -> Option<Self> {
        let words = match words {
            [rest @ .., last] if last.is_sign(';') => rest,
            words => words,
        };
        // Joins, unions, windows and questions in questions are SQLite's.
        let foreign = [
            "join",
            "union",
            "intersect",
            "except",
            "window",
            "over",
            "filter",
            "distinct",
            "all",
            "with",
            "exists",
            "collate",
        ];
        let is_foreign = |word: &Word| matches!(&word.token, Token::Name(name) if foreign.contains(&name.as_str()));
        if words.iter().any(is_foreign) || words.iter().filter(|word| word.is("select")).count() != 1 {
            return None;
        }
        let rest = words.first().filter(|word| word.is("select")).map(|_| &words[1..])?;
        let (items, rest) = until(rest, &["from"]);
        let (from, mut rest) = until(rest.get(1..)?, &["where", "group", "having", "order", "limit"]);
        let (table, alias) = match from {
            [table] => (table, table),
            [table, alias] => (table, alias),
            [table, word, alias] if word.is("as") => (table, alias),
            _ => return None,
        };
        let (Token::Name(table), Token::Name(alias)) = (&table.token, &alias.token) else { return None };
        let mut clauses = Self {
            subject: Subject::from_name(table)?,
            table: alias.clone(),
            items,
            condition: None,
            keys: None,
            having: None,
            order: None,
            limit: None,
        };
        let following = ["where", "group", "having", "order", "limit"];
        for (at, name) in following.iter().enumerate() {
            if rest.first().is_some_and(|word| word.is(name)) {
                let skipped = if matches!(*name, "group" | "order") { 2 } else { 1 };
                if skipped == 2 && !rest.get(1)?.is("by") {
                    return None;
                }
                let clause;
                (clause, rest) = until(rest.get(skipped..)?, &following[at + 1..]);
                let slot = match at {
                    0 => &mut clauses.condition,
                    1 => &mut clauses.keys,
                    2 => &mut clauses.having,
                    3 => &mut clauses.order,
                    _ => &mut clauses.limit,
                };
                *slot = Some(clause);
            }
        }
        (rest.is_empty() && !items.is_empty()).then_some(clauses)
    }
}

/// What comes before one of some words outside parentheses, and the rest.
fn until<'a>(words: &'a [Word], ends: &[&str]) -> (&'a [Word], &'a [Word]) {
    let mut depth = 0;
    let end = words.iter().position(|word| {
        depth += i32::from(word.is_sign('(')) - i32::from(word.is_sign(')'));
        depth == 0 && ends.iter().any(|end| word.is(end))
    });
    words.split_at(end.unwrap_or(words.len()))
}

/// What commas outside parentheses separate.
fn split(words: &[Word]) -> Vec<&[Word]> {
    let mut depth = 0;
    let is_comma = |word: &Word| {
        depth += i32::from(word.is_sign('(')) - i32::from(word.is_sign(')'));
        depth == 0 && word.is_sign(',')
    };
    words.split(is_comma).collect()
}

/// A column of the answer.
struct Item<'a> {
    expression: &'a [Word],
    alias: Option<String>,
    /// What SQLite calls the column.
    name: String,
}

/// What is grouped by, as it is typed: a column, or one in steps.
struct GroupKey {
    part: Part,
    tokens: Vec<Token>,
    /// Other names for it.
    alias: Option<String>,
}

struct Rewriting<'a> {
    sql: &'a str,
    clauses: &'a Clauses<'a>,
    keys: Vec<GroupKey>,
    /// Names and texts.
    items: Vec<(String, String)>,
    values: Vec<Aggregate>,
}

impl<'a> Rewriting<'a> {
    /// A column, where these words are one; the table may be named before it.
    fn column(&self, words: &[Word]) -> Option<(Field, &'static str, usize)> {
        let subject = self.clauses.subject;
        let (name, length) = match words {
            [table, dot, name, ..] if dot.is_sign('.') && table.is(&self.clauses.table) => (name, 3),
            [name, ..] => (name, 1),
            [] => return None,
        };
        let (Token::Name(name) | Token::Quoted(name)) = &name.token else { return None };
        let field = Field::from_column(subject, name)?;
        Some((field, field.name(subject), length))
    }

    fn item(&self, words: &'a [Word]) -> Option<Item<'a>> {
        let name_of = |word: &Word| match &word.token {
            Token::Name(name) if !WORDS.contains(&name.as_str()) => {
                Some(self.sql.get(word.from..word.until)?.to_owned())
            }
            Token::Quoted(_) => Some(self.sql.get(word.from + 1..word.until - 1)?.to_owned()),
            _ => None,
        };
        let (expression, alias) = match words {
            [expression @ .., word, alias] if word.is("as") => (expression, Some(name_of(alias)?)),
            // An alias may follow without a word.
            [expression @ .., before, alias] if is_end(before) && name_of(alias).is_some() => {
                (&words[..=expression.len()], name_of(alias))
            }
            expression => (expression, None),
        };
        let (first, last) = (expression.first()?, expression.last()?);
        let name = match (&alias, self.column(expression)) {
            (Some(alias), _) => alias.clone(),
            (None, Some((_, name, length))) if length == expression.len() => name.to_owned(),
            _ => self.sql.get(first.from..last.until)?.to_owned(),
        };
        Some(Item { expression, alias, name })
    }

    /// What is grouped by: an expression, an item's other name, or an item's number.
    fn key(&self, words: &[Word], items: &[Item<'_>]) -> Option<GroupKey> {
        let item = match words {
            [Word { token: Token::Number(number), .. }] => {
                Some(items.get(number.parse::<usize>().ok()?.checked_sub(1)?)?)
            }
            [Word { token: Token::Name(name), .. }] if self.column(words).is_none() => {
                let is_it =
                    |item: &&Item<'_>| item.alias.as_ref().is_some_and(|alias| alias.eq_ignore_ascii_case(name));
                Some(items.iter().find(is_it)?)
            }
            _ => None,
        };
        let expression = item.map_or(words, |item| item.expression);
        let (field, _, length) = self.column(expression)?;
        let step = match &expression[length..] {
            [] => 1,
            [slash, Word { token: Token::Number(step), .. }] if slash.is_sign('/') && field.is_number() => {
                step.parse().ok().filter(|step| *step > 0 && i64::try_from(*step).is_ok())?
            }
            _ => return None,
        };
        let tokens = expression.iter().map(|word| word.token.clone()).collect();
        let alias = item.and_then(|item| item.alias.clone()).map(|alias| alias.to_lowercase());
        Some(GroupKey { part: Part { field, step }, tokens, alias })
    }

    /// The key that an expression begins with, and how long it is there.
    fn key_at(&self, words: &[Word]) -> Option<(usize, usize)> {
        let fits = |key: &GroupKey| {
            let is_typed = key.tokens.len() <= words.len()
                && key.tokens.iter().zip(words).all(|(token, word)| *token == word.token);
            if is_typed {
                return Some(key.tokens.len());
            }
            if let Some(Word { token: Token::Name(name), .. }) = words.first()
                && key.alias.as_ref() == Some(name)
            {
                return Some(1);
            }
            let (field, _, length) = self.column(words)?;
            (key.part == Part { field, step: 1 }).then_some(length)
        };
        // The longest comes first: start_ns/1000 before start_ns.
        let found = self.keys.iter().enumerate().filter_map(|(at, key)| Some((at, fits(key)?)));
        found.max_by_key(|(at, length)| (*length, std::cmp::Reverse(*at)))
    }

    /// The number of a sum in the answer, and how many words it has.
    fn sum_at(&mut self, words: &[Word]) -> Option<(usize, usize)> {
        let [name, open, rest @ ..] = words else { return None };
        let Token::Name(name) = &name.token else { return None };
        if !open.is_sign('(') {
            return None;
        }
        let (aggregate, length) = match rest {
            [star, close, ..] if name == "count" && star.is_sign('*') && close.is_sign(')') => (Aggregate::Rows, 1),
            _ => {
                let (field, _, length) = self.column(rest)?;
                rest.get(length).filter(|close| close.is_sign(')'))?;
                let measure = field.measure()?;
                let aggregate = match name.as_str() {
                    "count" => Aggregate::Count(measure),
                    "sum" => Aggregate::Sum(measure),
                    "total" => Aggregate::Total(measure),
                    "avg" => Aggregate::Mean(measure),
                    "min" => Aggregate::Least(measure),
                    "max" => Aggregate::Most(measure),
                    _ => return None,
                };
                (aggregate, length)
            }
        };
        let known = self.values.iter().position(|it| *it == aggregate);
        if known.is_none() {
            self.values.push(aggregate);
        }
        let number = known.unwrap_or(self.values.len() - 1);
        (number < MOST_VALUES).then_some((number, 2 + length + 1))
    }

    /// An expression over groups.
    fn express(&mut self, words: &[Word]) -> Option<String> {
        let mut text = Typed::default();
        let mut rest = words;
        while let [first, ..] = rest {
            let (piece, length) = self.piece(rest, rest.len() == words.len())?;
            text.push(&piece, first.from, rest[length - 1].until);
            rest = &rest[length..];
        }
        (!text.text.is_empty()).then_some(text.text)
    }

    /// What some words begin with, over groups, and how many words that is. `is_first`: nothing comes before them.
    fn piece(&mut self, words: &[Word], is_first: bool) -> Option<(String, usize)> {
        if let Some((number, length)) = self.sum_at(words) {
            return Some((format!("value{}", number + 1), length));
        }
        if let Some((at, length)) = self.key_at(words) {
            let key = format!("key{}", at + 1);
            // In an expression a column compares as what it was declared to hold.
            let kind = if self.keys[at].part.field.is_number() { "INTEGER" } else { "TEXT" };
            let is_whole = is_first && length == words.len();
            return Some((if is_whole { key } else { format!("CAST({key} AS {kind})") }, length));
        }
        let [word, behind @ ..] = words else { return None };
        match &word.token {
            Token::Name(name) if behind.first().is_some_and(|it| it.is_sign('(')) => {
                // min and max are no sums with several arguments, but who would ask for that.
                let is_sum = matches!(name.as_str(), "count" | "sum" | "total" | "avg" | "min" | "max");
                if is_sum || OTHER_SUMS.contains(&name.as_str()) {
                    return None;
                }
            }
            Token::Name(name) if WORDS.contains(&name.as_str()) => {}
            // A column is a column before it is another name for something.
            Token::Name(_) if self.column(words).is_some() => return None,
            Token::Name(name) => {
                let (_, text) = self.items.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name))?;
                return Some((format!("({text})"), 1));
            }
            // All columns.
            Token::Sign('*') if is_first => return None,
            Token::Quoted(_) => return None,
            Token::Number(_) | Token::Text | Token::Sign(_) => {}
        }
        Some((self.typed(word)?.to_owned(), 1))
    }

    fn typed(&self, word: &Word) -> Option<&'a str> {
        self.sql.get(word.from..word.until)
    }

    /// Words as they were typed, without the table's name before columns.
    fn text(&self, words: &[Word]) -> Option<String> {
        let mut text = Typed::default();
        let mut rest = words;
        while let [word, behind @ ..] = rest {
            rest = behind;
            match (&word.token, rest) {
                (_, [dot, name, ..]) if dot.is_sign('.') && word.is(&self.clauses.table) => {
                    text.push(self.typed(name)?, word.from, name.until);
                    rest = &rest[2..];
                }
                (Token::Quoted(name), _) => text.push(name, word.from, word.until),
                _ => text.push(self.typed(word)?, word.from, word.until),
            }
        }
        Some(text.text)
    }

    /// A term of ORDER BY: what it compares, where the groups know that, and its text.
    fn order_term(&mut self, words: &[Word], items: &[Item<'_>]) -> Option<(Option<(Term, bool)>, String)> {
        let (expression, direction) = match words {
            [expression @ .., word] if word.is("desc") => (expression, true),
            [expression @ .., word] if word.is("asc") => (expression, false),
            expression => (expression, false),
        };
        let suffix = if direction { " DESC" } else { "" };
        // A number is a column's.
        let item = match expression {
            [Word { token: Token::Number(number), .. }] => {
                Some(items.get(number.parse::<usize>().ok()?.checked_sub(1)?)?)
            }
            [Word { token: Token::Name(name), .. }] => {
                items.iter().find(|item| item.alias.as_ref().is_some_and(|alias| alias.eq_ignore_ascii_case(name)))
            }
            _ => None,
        };
        let expression = item.map_or(expression, |item| item.expression);
        let text = self.express(expression)?;
        let number = |prefix: &str| text.strip_prefix(prefix)?.parse::<usize>().ok()?.checked_sub(1);
        let term = number("key").map(Term::Key).or_else(|| number("value").map(Term::Value));
        Some((term.map(|term| (term, direction)), text.clone() + suffix))
    }
}

/// Words with spaces where they were typed: operators may have two signs.
#[derive(Default)]
struct Typed {
    text: String,
    until: usize,
}

impl Typed {
    fn push(&mut self, piece: &str, from: usize, until: usize) {
        if !self.text.is_empty() && self.until < from {
            self.text.push(' ');
        }
        self.text.push_str(piece);
        self.until = until;
    }
}

/// Whether an expression can end with a word, so that a name behind it is not a part of it.
fn is_end(word: &Word) -> bool {
    match &word.token {
        Token::Name(name) => !WORDS.contains(&name.as_str()) || name == "end" || name == "null",
        Token::Sign(sign) => *sign == ')',
        Token::Quoted(_) | Token::Number(_) | Token::Text => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predicate::Measure;

    fn sql(question: &str) -> Option<String> {
        rewrite(question).map(|it| it.sql)
    }

    #[test]
    fn what_is_asked_of_groups_stays_with_sqlite() {
        let of = "SELECT name, count(*) AS n, sum(duration_ns) FROM spans WHERE status = 'open' AND name <> 'it''s' \
                  GROUP BY name ORDER BY n DESC, sum(duration_ns) LIMIT 5;";
        let found = rewrite(of).unwrap();
        assert_eq!(
            found.sql,
            "SELECT key1 AS \"name\", value1 AS \"n\", value2 AS \"sum(duration_ns)\" FROM ada_groups \
             ORDER BY value1 DESC, value2 LIMIT 5"
        );
        assert_eq!(found.question.values, [Aggregate::Rows, Aggregate::Sum(Measure::Duration)]);
        let terms = vec![(Term::Value(0), true), (Term::Value(1), false)];
        assert_eq!(found.question.top, Some(Top { terms, count: 5 }));
        for (asked, of_groups) in [
            (
                "select Status, reason, COUNT(*) from spans group by status, reason",
                "SELECT key1 AS \"status\", key2 AS \"reason\", value1 AS \"COUNT(*)\" FROM ada_groups",
            ),
            (
                "SELECT e.kind k, min(e.time_ns)/1000, round(avg(depth), 1) FROM events AS e WHERE e.depth < 3 GROUP BY k HAVING count(*) >= 3",
                "SELECT key1 AS \"k\", value1/1000 AS \"min(e.time_ns)/1000\", round(value2, 1) AS \"round(avg(depth), 1)\" \
                 FROM ada_groups WHERE value3 >= 3",
            ),
            (
                "SELECT time_ns / 1000000 AS ms, count(*) FROM events GROUP BY 1 ORDER BY 2 DESC, ms LIMIT 2, 3",
                "SELECT key1 AS \"ms\", value1 AS \"count(*)\" FROM ada_groups ORDER BY value1 DESC, key1 LIMIT 2, 3",
            ),
            ("SELECT upper(name), 'x' FROM spans GROUP BY \"name\" HAVING thread_id IS NOT NULL", ""),
            (
                "SELECT upper(name) FROM spans GROUP BY \"name\" HAVING name > 'x' AND count(*) * 2 > 4",
                "SELECT upper(CAST(key1 AS TEXT)) AS \"upper(name)\" FROM ada_groups WHERE CAST(key1 AS TEXT) > 'x' AND value1 * 2 > 4",
            ),
            (
                "SELECT count(*), max(depth) FROM events",
                "SELECT value1 AS \"count(*)\", value2 AS \"max(depth)\" FROM ada_groups",
            ),
        ] {
            assert_eq!(sql(asked).unwrap_or_default(), of_groups, "{asked}");
        }
        assert_eq!(rewrite("SELECT count(*) FROM spans GROUP BY start_ns/500").unwrap().question.parts[0].step, 500);
        let limited = rewrite("SELECT name FROM spans GROUP BY 1 ORDER BY 1 LIMIT 3 OFFSET 2").unwrap();
        assert_eq!(limited.question.top, Some(Top { terms: vec![(Term::Key(0), false)], count: 5 }));
        let having = rewrite("SELECT name FROM spans GROUP BY 1 HAVING count(*) > 2 LIMIT 3").unwrap();
        assert_eq!(having.question.top, None, "it is not known which groups are the first");
    }

    #[test]
    fn all_others_are_left_to_sqlite() {
        for asked in [
            "SELECT name FROM functions GROUP BY name",
            "SELECT name, p99(duration_ns) FROM spans GROUP BY name",
            "SELECT name, sum(DISTINCT depth) FROM spans GROUP BY name",
            "SELECT name, sum(depth + 1) FROM spans GROUP BY name",
            "SELECT module, count(*) FROM spans GROUP BY name",
            "SELECT name, count(*) FROM spans JOIN functions USING (name) GROUP BY name",
            "SELECT name, count(*) FROM spans, functions GROUP BY name",
            "SELECT name, count(*) FROM spans WHERE name IN (SELECT name FROM functions) GROUP BY name",
            "SELECT name, count(*) FROM spans WHERE duration_ns > start_ns GROUP BY name",
            "SELECT name, count(*) FROM spans GROUP BY name UNION SELECT 1, 2",
            "SELECT name, count(*) FROM spans GROUP BY 3",
            "SELECT name, count(*) FROM spans GROUP BY length(name)",
            "SELECT name, count(*) FROM spans GROUP BY name || 'x'",
            "SELECT name, count(*) FROM spans GROUP BY evidence",
            "SELECT name, count(*) FROM spans GROUP BY name COLLATE NOCASE",
            "SELECT name -- group by\n FROM spans GROUP BY name",
            "SELECT DISTINCT name FROM spans GROUP BY name",
            "SELECT start_ns/0 FROM spans GROUP BY start_ns/0",
            "SELECT *, count(*) FROM spans GROUP BY name",
            "SELECT name, duration_ns FROM spans WHERE depth = 3",
            "SELECT max(depth, 3) FROM spans",
            "WITH x AS (SELECT 1) SELECT name, count(*) FROM spans GROUP BY name",
            "SELECT count(*) FILTER (WHERE depth = 1) FROM spans",
            "SELECT 1",
            "EXPLAIN SELECT count(*) FROM spans",
            "SELECT count(*) FROM spans GROUP BY",
            "'",
            "",
        ] {
            assert_eq!(sql(asked), None, "{asked}");
        }
    }
}
