//! `ada ask called F`, `ada ask why-slow SPAN`, `ada ask findings [SYMPTOM]`.

mod answers;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ada_query::Cancel;
use ada_query::called::called;
use ada_query::findings::{Noticed, caveats, findings};
use ada_query::why_slow::why_slow;
use anyhow::Context;
use serde_json::{Value, json};
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::analysis::{AskArgs, Out, open_trace, parse_most};
use crate::exit::{Blame, Outcome};
use crate::format::Format;

pub(crate) use answers::{called_json, finding_json};

const EXAMPLES: &str = "\
Examples:
  ada ask called parse_number       yes, how often and when; no; or why the trace cannot tell
  ada ask called 'net::*'
  ada ask why-slow frame:4712:90    where a span's time went
  ada ask findings                  what may be wrong, the worst first
  ada ask findings --symptom \"requests hang\"";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    question: Question,
}

#[derive(clap::Subcommand)]
enum Question {
    /// Was a function called?
    Called {
        /// The function's name, demangled or mangled (wildcards `*`, `?`)
        function: String,
        #[command(flatten)]
        common: Common,
    },
    /// Where did a span's time go?
    WhySlow {
        /// The span, as other commands print it, such as frame:4712:90
        span: String,
        #[command(flatten)]
        common: Common,
    },
    /// What may be wrong?
    Findings {
        /// What you noticed, such as "it hangs"
        #[arg(long, short)]
        symptom: Option<String>,
        /// List at most N; 0 lists all
        #[arg(long, value_name = "N", default_value = "10", value_parser = parse_most)]
        limit: usize,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(clap::Args)]
struct Common {
    /// Folders of sessions [default: the newest session in ada_traces]
    #[arg(value_name = "SESSION")]
    sessions: Vec<PathBuf>,
    #[command(flatten)]
    ask: AskArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let (Question::Called { common, .. } | Question::WhySlow { common, .. } | Question::Findings { common, .. }) =
        &args.question;
    let (trace, outcome) = open_trace(&common.sessions, &common.ask)?;
    let flag = Arc::new(AtomicBool::new(false));
    flag::register(SIGINT, flag.clone()).context("cannot catch Ctrl-C")?;
    let cancel = Cancel::watching(flag);
    let mut out = Out::new();
    let caveats = caveats(&trace);
    let (json, lines): (Value, Vec<String>) = match &args.question {
        Question::Called { function, .. } => {
            let answer = called(&trace, &cancel, function)?;
            (called_json(&answer), answers::called_lines(&trace, &answer))
        }
        Question::WhySlow { span, .. } => {
            let answer = why_slow(&trace, &cancel, None, span).mistyped()?;
            (answer.to_json(), answers::why_slow_lines(&answer))
        }
        Question::Findings { symptom, limit, .. } => {
            let all = findings(&trace, &cancel, symptom.as_deref())?;
            let shown = &all[..all.len().min(*limit)];
            let unfit = symptom.as_deref().and_then(|symptom| Noticed::new(symptom).nothing_fits(&all));
            let json = json!({
                "nothing_fits": unfit,
                "findings": shown.iter().map(finding_json).collect::<Vec<_>>(),
                "left_out": all.len() - shown.len(),
            });
            // Other commands take one session.
            let of_session = match &common.sessions[..] {
                [session] => format!(" {}", session.display()),
                _ => String::new(),
            };
            let lines = unfit.into_iter().chain(answers::finding_lines(shown, all.len(), &of_session));
            (json, lines.collect())
        }
    };
    match common.format {
        Format::Json => {
            let mut json = json;
            json["caveats"] = caveats.into();
            out.json(&json)?;
        }
        Format::Text => {
            lines.iter().try_for_each(|line| out.line(line))?;
            caveats.iter().try_for_each(|it| out.line(&format!("note: {it}")))?;
        }
    }
    out.finish()?;
    Ok(outcome)
}
