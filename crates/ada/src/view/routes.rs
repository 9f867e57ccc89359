//! What is answered to which path.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ada_timeline::Range;
use serde_json::{Value, json};

use super::loaded::{Loaded, Shown};
use super::notes::Note;
use super::page_lens::Seen;
use super::parameters::Parameters;
use super::question::Question;
use super::site::Site;
use super::{arrows, picture, pixel, range_export, states, sums, through_lens};

/// An answer's body.
pub(super) enum Answer {
    Json(Value),
    Binary(Vec<u8>),
}

/// Why there is none.
pub(super) enum Failure {
    /// There is nothing at that path.
    Missing,
    /// The parameters are wrong.
    Wrong(String),
    /// Something went wrong with the session's files.
    Failed(String),
}

/// Names of one answer.
const MOST_NAMES: usize = 5_000;

pub(super) async fn answer(site: &Site, path: &str, parameters: Parameters) -> Result<Answer, Failure> {
    let shown = site.shown(&parameters);
    let loaded = shown.get();
    let ask = async |question: Question| {
        let answer = loaded.thread.ask(move |session| question.answer(session)).await;
        answer.map(Answer::Json).map_err(|error| Failure::Wrong(format!("{error:#}")))
    };
    let seen = Seen::of(&parameters);
    match path {
        "/api/session" => Ok(Answer::Json(loaded.about.clone())),
        "/api/difference" => site.difference().cloned().map(Answer::Json).ok_or(Failure::Missing),
        "/api/number" => Ok(Answer::Json(json!({ "number": loaded.about["number"], "live": loaded.about["live"] }))),
        "/api/colours" => Ok(Answer::Binary(loaded.timeline.names.colour_keys())),
        "/api/coverage" => ask(Question::Coverage).await,
        "/api/function" => ask(Question::Function(parameters.need("name").map_err(Failure::Wrong)?)).await,
        "/api/notes" => ask(Question::Notes(seen)).await,
        "/api/search" => ask(Question::Search(parameters.get("q").unwrap_or_default().to_owned(), seen)).await,
        "/api/span" => match parameters.get("ref") {
            Some(reference) => ask(Question::Span(reference.to_owned(), seen)).await,
            None => {
                let (track, seq) = (parameters.need("track"), parameters.need("seq"));
                ask(Question::Shape(track.map_err(Failure::Wrong)?, seq.map_err(Failure::Wrong)?, seen)).await
            }
        },
        "/api/picture" | "/api/export" | "/api/pixel" | "/api/arrows" | "/api/states" | "/api/names" | "/api/sums"
        | "/api/lens" => {
            let path = path.to_owned();
            let shown = shown.clone();
            let answered = tokio::task::spawn_blocking(move || computed(&shown, &loaded, &path, &parameters)).await;
            answered.unwrap_or_else(|_| Err(Failure::Failed("the question ended its thread; this is a bug".into())))
        }
        _ => Err(Failure::Missing),
    }
}

/// Keeps what the page sends.
pub(super) async fn keep(site: &Site, path: &str, parameters: &Parameters, body: &[u8]) -> Result<Answer, Failure> {
    let seen = Seen::of(parameters);
    if path != "/api/note" {
        return Err(Failure::Missing);
    }
    let note: Note = serde_json::from_slice(body).map_err(|error| Failure::Wrong(format!("no note: {error}")))?;
    let answer =
        site.shown(parameters).get().thread.ask(move |session| Question::Note(note, seen).answer(session)).await;
    answer.map(Answer::Json).map_err(|error| Failure::Wrong(format!("{error:#}")))
}

fn computed(shown: &Shown, loaded: &Arc<Loaded>, path: &str, parameters: &Parameters) -> Result<Answer, Failure> {
    let timeline = &loaded.timeline;
    let failed = |error: anyhow::Error| Failure::Failed(format!("{error:#}"));
    if path == "/api/names" {
        let wanted = parameters.get("ids").unwrap_or_default().split(',').filter(|it| !it.is_empty());
        let mut names = serde_json::Map::new();
        for id in wanted.take(MOST_NAMES) {
            let number: u32 = id.parse().map_err(|_| Failure::Wrong("ids are numbers".into()))?;
            if let Some((name, module)) = timeline.names.get(number) {
                names.insert(id.to_owned(), json!([name, module]));
            }
        }
        return Ok(Answer::Json(names.into()));
    }
    if path == "/api/lens" {
        return through_lens::answer(timeline, &loaded.crashes).map(Answer::Json).map_err(failed);
    }
    let seen = Seen::of(parameters);
    let since: u64 = parameters.need("start").map_err(Failure::Wrong)?;
    let until: u64 = parameters.need("end").map_err(Failure::Wrong)?;
    if until <= since {
        return Err(Failure::Wrong("the end must lie behind the start".into()));
    }
    let (start, end) = (timeline.start.saturating_add(since), timeline.start.saturating_add(until));
    match path {
        "/api/export" => {
            let format = parameters.get("format").unwrap_or_default();
            let exported = range_export::answer(&loaded.path, format, timeline.lens.options(seen), start, end);
            exported.map(Answer::Binary).map_err(|error| Failure::Wrong(format!("{error:#}")))
        }
        "/api/picture" => {
            let width: u64 = parameters.need("width").map_err(Failure::Wrong)?;
            let wanted = picture::parse_wanted(parameters.get("tracks").unwrap_or_default(), timeline);
            let wanted = wanted.ok_or_else(|| Failure::Wrong("tracks are TRACK:FIRST-LAST, with commas".into()))?;
            let range = Range { start, end, width };
            picture::answer(timeline, &wanted, range, seen).map(Answer::Binary).map_err(failed)
        }
        "/api/pixel" => {
            let (track, row, kind) = (parameters.need("track"), parameters.need("row"), parameters.need("kind"));
            let track: usize = track.map_err(Failure::Wrong)?;
            if track >= timeline.tracks.len() {
                return Err(Failure::Wrong(format!("there is no track {track}")));
            }
            let range = Range { start, end, width: 1 };
            let (row, kind) = (row.map_err(Failure::Wrong)?, kind.map_err(Failure::Wrong)?);
            pixel::answer(timeline, (track, row, kind), range, seen).map(Answer::Json).map_err(failed)
        }
        _ => {
            let mut tracks: Vec<usize> = Vec::new();
            for text in parameters.get("tracks").unwrap_or_default().split(',').filter(|it| !it.is_empty()) {
                let track = text.parse().ok().filter(|&it| it < timeline.tracks.len());
                tracks.push(track.ok_or_else(|| Failure::Wrong(format!("there is no track {text}")))?);
            }
            if path == "/api/arrows" {
                let is_shown = |track: usize| tracks.contains(&track);
                return arrows::answer(timeline, start, end, is_shown, seen).map(Answer::Json).map_err(failed);
            }
            if path == "/api/states" {
                return Ok(Answer::Json(states::answer(timeline, &tracks, start, end)));
            }
            let own = shown.newest_sum.fetch_add(1, Ordering::Relaxed) + 1;
            let go_on = || shown.newest_sum.load(Ordering::Relaxed) == own;
            let sums = sums::answer(timeline, &tracks, start, end, seen, &go_on).map_err(failed)?;
            if !go_on() {
                return Err(Failure::Wrong("a newer question was asked".into()));
            }
            Ok(Answer::Json(sums))
        }
    }
}
