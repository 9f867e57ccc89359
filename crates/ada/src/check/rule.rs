//! Rules as people write them, a line each.

use anyhow::{Context, bail};

use crate::analysis::parse_nanos;

/// What a trace has to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Called(String),
    NotCalled(String),
    Calls(String, Comparison, u64),
    /// A time of a function's calls.
    Time(Measure, String, Comparison, u64),
    /// Each is called for the first time before the next.
    Order(Vec<String>),
    /// No finding of a kind; of any without one.
    NoFinding(Option<String>),
    NoWaitOver(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    P50,
    P95,
    P99,
    Max,
    Total,
    SelfTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Less,
    AtMost,
    Equal,
    AtLeast,
    More,
}

impl Comparison {
    pub(super) fn holds(self, value: u64, bound: u64) -> bool {
        match self {
            Self::Less => value < bound,
            Self::AtMost => value <= bound,
            Self::Equal => value == bound,
            Self::AtLeast => value >= bound,
            Self::More => value > bound,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "<" => Self::Less,
            "<=" => Self::AtMost,
            "=" | "==" => Self::Equal,
            ">=" => Self::AtLeast,
            ">" => Self::More,
            _ => return None,
        })
    }
}

/// A rule, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) line: usize,
    pub(super) text: String,
    pub(super) rule: Rule,
}

/// All rules of a file. What follows `#` is for people.
pub(super) fn parse(text: &str) -> anyhow::Result<Vec<Written>> {
    let mut rules = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let words = line.split('#').next().unwrap_or_default().trim();
        if !words.is_empty() {
            let rule = parse_rule(words).with_context(|| format!("line {}: {words}", at + 1))?;
            rules.push(Written { line: at + 1, text: words.to_owned(), rule });
        }
    }
    if rules.is_empty() {
        bail!("there is no rule");
    }
    Ok(rules)
}

fn parse_rule(words: &str) -> anyhow::Result<Rule> {
    let (first, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let rest = rest.trim();
    let name = |text: &str| -> anyhow::Result<String> {
        if text.is_empty() { bail!("a function's name is missing") } else { Ok(text.to_owned()) }
    };
    let measure = match first {
        "p50" => Some(Measure::P50),
        "p95" => Some(Measure::P95),
        "p99" => Some(Measure::P99),
        "max" => Some(Measure::Max),
        "total" => Some(Measure::Total),
        "self" => Some(Measure::SelfTime),
        _ => None,
    };
    if let Some(measure) = measure {
        let (function, comparison, bound) = compared(rest)?;
        return Ok(Rule::Time(measure, function, comparison, parse_nanos(bound).map_err(anyhow::Error::msg)?));
    }
    match first {
        "called" => Ok(Rule::Called(name(rest)?)),
        "not" => match rest.split_once(char::is_whitespace) {
            Some(("called", function)) => Ok(Rule::NotCalled(name(function.trim())?)),
            _ => bail!("after `not` comes `called FUNCTION`"),
        },
        "calls" => {
            let (function, comparison, bound) = compared(rest)?;
            Ok(Rule::Calls(function, comparison, bound.parse().context("a number of calls comes last")?))
        }
        "order" => {
            let names: Vec<String> = rest.split(" before ").map(|it| it.trim().to_owned()).collect();
            if names.len() < 2 || names.iter().any(String::is_empty) {
                bail!("write `order FIRST before SECOND`");
            }
            Ok(Rule::Order(names))
        }
        "no" => match rest.split_whitespace().collect::<Vec<_>>()[..] {
            ["leak"] => Ok(Rule::NoFinding(Some("leak".into()))),
            ["crash"] => Ok(Rule::NoFinding(Some("crash".into()))),
            ["unjoined", "thread"] => Ok(Rule::NoFinding(Some("never_joined".into()))),
            ["finding"] => Ok(Rule::NoFinding(None)),
            ["finding", kind] => Ok(Rule::NoFinding(Some(kind.to_owned()))),
            ["wait", "over", bound] => Ok(Rule::NoWaitOver(parse_nanos(bound).map_err(anyhow::Error::msg)?)),
            _ => bail!("after `no` comes leak, crash, unjoined thread, finding [KIND] or wait over DURATION"),
        },
        _ => bail!("a rule begins with called, not called, calls, order, p50, p95, p99, max, total, self or no"),
    }
}

/// `FUNCTION < BOUND`; names of functions may have spaces.
fn compared(text: &str) -> anyhow::Result<(String, Comparison, &str)> {
    let parts = || {
        let (before, bound) = text.rsplit_once(char::is_whitespace)?;
        let (function, comparison) = before.trim().rsplit_once(char::is_whitespace)?;
        Some((function.trim().to_owned(), Comparison::parse(comparison)?, bound))
    };
    parts().context("write FUNCTION, then <, <=, ==, >= or >, then a bound, with spaces between")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_mistakes_have_their_line() {
        let text = "# a comment\ncalled main\nnot called abort # never\ncalls operator new(unsigned long) <= 10\n\
                    p99 net::serve < 5ms\norder open before read before close\nno leak\nno wait over 50ms\nno finding hang";
        let rules: Vec<Rule> = parse(text).unwrap().into_iter().map(|it| it.rule).collect();
        assert_eq!(
            rules,
            [
                Rule::Called("main".into()),
                Rule::NotCalled("abort".into()),
                Rule::Calls("operator new(unsigned long)".into(), Comparison::AtMost, 10),
                Rule::Time(Measure::P99, "net::serve".into(), Comparison::Less, 5_000_000),
                Rule::Order(vec!["open".into(), "read".into(), "close".into()]),
                Rule::NoFinding(Some("leak".into())),
                Rule::NoWaitOver(50_000_000),
                Rule::NoFinding(Some("hang".into())),
            ]
        );
        for wrong in [
            "",
            "# only",
            "called",
            "not abort",
            "calls f",
            "calls f < x",
            "p99 f < soon",
            "order a",
            "no",
            "no way",
            "p99 f ~ 5ms",
            "order a before ",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(
            format!("{:#}", parse("called a\ncallled b").unwrap_err()).starts_with("line 2: callled b: a rule begins")
        );
    }
}
