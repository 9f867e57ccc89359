//! The thread that owns the session and answers what the stage cannot: details, searches, coverage.

use std::sync::{Arc, mpsc};

use ada_query::Reference;
use anyhow::{Context, anyhow};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::stage::{Stage, TrackKind};
use super::{causes, coverage, search};
use crate::analysis::{OpenedSession, Span, SpanKind, Target};
use crate::show;

/// Callees and neighbours that details have.
const NEIGHBOURS: usize = 50;

/// A question.
pub(super) enum Question {
    /// All of a span: by its track and number there.
    Shape(usize, u64),
    /// The same by its reference.
    Span(String),
    Search(String),
    Coverage,
}

struct Call {
    question: Question,
    reply: oneshot::Sender<anyhow::Result<Value>>,
}

/// A handle on the thread. Cheap to clone.
#[derive(Clone)]
pub(super) struct Desk {
    calls: mpsc::Sender<Call>,
}

impl Desk {
    /// Has a thread of its own open the session, which cannot move to another one, and answer from then on. Gives what
    /// `begin` made of it.
    pub(super) fn start<T: Send + 'static>(
        begin: impl FnOnce() -> anyhow::Result<(OpenedSession, Arc<Stage>, T)> + Send + 'static,
    ) -> anyhow::Result<(Self, Arc<Stage>, T)> {
        let (calls, received) = mpsc::channel::<Call>();
        let (begun, beginning) = mpsc::channel();
        std::thread::spawn(move || {
            let (opened, stage) = match begin() {
                Ok((opened, stage, made)) => {
                    let _ = begun.send(Ok((stage.clone(), made)));
                    (opened, stage)
                }
                Err(error) => {
                    let _ = begun.send(Err(error));
                    return;
                }
            };
            for call in received {
                // Whoever asked may be gone.
                let _ = call.reply.send(answer(&opened, &stage, call.question));
            }
        });
        let (stage, made) = beginning.recv().context("the session could not be opened; this is a bug")??;
        Ok((Self { calls }, stage, made))
    }

    pub(super) async fn ask(&self, question: Question) -> anyhow::Result<Value> {
        let (reply, answer) = oneshot::channel();
        self.calls.send(Call { question, reply }).map_err(|_| anyhow!("the session was closed"))?;
        answer.await.context("the question ended its thread; this is a bug")?
    }
}

fn answer(opened: &OpenedSession, stage: &Stage, question: Question) -> anyhow::Result<Value> {
    match question {
        Question::Shape(track, seq) => {
            let reference = reference(opened, stage, track, seq).context("there is no such span")?;
            details(opened, stage, reference)
        }
        Question::Span(text) => {
            let reference: Reference = text.parse().map_err(|words: String| anyhow!(words))?;
            details(opened, stage, reference)
        }
        Question::Search(text) => search::answer(opened, stage, &text),
        Question::Coverage => Ok(coverage::answer(opened)),
    }
}

/// What a shape of a track stands for.
fn reference(opened: &OpenedSession, stage: &Stage, track: usize, seq: u64) -> Option<Reference> {
    let it = stage.tracks.get(track)?;
    let meta = stage.processes[it.process].tables.meta();
    let id = |place: u64| meta.threads.get(place as usize).map(|thread| thread.id);
    let place = usize::try_from(seq).ok()?;
    let target = match &it.kind {
        TrackKind::Thread(thread) => Target::Frame(id(*thread as u64)?, seq),
        TrackKind::Logical(track) => match track.kind.word() {
            "threads" => {
                let span = meta.pthreads.get(place)?;
                Target::Thread(id(span.thread)?, span.begin_seq)
            }
            "tasks" => Target::Task(meta.tasks.get(place)?.id),
            "queue" => {
                let span = meta.dispatched.get(place)?;
                Target::Block(id(span.thread)?, span.seq)
            }
            _ => {
                let span = meta.callbacks.get(place)?;
                Target::Callback(id(span.thread)?, span.seq)
            }
        },
    };
    Some(opened.processes()[it.process].reference(target))
}

/// All that is known of a span, and where it is drawn.
fn details(opened: &OpenedSession, stage: &Stage, reference: Reference) -> anyhow::Result<Value> {
    let shown = show::find(opened, reference, NEIGHBOURS)?;
    let row = row_of(opened, reference)?;
    let place = row.as_ref().and_then(|row| search::place(stage, row));
    let span = row.as_ref().map(|row| search::to_json(opened, stage, row));
    let links = match &row {
        Some(row) => causes::find(opened, stage, row.process, row.target(opened))?,
        None => Value::Null,
    };
    Ok(json!({ "reference": reference.to_string(), "details": shown, "place": place, "span": span, "links": links }))
}

/// The span that a reference means; an event's is that which it opens.
pub(super) fn row_of(opened: &OpenedSession, reference: Reference) -> anyhow::Result<Option<Span>> {
    for (process, it) in opened.processes().iter().enumerate() {
        if reference.pid.is_some_and(|pid| pid != it.pid) {
            continue;
        }
        let span = match reference.target {
            Target::Event(id, seq) => Span::find(opened, process, Target::Frame(id, seq))?,
            Target::Thread(id, seq) => it.tables.meta().thread_index(id).and_then(|thread| {
                let place = it.pthread_place(thread as u64, seq)?;
                Some(Span { process, kind: SpanKind::Pthread(place) })
            }),
            target => Span::find(opened, process, target)?,
        };
        if span.is_some() {
            return Ok(span);
        }
    }
    Ok(None)
}
