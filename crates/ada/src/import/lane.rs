//! Events with a beginning and an end become calls and returns that nest.

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Its index among all events.
    pub(super) event: usize,
}

/// A call or a return, with the number of calls that are open below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) time: u64,
    pub(super) is_call: bool,
    pub(super) depth: u32,
    pub(super) event: usize,
}

/// Events that nest in each other.
#[derive(Debug, Default)]
pub(super) struct Lane {
    open: Vec<Interval>,
    pub(super) steps: Vec<Step>,
}

impl Lane {
    /// Takes the next event, outer ones first; false if it overlaps one that is open without lying in it.
    fn take(&mut self, event: Interval) -> bool {
        while let Some(top) = self.open.last()
            && top.end <= event.start
            && top.end < event.end
        {
            self.close();
        }
        if self.open.last().is_some_and(|top| top.end < event.end) {
            return false;
        }
        self.steps.push(Step { time: event.start, is_call: true, depth: self.open.len() as u32, event: event.event });
        self.open.push(event);
        true
    }

    fn close(&mut self) {
        if let Some(top) = self.open.pop() {
            let depth = self.open.len() as u32;
            self.steps.push(Step { time: top.end, is_call: false, depth, event: top.event });
        }
    }
}

/// Puts events, in the order of arrival, into as few lanes as it takes for those of each lane to nest. An event is
/// inside another one by the rule of the format's nesting: of equal ones, the later is the outer.
pub(super) fn nest(mut events: Vec<Interval>) -> Vec<Lane> {
    events.sort_unstable_by_key(|it| (it.start, std::cmp::Reverse(it.end), std::cmp::Reverse(it.event)));
    let mut lanes: Vec<Lane> = Vec::new();
    for event in events {
        if !lanes.iter_mut().any(|lane| lane.take(event)) {
            let mut lane = Lane::default();
            lane.take(event);
            lanes.push(lane);
        }
    }
    for lane in &mut lanes {
        while !lane.open.is_empty() {
            lane.close();
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(times: &[(u64, u64)]) -> Vec<String> {
        let events = times.iter().enumerate().map(|(event, &(start, end))| Interval { start, end, event }).collect();
        let step = |it: &Step| format!("{}{}@{}", if it.is_call { '<' } else { '>' }, it.event, it.time);
        nest(events).iter().map(|lane| lane.steps.iter().map(step).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn what_lies_inside_is_called_there() {
        assert_eq!(nested(&[(2, 3), (4, 5), (1, 6)]), ["<2@1 <0@2 >0@3 <1@4 >1@5 >2@6"]);
    }

    #[test]
    fn what_only_overlaps_gets_a_lane_of_its_own() {
        assert_eq!(nested(&[(10, 20), (5, 15)]), ["<1@5 >1@15", "<0@10 >0@20"]);
    }

    #[test]
    fn of_equal_events_the_later_is_the_outer() {
        assert_eq!(nested(&[(1, 2), (1, 2)]), ["<1@1 <0@1 >0@2 >1@2"]);
    }

    #[test]
    fn touching_events_follow_each_other() {
        assert_eq!(nested(&[(0, 10), (10, 20), (20, 20)]), ["<0@0 >0@10 <1@10 <2@20 >2@20 >1@20"]);
    }
}
