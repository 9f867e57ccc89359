//! What may be wrong, before anything else.

use std::collections::HashMap;
use std::path::Path;

use ada_query::findings::{Finding, advice};

use crate::analysis::{Ink, OpenedSession, Out, short_name};

/// More than these are for who asks.
const MOST: usize = 5;
/// Letters of a command line that are shown.
const LONGEST_COMMAND: usize = 30;

/// What the process of a finding ran, with a comma behind it: a number alone says little.
fn command(opened: &OpenedSession, finding: &Finding) -> String {
    let process = opened.processes().iter().find(|it| it.pid == finding.pid);
    let manifest = process.and_then(|it| opened.recorded(it).manifest.as_ref());
    let Some((program, arguments)) = manifest.and_then(|it| it.command_line.split_first()) else {
        return String::new();
    };
    let name = program.rsplit('/').next().unwrap_or(program);
    let line = std::iter::once(name).chain(arguments.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    // What it ran before may be what the finding is about.
    let mut before: Vec<&str> =
        manifest.iter().flat_map(|it| &it.modules).filter_map(|it| it.program.as_deref()?.rsplit('/').next()).collect();
    before.dedup();
    let before: String = before.iter().map(|program| format!("{program}, then ")).collect();
    let line = format!("{before}{line}").replace(char::is_control, " ");
    match line.char_indices().nth(LONGEST_COMMAND) {
        Some((end, _)) => format!("{}…, ", &line[..end]),
        None => format!("{line}, "),
    }
}

/// Findings of which each stands for the same in other processes of its program, and how many those are: four compilers that run at
/// once have one thing to tell.
fn by_program<'a>(opened: &OpenedSession, findings: &'a [Finding]) -> Vec<(&'a Finding, usize)> {
    let mut places: HashMap<_, usize> = HashMap::new();
    let mut told: Vec<(&Finding, usize)> = Vec::new();
    for it in findings {
        let process = opened.processes().iter().find(|process| process.pid == it.pid);
        let program = process.and_then(|process| opened.recorded(process).manifest.as_ref()?.command_line.first());
        // Titles have figures, and those are each process's own.
        let about = it.function.as_deref().unwrap_or(&it.title);
        let key = (it.kind, about, it.facts["what"].as_str(), program.map_or_else(String::new, String::clone));
        match places.get(&key) {
            Some(&place) if told[place].0.pid != it.pid => told[place].1 += 1,
            Some(_) => told.push((it, 0)),
            None => {
                places.insert(key, told.len());
                told.push((it, 0));
            }
        }
    }
    told
}

pub(super) fn print(
    opened: &OpenedSession,
    out: &mut Out,
    findings: &[Finding],
    session: Option<&Path>,
    limit: usize,
) -> anyhow::Result<()> {
    let terminal = out.terminal();
    // A command has to say which session, if this one had to.
    let of_session = session.map_or_else(String::new, |path| format!(" {}", path.display()));
    let has_several = opened.processes().len() > 1;
    out.title("What stands out")?;
    if findings.is_empty() {
        return out.line("Nothing: no crash, and no sign of a hang, a leak or a call much slower than others.");
    }
    let told = by_program(opened, findings);
    let shown = &told[..told.len().min(MOST).min(limit.max(1))];
    for (number, (it, others)) in (1..).zip(shown) {
        let advice = advice(it);
        let ink = if advice.certainty == "possible" { Ink::Doubtful } else { Ink::Bad };
        let also = match others {
            0 => String::new(),
            1 => ", and 1 process like it".to_owned(),
            _ => format!(", and {others} processes like it"),
        };
        let pid = if has_several { format!(" ({}pid {}{also})", command(opened, it), it.pid) } else { String::new() };
        let mut title = format!("{} ({}): {}{pid}", it.kind.replace('_', " "), advice.certainty, it.title);
        for name in it.function.as_deref().into_iter().chain(it.facts["outlier"].as_str()) {
            title = title.replace(name, &short_name(name, terminal.width / 2));
        }
        for (at, line) in terminal.wrap(&title, 4).iter().enumerate() {
            let before = if at == 0 { format!("{number:>2}. ") } else { "    ".to_owned() };
            out.line(&format!("{before}{}", terminal.ink(ink, line)))?;
        }
        for line in terminal.wrap(&format!("{} {}", it.rationale, advice.what_to_do), 4) {
            out.line(&format!("    {line}"))?;
        }
        let next = format!("{}{of_session}", advice.next);
        out.line(&format!("    next: {}", terminal.ink(Ink::Typed, &next)))?;
    }
    if told.len() > shown.len() {
        let words = format!("and {} more: ada ask findings{of_session}", told.len() - shown.len());
        out.line(&words)?;
    }
    Ok(())
}
