//! All that is known of a span.

use ada_event::EventSeq;
use ada_query::Reference;
use ada_span::ThreadIndex;
use serde_json::{Value, json};

use super::logical_track::LogicalKind;
use super::page_lens::Seen;
use super::timeline::Timeline;
use super::track::TrackKind;
use super::{causes, locks, referenced, search};
use crate::analysis::{OpenedSession, Span, Target};
use crate::show;

/// Callees and neighbours that details have.
const NEIGHBOURS: usize = 50;

/// What a shape of a track stands for.
pub(super) fn reference(opened: &OpenedSession, timeline: &Timeline, track: usize, seq: u64) -> Option<Reference> {
    let it = timeline.tracks.get(track)?;
    let meta = timeline.processes[it.process].tables.meta();
    let id = |thread: ThreadIndex| meta.threads.get(thread.as_usize()).map(|thread| thread.id);
    let index = usize::try_from(seq).ok()?;
    let target = match &it.kind {
        TrackKind::Thread(thread) => Target::Frame(id(*thread)?, EventSeq(seq)),
        TrackKind::Logical(track) => match track.kind {
            LogicalKind::Tasks => Target::Task(meta.tasks.get(index)?.id),
            LogicalKind::Queue(_) => {
                let span = meta.dispatched.get(index)?;
                Target::Block(id(span.thread)?, span.seq)
            }
            LogicalKind::Callbacks => {
                let span = meta.callbacks.get(index)?;
                Target::Callback(id(span.thread)?, span.seq)
            }
            LogicalKind::Lock(_) => {
                let (thread, seq) = locks::call(opened.processes()[it.process].tables.meta(), index)?;
                Target::Frame(id(thread)?, seq)
            }
        },
    };
    Some(opened.processes()[it.process].reference(target))
}

/// All that is known of a span, and where it is drawn.
pub(super) fn answer(
    opened: &OpenedSession,
    timeline: &Timeline,
    reference: Reference,
    seen: Seen,
) -> anyhow::Result<Value> {
    let shown = show::find(opened, reference, NEIGHBOURS)?;
    let row = referenced::find(opened, reference)?;
    let place = row.as_ref().and_then(|row| search::place(timeline, row, seen));
    let span = row.as_ref().map(|row| search::to_json(opened, timeline, row, seen));
    let links = match &row {
        Some(row) => causes::find(opened, timeline, row.process, row.target(opened))?,
        None => Value::Null,
    };
    Ok(json!({
        "reference": reference.to_string(),
        "details": shown,
        "place": place,
        "span": span,
        "links": links,
        "function": row.as_ref().and_then(|row| function_number(opened, timeline, row)),
    }))
}

/// The number of a span's function, by which the page asks for it.
fn function_number(opened: &OpenedSession, timeline: &Timeline, span: &Span) -> Option<u32> {
    let meta = opened.processes()[span.process].tables.meta();
    let index = meta.function_index(span.function(opened)?)?;
    Some(timeline.names.of_function(span.process, index))
}
