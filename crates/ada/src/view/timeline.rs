//! What is drawn: tracks, with the spans on them. Several threads may look at it at once.

use ada_event::TraceNanos;
use ada_span::table::{FunctionIndex, Tables};
use ada_span::{SpanError, ThreadIndex};
use ada_timeline::{Blocks, Item, LAST_ROW, Range, Row, Scene, Summary};

use super::logical;
use super::names::SpanNames;
use super::page_lens::{Lensed, PageLens, Seen};
use super::shape_kind::ShapeKind;
use super::timeline_link::{self, TimelineLink};
use super::timeline_process::TimelineProcess;
use super::track::{Track, TrackKind};
use crate::analysis::{OpenedSession, thread_title};

/// A session of the timeline.
pub(super) struct Timeline {
    pub(super) start: TraceNanos,
    pub(super) end: TraceNanos,
    pub(super) processes: Vec<TimelineProcess>,
    pub(super) tracks: Vec<Track>,
    pub(super) names: SpanNames,
    pub(super) links: Vec<TimelineLink>,
    pub(super) lens: PageLens,
}

impl Timeline {
    /// Puts a session of the timeline. `progress` hears of spans that are summed up, which is done once.
    pub(super) fn new(
        opened: &OpenedSession,
        lens: PageLens,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Self, SpanError> {
        let names = SpanNames::of(opened);
        let mut timeline = Self {
            start: opened.start(),
            end: opened.end(),
            processes: Vec::new(),
            tracks: Vec::new(),
            names,
            links: Vec::new(),
            lens,
        };
        for (number, process) in opened.processes().iter().enumerate() {
            let tables = Tables::open(process.tables.folder())?;
            let summary = Summary::of(&tables, progress)?;
            let first_track = timeline.tracks.len();
            let count = tables.meta().threads.len();
            for thread in ThreadIndex::all(count) {
                let title = thread_title(opened, number, thread);
                timeline.tracks.push(Track { process: number, title, kind: TrackKind::Thread(thread) });
            }
            let mut anomalies: Vec<Vec<Item>> = vec![Vec::new(); count];
            for (thread, anomaly) in tables.anomalies()? {
                if let Some(of_thread) = anomalies.get_mut(thread.as_usize()) {
                    let name = timeline.names.of_text(&anomaly.kind.word().replace('_', " "));
                    of_thread.push(Item {
                        start: anomaly.time,
                        duration: 0,
                        seq: anomaly.seq.0,
                        function: FunctionIndex(name),
                        count: 1,
                        outcome: 0,
                    });
                }
            }
            anomalies.iter_mut().for_each(|them| them.sort_by_key(|it| it.start));
            let (tracks, placed) =
                logical::tracks(opened, number, &timeline.names, (first_track, timeline.tracks.len()));
            timeline.tracks.extend(tracks);
            timeline.processes.push(TimelineProcess {
                pid: process.pid,
                tables,
                summary,
                blocks: Blocks::default(),
                first_track,
                placed,
                states: ThreadIndex::all(count).map(|thread| process.thread_states(thread).cloned()).collect(),
                anomalies,
            });
        }
        // A call that a crash ended reaches beyond the last event.
        let blocks = timeline.processes.iter().flat_map(|it| &it.tables.meta().blocks);
        timeline.end = blocks.map(|block| block.max_end).max().unwrap_or_default().max(timeline.end);
        timeline.links = timeline_link::gather(opened.trace(), &timeline.processes);
        Ok(timeline)
    }

    /// What is drawn through the lens, by process.
    pub(super) fn lensed(&self, progress: &(dyn Fn(u64) + Sync)) -> anyhow::Result<&[Lensed]> {
        self.lens.of(&self.processes, progress)
    }

    /// What is seen of a process.
    pub(super) fn scene(&self, process: usize, seen: Seen) -> anyhow::Result<Scene<'_>> {
        let all = self.processes[process].scene();
        Ok(match seen {
            Seen::All => all,
            Seen::ThroughLens => {
                let Lensed { rows, summary } = &self.lensed(&|_| ())?[process];
                Scene { summary, lens: Some(rows), ..all }
            }
        })
    }

    /// The track of a thread.
    pub(super) fn track_of_thread(&self, process: usize, thread: ThreadIndex) -> usize {
        self.processes[process].track_of_thread(thread)
    }

    /// How many rows a track can have.
    pub(super) fn rows_of(&self, track: &Track) -> u32 {
        match &track.kind {
            TrackKind::Thread(thread) => {
                let entry = &self.processes[track.process].tables.meta().threads[thread.as_usize()];
                if entry.spans == 0 { 0 } else { entry.facts.deepest.min(LAST_ROW) + 1 }
            }
            TrackKind::Logical(it) => it.rows(),
        }
    }

    /// At most so many calls of a track begin in a range.
    pub(super) fn spans_between(&self, track: usize, range: Range) -> u64 {
        let it = &self.tracks[track];
        match it.kind {
            TrackKind::Thread(thread) => {
                self.processes[it.process].scene().spans_between(thread, range.start, range.end)
            }
            TrackKind::Logical(_) => 0,
        }
    }

    /// What the rows of a track have in a range, by kind. At most `most_spans` calls are looked at one by one.
    pub(super) fn look(
        &self,
        track: usize,
        range: Range,
        (first, last): (u32, u32),
        most_spans: u64,
        seen: Seen,
    ) -> anyhow::Result<Vec<(ShapeKind, Row)>> {
        let it = &self.tracks[track];
        let process = &self.processes[it.process];
        match &it.kind {
            TrackKind::Thread(thread) => {
                let rows = self.scene(it.process, seen)?.rows(*thread, range, (first, last), most_spans)?;
                let mut rows: Vec<(ShapeKind, Row)> = rows.into_iter().map(|row| (ShapeKind::Call, row)).collect();
                let odd = &process.anomalies[thread.as_usize()];
                let from = odd.partition_point(|it| it.start < range.start);
                let until = odd.partition_point(|it| it.start < range.end);
                if from < until && first == 0 {
                    rows.push((ShapeKind::Anomaly, Row { row: 0, items: odd[from..until].to_vec() }));
                }
                Ok(rows)
            }
            TrackKind::Logical(it) => Ok(it.look(range, first, last)),
        }
    }
}
