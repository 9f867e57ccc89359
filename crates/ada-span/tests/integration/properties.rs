//! Any program's spans are right; any mutilated stream's spans account for every event.

use std::collections::HashMap;

use ada_event::{Event, EventKind, EventSeq, TraceNanos};
use ada_span::{AnomalyKind, ReplayOptions, Status};
use proptest::prelude::*;

use crate::collected::{Collected, replay, replay_with_losses};
use crate::program::{Machine, PLAIN, Step, traits};

const NEVER: ReplayOptions = ReplayOptions { end: ada_span::ProcessEnd::Alive, ..ReplayOptions::COMPLETE };

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..PLAIN).prop_map(Step::Call),
        1 => Just(Step::EntryOnly),
        2 => (0..PLAIN).prop_map(Step::TailCall),
        2 => (0..PLAIN).prop_map(Step::RecordedTailCall),
        11 => Just(Step::Return),
        1 => (0_usize..5).prop_map(Step::Throw),
        1 => (0_usize..5).prop_map(Step::Jump),
        1 => (0_u64..5000).prop_map(Step::Wait),
    ]
}

/// Something that happens to a stream.
#[derive(Clone, Debug)]
enum Harm {
    Remove(usize),
    RemoveMany(usize, usize),
    Duplicate(usize),
    Cut(usize),
    Depth(usize, u32),
    Kind(usize, u32),
    Time(usize, u64),
    Function(usize, u64),
}

fn harm() -> impl Strategy<Value = Harm> {
    let at = || 0_usize..400;
    prop_oneof![
        4 => at().prop_map(Harm::Remove),
        2 => (at(), 1_usize..50).prop_map(|(from, count)| Harm::RemoveMany(from, count)),
        2 => at().prop_map(Harm::Duplicate),
        1 => at().prop_map(Harm::Cut),
        1 => (at(), prop_oneof![0_u32..20, any::<u32>()]).prop_map(|(at, depth)| Harm::Depth(at, depth)),
        1 => (at(), prop_oneof![0_u32..6, any::<u32>()]).prop_map(|(at, kind)| Harm::Kind(at, kind)),
        1 => (at(), any::<u64>()).prop_map(|(at, time)| Harm::Time(at, time)),
        1 => (at(), any::<u64>()).prop_map(|(at, function)| Harm::Function(at, function)),
    ]
}

fn apply(events: &mut Vec<Event>, harm: &Harm) {
    let length = events.len();
    let within = |at: usize| if length == 0 { 0 } else { at % length };
    if length == 0 {
        return;
    }
    match *harm {
        Harm::Remove(at) => drop(events.remove(within(at))),
        Harm::RemoveMany(from, count) => drop(events.drain(within(from)..(within(from) + count).min(length))),
        Harm::Duplicate(at) => events.insert(within(at), events[within(at)]),
        Harm::Cut(at) => events.truncate(within(at)),
        Harm::Depth(at, depth) => events[within(at)].depth = depth,
        Harm::Kind(at, kind) => events[within(at)].kind = EventKind(kind),
        Harm::Time(at, time) => events[within(at)].timestamp = TraceNanos(time),
        Harm::Function(at, function) => events[within(at)].function = ada_event::FunctionId(function),
    }
}

/// The stack that each event was on.
fn stacks(events: &[Event]) -> Vec<u64> {
    let mut stack = 0;
    let on = |event: &Event| {
        if event.kind == EventKind::STACK {
            stack = event.function.0;
        }
        stack
    };
    events.iter().map(on).collect()
}

/// Children lie within their parents, one after the other, and leave them their own time; the outermost calls of each stack
/// come one after the other too. Where there are several stacks, a call may also have waited.
fn check_nesting(events: &[Event], collected: &Collected) {
    let stacks = stacks(events);
    let may_wait = stacks.iter().any(|stack| *stack != 0);
    let by_seq: HashMap<EventSeq, usize> =
        collected.spans.iter().enumerate().map(|(at, span)| (span.opened.seq, at)).collect();
    let mut children_ns: HashMap<EventSeq, u64> = HashMap::new();
    let mut last_end: HashMap<(Option<EventSeq>, u64), TraceNanos> = HashMap::new();
    let mut last_seq = None;
    for span in &collected.spans {
        assert!(last_seq < Some(span.opened.seq), "spans are in the order of their opening events");
        last_seq = Some(span.opened.seq);
        let stack = stacks[span.opened.seq.0 as usize];
        let before = last_end.insert((span.opened.parent, stack), span.end()).unwrap_or_default();
        assert!(span.opened.start >= before, "siblings do not overlap: {span:?}");
        if let Some(parent) = span.opened.parent {
            let parent = &collected.spans[by_seq[&parent]];
            assert!(parent.opened.start <= span.opened.start && span.end() <= parent.end(), "{parent:?}\n{span:?}");
            assert!(parent.opened.depth < span.opened.depth, "{parent:?}\n{span:?}");
            assert_eq!(stacks[parent.opened.seq.0 as usize], stack, "{parent:?}\n{span:?}");
            *children_ns.entry(parent.opened.seq).or_default() += span.closed().duration;
        }
    }
    for span in &collected.spans {
        let children = children_ns.get(&span.opened.seq).copied().unwrap_or(0);
        let known = span.closed().self_ns + children;
        assert!(known == span.closed().duration || may_wait && known < span.closed().duration, "{span:?}");
    }
}

