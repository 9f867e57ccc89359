//! Rust panics, those that were caught too, and exceptions that nobody caught.

use serde_json::json;

use super::survey::{NOBODY, Survey};
use super::unhandled::Unhandled;
use super::{About, Finding};

pub(super) fn find(about: &About<'_>, survey: &Survey, crashes: &[Finding]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (&(unhandled, function), &(count, (thread, seq))) in &survey.unhandled {
        // The one that ended the process is a finding already.
        let ended_it = crashes.iter().filter(|it| it.kind == unhandled.word()).count() as u64;
        if count <= ended_it {
            continue;
        }
        let name = if function == NOBODY { "code that is not hooked".to_owned() } else { about.name(function) };
        let (title, rationale) = match unhandled {
            Unhandled::Panic => (
                format!("{count} Rust panics in {name}"),
                "Somebody caught them, or their threads ended by them. A panic is a mistake in the program, seldom a way to go.",
            ),
            Unhandled::Exception => (
                format!("{count} exceptions in {name} that nobody caught"),
                "The program's own handler for that ended it.",
            ),
        };
        let title = if count == 1 { title.replacen("1 Rust panics", "a Rust panic", 1) } else { title };
        let title = if count == 1 { title.replacen("1 exceptions", "an exception", 1) } else { title };
        let mut finding = about.finding(unhandled.word(), 104.0, title, rationale);
        finding.function = (function != NOBODY).then_some(name);
        finding.evidence = vec![about.frame(thread, seq)];
        finding.facts = json!({ "count": count });
        found.push(finding);
    }
    found
}
