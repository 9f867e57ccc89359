//! `ada check [SESSION] --rules FILE`: a trace as a test.

mod judge;
mod junit;
mod rule;
mod sarif;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};

use crate::analysis::{Ink, ListFormat, OpenedSession, Out, SessionArgs, with_tables};
use crate::exit::{Blame, Outcome};
use crate::format::Format;

use judge::{Answer, Judge, Judgement};
use rule::Written;

const HELP: &str = "\
Rules, one per line; `#` begins a comment. Functions are named as in other commands (wildcards `*`, `?`):
  called init_cache                 it was called
  not called abort                  it was hooked all the time, and never called
  calls malloc <= 1000              how often it was called: <, <=, ==, >=, >
  order open_log before write_log   the first call of one comes before that of the other
  p99 handle_request < 5ms          also p50, p95, max, total and self
  no leak                           no such finding; also: no crash, no unjoined thread
  no finding hang                   no finding KIND (`ada ask findings`); no finding (of any kind)
  no wait over 50ms                 no call that waits (locks, joins, input) took longer

Examples:
  ada trace -- ./server --self-test && ada check --rules trace.rules
  ada check SESSION --rules trace.rules --junit result.xml --sarif result.sarif

Exit codes:
  0  all rules hold
  1  a rule is broken, or the session is damaged
  2  the command line or the rules are wrong
  3  no rule is broken, but for some the trace cannot tell; or it cannot be read
  4  a result could not be written";

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    /// The file with the rules
    #[arg(long, value_name = "FILE")]
    rules: PathBuf,
    /// Also write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Also write the results as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// A rule with its answer.
struct Judged {
    rule: Written,
    judgement: Judgement,
    /// Where the source has the function that it is about.
    source: Option<ada_image::SourcePlace>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let text =
        fs::read_to_string(&args.rules).with_context(|| format!("cannot read {}", args.rules.display())).mistyped()?;
    let rules = rule::parse(&text).with_context(|| args.rules.display().to_string()).mistyped()?;
    let list = if args.format == Format::Text { ListFormat::Table } else { ListFormat::Json };
    let mut out = Out::for_people(list, true);
    let mut worst = Answer::Kept;
    let outcome = with_tables(&args.session, &mut out, |opened, out| {
        let judged = judge_all(opened, &rules)?;
        let has = |answer: Answer| judged.iter().any(|it| it.judgement.answer == answer);
        worst = [Answer::Broken, Answer::Unknown].into_iter().find(|it| has(*it)).unwrap_or(Answer::Kept);
        let session = opened.session().path().display().to_string();
        if let Some(path) = &args.junit {
            write(path, &junit::text(&judged, &args.rules, &session))?;
        }
        if let Some(path) = &args.sarif {
            let sarif = sarif::log(&judged, &args.rules);
            write(path, &format!("{sarif:#}\n"))?;
        }
        match args.format {
            Format::Text => print(&judged, out),
            Format::Json => out.json(&to_json(&judged, &session)),
        }
    })?;
    out.finish()?;
    Ok(match (worst, outcome) {
        (Answer::Broken, _) | (Answer::Kept, Outcome::Findings) => Outcome::Findings,
        (Answer::Unknown, _) => Outcome::Undecided,
        (Answer::Kept, outcome) => outcome,
    })
}

fn judge_all(opened: &OpenedSession, rules: &[Written]) -> anyhow::Result<Vec<Judged>> {
    let judge = Judge::new(opened)?;
    let mut judged = Vec::new();
    for rule in rules {
        let judgement = judge.judge(&rule.rule)?;
        let source = judgement.function.and_then(|(process, function)| opened.source(process, function));
        judged.push(Judged { rule: rule.clone(), judgement, source });
    }
    Ok(judged)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).output_failed(|| format!("cannot write {}", path.display()))
}

fn print(judged: &[Judged], out: &mut Out) -> anyhow::Result<()> {
    let terminal = out.terminal();
    for it in judged {
        let answer = it.judgement.answer;
        let ink = match answer {
            Answer::Kept => Ink::Good,
            Answer::Broken => Ink::Bad,
            Answer::Unknown => Ink::Doubtful,
        };
        let word = terminal.ink(ink, &format!("{:<7}", answer.word()));
        let evidence = match it.judgement.evidence.first().filter(|_| answer != Answer::Kept) {
            Some(evidence) => format!("   ada show {evidence}"),
            None => String::new(),
        };
        out.line(&format!("{word}  {}: {}{evidence}", it.rule.text, it.judgement.words))?;
    }
    let count = |answer: Answer| judged.iter().filter(|it| it.judgement.answer == answer).count();
    let (kept, broken, unknown) = (count(Answer::Kept), count(Answer::Broken), count(Answer::Unknown));
    out.line(&format!("{kept} hold, {broken} broken, {unknown} not known"))
}

fn to_json(judged: &[Judged], session: &str) -> Value {
    let rule = |it: &Judged| {
        json!({
            "line": it.rule.line, "rule": it.rule.text, "answer": it.judgement.answer.word().to_lowercase(),
            "because": it.judgement.words, "evidence": it.judgement.evidence,
            "file": it.source.as_ref().map(|it| it.file.clone()), "source_line": it.source.as_ref().map(|it| it.line),
        })
    };
    json!({ "session": session, "rules": judged.iter().map(rule).collect::<Vec<_>>() })
}
