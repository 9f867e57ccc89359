//! Which events of a thread lie in windows. Events are counted by their positions in the thread's index file.

use std::collections::BTreeMap;
use std::ops::Range;

use ada_event::{EventSeq, ThreadId, TraceNanos};
use ada_format::atf::Window;

use crate::drain::windows::tested_calls::OpenValues;
use crate::drain::windows::watch::OpenCalls;
use crate::roll::Roll;

/// Where a window ends: in front of an event, or after a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Until {
    Event(EventSeq),
    Time(TraceNanos),
}

/// A window, and what has been done for it.
#[derive(Debug)]
pub(crate) struct OpenWindow {
    /// The events whose turn it is.
    todo: Range<EventSeq>,
    until: Until,
    opened_by: String,
    triggered: TraceNanos,
    /// How often each trigger fired.
    triggers: BTreeMap<String, u64>,
    written: u64,
    lost: u64,
    times: Option<(TraceNanos, TraceNanos)>,
}

/// Triggers and windows of one thread.
#[derive(Default)]
pub(crate) struct ThreadWindow {
    pub(crate) open_calls: OpenCalls,
    pub(crate) open_values: OpenValues,
    /// Those of the events at hand, in order and apart. The last one may go on.
    windows: Vec<OpenWindow>,
    /// The window that the last question was about.
    cursor: usize,
}

/// A trigger: its name, and the position and time of its event.
pub(crate) struct Fired {
    pub(crate) name: String,
    pub(crate) event: EventSeq,
    pub(crate) time: TraceNanos,
}

/// The thread's newest events by position.
pub(crate) trait Events {
    /// The first event that is not earlier than the time.
    fn first_from(&self, time: TraceNanos) -> EventSeq;
    /// The position behind the last.
    fn end(&self) -> EventSeq;
}

impl ThreadWindow {
    /// Whether events that come now may belong to a window.
    pub(crate) fn is_open(&self, end: EventSeq) -> bool {
        self.windows.last().is_some_and(|window| {
            window.todo.end == end
                && match window.until {
                    Until::Event(event) => end < event,
                    Until::Time(_) => true,
                }
        })
    }

    /// Goes on to all events up to now, with the triggers among them.
    pub(crate) fn advance(&mut self, fired: Vec<Fired>, events: &dyn Events, pre: Roll, post: Roll) {
        self.cursor = 0;
        if let Some(newest) = self.windows.last_mut() {
            newest.todo.start = newest.todo.end;
            newest.reach(events);
        }
        for trigger in fired {
            let start = match pre {
                Roll::Events(count) => EventSeq(trigger.event.0.saturating_sub(count)),
                Roll::Time(time) => {
                    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                    events.first_from(trigger.time.saturating_sub(nanos))
                }
            };
            let until = match post {
                Roll::Events(count) => Until::Event(trigger.event.saturating_add(count).next()),
                Roll::Time(time) => {
                    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                    Until::Time(trigger.time.saturating_add(nanos))
                }
            };
            match self.windows.last_mut() {
                Some(newest) if start <= newest.todo.end => newest.until = newest.until.max(until),
                _ => self.windows.push(OpenWindow {
                    todo: start..start,
                    until,
                    opened_by: trigger.name.clone(),
                    triggered: trigger.time,
                    triggers: BTreeMap::new(),
                    written: 0,
                    lost: 0,
                    times: None,
                }),
            }
            let newest = self.windows.last_mut().expect("there is one by now");
            *newest.triggers.entry(trigger.name).or_default() += 1;
            newest.reach(events);
            // The event of a trigger always belongs to its window.
            newest.todo.end = newest.todo.end.max(trigger.event.next().min(events.end()));
        }
    }

    /// The events whose turn it is that lie in front of a position, window by window.
    pub(crate) fn before(&self, end: EventSeq) -> Vec<Range<EventSeq>> {
        let clipped = self.windows.iter().map(|window| window.todo.start..window.todo.end.min(end));
        clipped.filter(|range| !range.is_empty()).collect()
    }

    /// Whether it is the turn of any events.
    pub(crate) fn has_work(&self) -> bool {
        self.windows.iter().any(|window| !window.todo.is_empty())
    }

    /// The window that an event belongs to. Asked for events in their order.
    pub(crate) fn of(&mut self, event: EventSeq) -> Option<&mut OpenWindow> {
        while self.windows.get(self.cursor).is_some_and(|window| window.todo.end <= event) {
            self.cursor += 1;
        }
        self.windows.get_mut(self.cursor).filter(|window| window.todo.contains(&event))
    }

    /// The thread goes on in a new file; `end` is where the old one ends. A window that goes on does so there.
    pub(crate) fn begin_file(&mut self, end: EventSeq, thread: ThreadId) -> impl Iterator<Item = Window> + use<> {
        let is_open = self.is_open(end);
        let finished = self.finished(thread, !is_open);
        if let Some(window) = self.windows.last_mut() {
            window.todo = EventSeq(0)..EventSeq(0);
            if let Until::Event(event) = &mut window.until {
                *event = EventSeq(*event - end);
            }
        }
        finished
    }

    /// Gives the windows that cannot become longer any more; with `all`, every one.
    pub(crate) fn finished(&mut self, thread: ThreadId, all: bool) -> impl Iterator<Item = Window> + use<> {
        let keep = usize::from(!all).min(self.windows.len());
        let finished: Vec<OpenWindow> = self.windows.drain(..self.windows.len() - keep).collect();
        self.cursor = 0;
        finished.into_iter().map(move |window| window.describe(thread))
    }
}

