//! Notes that people write on spans and times: `notes.json` in the session's folder, so that they go where it goes.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use ada_event::TraceNanos;
use ada_format::private::{Replacement, open_regular};
use ada_query::Reference;
use anyhow::{Context, anyhow, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::page_lens::Seen;
use super::timeline::Timeline;
use super::{referenced, search};
use crate::analysis::OpenedSession;

/// Notes of a session, letters of one, and bytes of the file that is read.
const MOST: usize = 2_000;
const MOST_LETTERS: usize = 4_000;
const MOST_BYTES: u64 = 16 << 20;

/// A note as the page sends it. Without a text, it is forgotten.
#[derive(Deserialize)]
pub(super) struct Note {
    /// The span that it is on; none if it is on a time.
    span: Option<String>,
    /// Nanoseconds since the session's start.
    time: u64,
    text: String,
}

/// A note as the file has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    span: Option<String>,
    /// On the trace's clock.
    time_ns: TraceNanos,
    text: String,
}

#[derive(Default, Serialize, Deserialize)]
struct File {
    notes: Vec<Kept>,
}

fn path(opened: &OpenedSession) -> PathBuf {
    opened.session().path().join("notes.json")
}

/// What is kept. A file that is damaged is an error and never overwritten.
fn read(opened: &OpenedSession) -> anyhow::Result<File> {
    let path = path(opened);
    let file = match open_regular(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(File::default()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).with_context(|| format!("cannot read {}", path.display()))?;
    let mut file: File = serde_json::from_slice(&bytes).with_context(|| format!("cannot read {}", path.display()))?;
    file.notes.truncate(MOST);
    Ok(file)
}

/// All notes, each with where it is drawn.
pub(super) fn answer(opened: &OpenedSession, timeline: &Timeline, seen: Seen) -> anyhow::Result<Value> {
    Ok(to_json(opened, timeline, &read(opened)?, seen))
}

fn to_json(opened: &OpenedSession, timeline: &Timeline, file: &File, seen: Seen) -> Value {
    let place = |note: &Kept| {
        let reference: Reference = note.span.as_deref()?.parse().ok()?;
        let span = referenced::find(opened, reference).ok().flatten()?;
        search::place(timeline, &span, seen)
    };
    let note = |note: &Kept| json!({ "span": note.span, "time": note.time_ns.since(timeline.start), "text": note.text, "place": place(note) });
    json!({ "notes": file.notes.iter().map(note).collect::<Vec<_>>() })
}

/// Keeps a note in place of the one that was there, and gives all.
pub(super) fn put(opened: &OpenedSession, timeline: &Timeline, note: Note, seen: Seen) -> anyhow::Result<Value> {
    let Note { span, time, text } = note;
    let text = text.trim();
    if text.chars().count() > MOST_LETTERS {
        bail!("a note has at most {MOST_LETTERS} letters");
    }
    if let Some(span) = &span {
        let reference: Reference = span.parse().map_err(|words: String| anyhow!(words))?;
        referenced::find(opened, reference)?.context("there is no such span")?;
    }
    let time_ns = timeline.start.saturating_add(time);
    let mut file = read(opened)?;
    file.notes.retain(|it| it.span != span || span.is_none() && it.time_ns != time_ns);
    if !text.is_empty() {
        if file.notes.len() >= MOST {
            bail!("a session has at most {MOST} notes");
        }
        file.notes.push(Kept { span, time_ns, text: text.to_owned() });
        file.notes.sort_by_key(|it| it.time_ns);
    }
    let path = path(opened);
    let written = || -> std::io::Result<()> {
        let (replacement, mut to) = Replacement::begin(&path)?;
        to.write_all(&serde_json::to_vec_pretty(&file)?)?;
        to.flush()?;
        replacement.finish()
    };
    written().with_context(|| format!("cannot write {}", path.display()))?;
    Ok(to_json(opened, timeline, &file, seen))
}