/// Each event opens or closes exactly one span, changes the stack, or is an anomaly that says so.
fn check_coverage(events: &[Event], collected: &Collected) {
    let mut uses = vec![0; events.len()];
    for span in &collected.spans {
        uses[span.opened.seq.0 as usize] += 1;
        if let Some(close) = span.closed().close_seq {
            uses[close.0 as usize] += 1;
        }
    }
    for anomaly in &collected.anomalies {
        if anomaly.kind == AnomalyKind::UnknownEvent {
            uses[anomaly.seq.0 as usize] += 1;
        }
    }
    for (seq, (uses, event)) in uses.iter().zip(events).enumerate() {
        assert_eq!(*uses, i32::from(event.kind != EventKind::STACK), "event {seq}: {event:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_whole_stream_becomes_exactly_the_spans_that_the_program_had(steps in prop::collection::vec(step(), 0..400)) {
        let machine = Machine::run(&steps);
        let collected = replay(&machine.events, &traits(), NEVER);
        prop_assert!(collected.anomalies.is_empty(), "{:?}", collected.anomalies);
        check_nesting(&machine.events, &collected);
        check_coverage(&machine.events, &collected);
        prop_assert_eq!(collected.spans.len(), machine.expected.len());
        for (span, expected) in collected.spans.iter().zip(&machine.expected) {
            prop_assert_eq!(span.opened.seq, expected.open_seq);
            prop_assert_eq!(span.opened.parent, expected.parent);
            prop_assert_eq!(span.closed().close_seq, expected.close_seq);
            prop_assert_eq!(span.closed().outcome, expected.outcome);
            let end = expected.close_seq.map(|seq| machine.events[seq.0 as usize].timestamp);
            if let Some(end) = end {
                prop_assert_eq!(span.end(), end);
            }
        }
    }

    #[test]
    fn a_mutilated_stream_is_accounted_for_to_the_last_event(
        steps in prop::collection::vec(step(), 0..400),
        harms in prop::collection::vec(harm(), 1..20),
        has_drops: bool,
    ) {
        let mut events = Machine::run(&steps).events;
        harms.iter().for_each(|harm| apply(&mut events, harm));
        let collected = replay(&events, &traits(), ReplayOptions { has_drops, ..NEVER });
        check_nesting(&events, &collected);
        check_coverage(&events, &collected);
    }

    #[test]
    fn random_events_are_accounted_for(events in prop::collection::vec(any::<[u8; 32]>(), 0..200)) {
        let events: Vec<Event> = events.iter().map(|bytes| {
            let event = Event::from_le_bytes(bytes);
            Event { kind: EventKind(event.kind.0 % 6), depth: event.depth % 40, ..event }
        }).collect();
        let collected = replay(&events, &traits(), NEVER);
        check_nesting(&events, &collected);
        check_coverage(&events, &collected);
    }

    #[test]
    fn a_hole_costs_only_the_spans_that_it_cut(
        steps in prop::collection::vec(step(), 50..400),
        from in 0_usize..300,
        count in 1_usize..40,
    ) {
        let machine = Machine::run(&steps);
        let from = from.min(machine.events.len());
        let end = (from + count).min(machine.events.len());
        let mut events = machine.events.clone();
        events.drain(from..end);
        let loss = events.get(from).map_or(u64::MAX, |event| event.timestamp.0);
        let collected = replay_with_losses(&events, &traits(), NEVER, &[loss]);
        // Positions behind the hole have moved up.
        let (first, after) = (EventSeq(from as u64), EventSeq(end as u64));
        let moved = |seq: EventSeq| if seq < first { seq } else { EventSeq(seq - EventSeq(after - first)) };
        let is_whole = |seq: EventSeq| seq < first || seq >= after;
        for expected in &machine.expected {
            let (Some(close), true) = (expected.close_seq, expected.outcome.status == Status::Completed) else { continue };
            // Both ends on the same side of the hole: nothing of it is lost.
            if is_whole(expected.open_seq) && is_whole(close) && (close < first || expected.open_seq >= after) {
                let span = collected.spans.iter().find(|span| span.opened.seq == moved(expected.open_seq));
                prop_assert_eq!(span.map(|span| span.closed().close_seq), Some(Some(moved(close))));
            }
        }
    }
}
