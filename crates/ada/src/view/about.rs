//! What the page is told first: the session, its tracks, and where to begin.

use ada_span::{FunctionStats, Reason, Status};
use serde_json::{Value, json};

use super::opening;
use super::timeline::Timeline;
use super::track::{Track, TrackKind};
use crate::analysis::OpenedSession;

/// Functions that the page lists at first.
const MOST_FUNCTIONS: usize = 12;

/// Everything but the shapes.
pub(super) fn answer(opened: &OpenedSession, timeline: &Timeline, number: u64, is_live: bool) -> Value {
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
                "pid": process.pid,
                "command": manifest.map_or_else(String::new, |it| it.command_line.join(" ")),
                "exit_code": exit.and_then(|it| it.code),
                "signal": opened.fatal_signal(process),
            })
        })
        .collect();
    let tracks: Vec<Value> = timeline.tracks.iter().enumerate().map(|(place, it)| track(timeline, place, it)).collect();
    let threads = || opened.processes().iter().flat_map(|it| &it.tables.meta().threads);
    json!({
        "number": number,
        "live": is_live,
        "session": name,
        "start_ns": timeline.start,
        "length": timeline.end.saturating_sub(timeline.start).max(1),
        "processes": processes,
        "tracks": tracks,
        "links": timeline.links.len(),
        "events": threads().map(|it| it.facts.events).sum::<u64>(),
        "spans": threads().map(|it| it.spans).sum::<u64>(),
        "statuses": Status::ALL.iter().map(|it| it.word()).collect::<Vec<_>>(),
        "reasons": Reason::ALL.iter().map(|it| it.word()).collect::<Vec<_>>(),
        "opening": opening::find(opened, timeline),
        "top": top(opened, timeline),
    })
}

/// The functions with the most time in themselves: name, calls, own time and total.
fn top(opened: &OpenedSession, timeline: &Timeline) -> Vec<Value> {
    let all = opened.processes().iter().enumerate().flat_map(|(number, process)| {
        let functions = (0..).zip(&process.tables.meta().functions);
        functions.map(move |(place, it)| (it.self_ns, number, place, it))
    });
    let mut all: Vec<_> = all.collect();
    all.sort_unstable_by_key(|(own, number, place, _)| (std::cmp::Reverse(*own), *number, *place));
    let tell = |&(own, number, place, it): &(u64, usize, u32, &FunctionStats)| {
        json!([timeline.names.of_function(number, place), it.spans, own, it.total_ns])
    };
    all.iter().take(MOST_FUNCTIONS).map(tell).collect()
}

fn track(timeline: &Timeline, place: usize, it: &Track) -> Value {
    let process = &timeline.processes[it.process];
    let since = |time: u64| time.saturating_sub(timeline.start);
    let (kind, id, spans, times) = match &it.kind {
        TrackKind::Thread(thread) => {
            let entry = &process.tables.meta().threads[*thread];
            ("thread", Some(entry.id), entry.spans, (entry.facts.first_time, entry.facts.last_time))
        }
        TrackKind::Logical(track) => (track.kind.word(), None, track.spans(), track.times().unwrap_or_default()),
    };
    json!({
        "id": place,
        "process": it.process,
        "kind": kind,
        "title": it.title,
        "thread_id": id,
        "spans": spans,
        "rows": timeline.rows_of(it),
        "start": since(times.0),
        "end": since(times.1),
    })
}