impl OpenWindow {
    fn reach(&mut self, events: &dyn Events) {
        let end = match self.until {
            Until::Event(event) => event.min(events.end()),
            Until::Time(time) => events.first_from(time.saturating_add(1)),
        };
        self.todo.end = self.todo.end.max(end);
    }

    /// The detail of one of its events was written.
    pub(crate) fn wrote(&mut self, time: TraceNanos) {
        self.written += 1;
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
    }

    /// The detail of one of its events was not there any more.
    pub(crate) fn lost(&mut self) {
        self.lost += 1;
    }

    fn describe(self, thread: ThreadId) -> Window {
        let (start, end) = self.times.unwrap_or((self.triggered, self.triggered));
        Window {
            trigger: self.opened_by,
            start_ns: start,
            end_ns: end,
            thread: Some(thread),
            trigger_ns: Some(self.triggered),
            details: Some(self.written),
            lost: Some(self.lost),
            triggers: self.triggers,
            ..Window::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Event n happens at time 10 n.
    struct EveryTen(u64);

    impl Events for EveryTen {
        fn first_from(&self, time: TraceNanos) -> EventSeq {
            EventSeq(time.0.div_ceil(10).min(self.0))
        }

        fn end(&self) -> EventSeq {
            EventSeq(self.0)
        }
    }

    fn fired(event: u64) -> Fired {
        Fired { name: "t".into(), event: EventSeq(event), time: TraceNanos(10 * event) }
    }

    fn todo(window: &ThreadWindow) -> Vec<(u64, u64)> {
        window.before(EventSeq(u64::MAX)).into_iter().map(|range| (range.start.0, range.end.0)).collect()
    }

    #[test]
    fn a_window_reaches_back_and_goes_on_over_batches() {
        let mut window = ThreadWindow::default();
        let (pre, post) = (Roll::Events(3), Roll::Events(5));
        window.advance(vec![fired(10)], &EveryTen(12), pre, post);
        assert_eq!(todo(&window), [(7, 12)]);
        assert!(window.is_open(EventSeq(12)));
        window.advance(vec![], &EveryTen(20), pre, post);
        assert_eq!(todo(&window), [(12, 16)]);
        assert!(!window.is_open(EventSeq(20)));
        window.advance(vec![], &EveryTen(30), pre, post);
        assert!(!window.has_work());
    }

    #[test]
    fn windows_that_overlap_are_one() {
        let mut window = ThreadWindow::default();
        let (pre, post) = (Roll::Events(3), Roll::Events(2));
        window.advance(vec![fired(10), fired(16), fired(30)], &EveryTen(40), pre, post);
        assert_eq!(todo(&window), [(7, 19), (27, 33)]);
        let finished: Vec<Window> = window.finished(ThreadId(5), false).collect();
        assert_eq!(finished.len(), 1);
        assert_eq!(finished[0].triggers["t"], 2);
        // A later trigger whose pre-roll touches the last window adds only what is new.
        window.advance(vec![fired(36)], &EveryTen(50), pre, post);
        assert_eq!(todo(&window), [(33, 39)]);
        assert_eq!(window.finished(ThreadId(5), true).next().unwrap().triggers["t"], 2);
    }

    #[test]
    fn a_window_goes_on_in_the_next_file() {
        let mut window = ThreadWindow::default();
        let roll = Roll::Events(5);
        window.advance(vec![fired(2), fired(98)], &EveryTen(100), roll, roll);
        assert_eq!(todo(&window), [(0, 8), (93, 100)]);
        assert_eq!(window.begin_file(EventSeq(100), ThreadId(5)).count(), 1);
        window.advance(vec![], &EveryTen(50), roll, roll);
        assert_eq!(todo(&window), [(0, 4)]);
        assert_eq!(window.begin_file(EventSeq(50), ThreadId(5)).count(), 1);
        assert!(!window.is_open(EventSeq(0)));
    }

    #[test]
    fn time_is_as_good_a_measure() {
        let mut window = ThreadWindow::default();
        let roll = Roll::Time(Duration::from_nanos(25));
        window.advance(vec![fired(10)], &EveryTen(11), roll, roll);
        assert_eq!(todo(&window), [(8, 11)]);
        assert!(window.is_open(EventSeq(11)));
        window.advance(vec![], &EveryTen(20), roll, roll);
        assert_eq!(todo(&window), [(11, 13)]);
        assert!(!window.is_open(EventSeq(20)));
    }

    #[test]
    fn bounds_are_those_of_what_was_written() {
        let mut window = ThreadWindow::default();
        window.advance(vec![fired(10)], &EveryTen(20), Roll::Events(9), Roll::Events(0));
        assert_eq!(todo(&window), [(1, 11)]);
        assert!(window.of(EventSeq(0)).is_none());
        window.of(EventSeq(1)).unwrap().lost();
        window.of(EventSeq(9)).unwrap().wrote(TraceNanos(90));
        window.of(EventSeq(10)).unwrap().wrote(TraceNanos(100));
        assert!(window.of(EventSeq(11)).is_none());
        let finished = window.finished(ThreadId(5), true).next().unwrap();
        let times = (finished.start_ns, finished.end_ns, finished.trigger_ns);
        assert_eq!(times, (TraceNanos(90), TraceNanos(100), Some(TraceNanos(100))));
        assert_eq!((finished.details, finished.lost), (Some(2), Some(1)));
    }
}
