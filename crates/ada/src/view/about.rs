//! What the page gets first: the session, its tracks, and where to begin.

use ada_event::TraceNanos;
use ada_span::table::FunctionIndex;
use ada_span::{FunctionStats, Reason, Status};
use serde_json::{Value, json};

use super::crashed_call::CrashedCall;
use super::timeline::Timeline;
use super::track::{Track, TrackKind};
use super::{lives, opening};
use crate::analysis::OpenedSession;

/// Functions that the page lists at first.
const MOST_FUNCTIONS: usize = 12;

/// Everything but the shapes.
pub(super) fn answer(
    opened: &OpenedSession,
    timeline: &Timeline,
    crashes: &[CrashedCall],
    number: u64,
    is_live: bool,
) -> Value {
    let path = opened.session().path();
    let name = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = name.file_name().map_or_else(String::new, |it| it.to_string_lossy().into_owned());
    let processes: Vec<Value> = opened
        .processes()
        .iter()
        .map(|process| {
            let manifest = opened.recorded(process).manifest.as_ref();
            let exit = manifest.and_then(|it| it.exit.as_ref());
            json!({
                "pid": process.pid.0,
                "command": manifest.map_or_else(String::new, |it| it.command_line.join(" ")),
                "exit_code": exit.and_then(|it| it.code),
                "signal": opened.fatal_signal(process),
            })
        })
        .collect();
    let mut lives = lives::by_track(opened, timeline);
    let mut lives_of = |track: usize| lives.remove(&track).unwrap_or_default();
    let tracks = timeline.tracks.iter().enumerate().map(|(index, it)| track(timeline, index, it, lives_of(index)));
    let tracks: Vec<Value> = tracks.collect();
    let threads = || opened.processes().iter().flat_map(|it| &it.tables.meta().threads);
    json!({
        "number": number,
        "live": is_live,
        "session": name,
        "start_ns": timeline.start.0,
        "length": timeline.end.since(timeline.start).max(1),
        "processes": processes,
        "tracks": tracks,
        "links": timeline.links.len(),
        "has_states": timeline.processes.iter().flat_map(|it| &it.states).any(Option::is_some),
        "events": threads().map(|it| it.facts.events).sum::<u64>(),
        "spans": threads().map(|it| it.spans).sum::<u64>(),
        "statuses": Status::ALL.iter().map(|it| it.word()).collect::<Vec<_>>(),
        "reasons": Reason::ALL.iter().map(|it| it.word()).collect::<Vec<_>>(),
        "opening": opening::find(opened, timeline, crashes),
        "crashes": crashes.iter().map(|it| it.to_json(timeline)).collect::<Vec<_>>(),
        "lens": timeline.lens.is_of_use().then(|| json!({ "is_first": timeline.lens.is_first() })),
        "modules": timeline.names.modules(),
        "own_ns": own_time(opened),
        "top": top(opened, timeline),
    })
}

/// The time of all calls in themselves: what shares are shares of.
fn own_time(opened: &OpenedSession) -> u64 {
    let functions = opened.processes().iter().flat_map(|it| &it.tables.meta().functions);
    functions.fold(0, |sum, it| sum.saturating_add(it.self_ns))
}

/// The functions with the most time in themselves: name, calls, own time and total.
fn top(opened: &OpenedSession, timeline: &Timeline) -> Vec<Value> {
    let all = opened.processes().iter().enumerate().flat_map(|(number, process)| {
        let functions = (0..).map(FunctionIndex).zip(&process.tables.meta().functions);
        functions.map(move |(index, it)| (it.self_ns, number, index, it))
    });
    let mut all: Vec<_> = all.collect();
    all.sort_unstable_by_key(|(own, number, index, _)| (std::cmp::Reverse(*own), *number, *index));
    let line = |&(own, number, index, it): &(u64, usize, FunctionIndex, &FunctionStats)| {
        json!([timeline.names.of_function(number, index), it.spans, own, it.total_ns])
    };
    all.iter().take(MOST_FUNCTIONS).map(line).collect()
}

fn track(timeline: &Timeline, index: usize, it: &Track, lives: Vec<Value>) -> Value {
    let process = &timeline.processes[it.process];
    let since = |time: TraceNanos| time.since(timeline.start);
    let (kind, id, spans, times) = match &it.kind {
        TrackKind::Thread(thread) => {
            let entry = &process.tables.meta().threads[thread.as_usize()];
            ("thread", Some(entry.id.0), entry.spans, (entry.facts.first_time, entry.facts.last_time))
        }
        TrackKind::Logical(track) => (track.kind.word(), None, track.spans(), track.times().unwrap_or_default()),
    };
    json!({
        "id": index,
        "process": it.process,
        "kind": kind,
        "title": it.title,
        "thread_id": id,
        "spans": spans,
        "rows": timeline.rows_of(it),
        "start": since(times.0),
        "end": since(times.1),
        "lives": lives,
    })
}
