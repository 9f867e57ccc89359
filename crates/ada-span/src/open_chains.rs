//! The calls that are open on a thread, by its spans: one chain of callers for each of its stacks.
//!
//! Spans come in the order of their beginnings. On one stack, what is open and does not enclose the next span has ended by
//! then. What has not ended waits on another stack.

use std::collections::HashMap;
use std::mem;

use ada_event::{EventSeq, TraceNanos};

/// A call in a chain.
pub trait OpenCall {
    /// Its opening event.
    fn seq(&self) -> EventSeq;
    /// When it ends.
    fn end(&self) -> TraceNanos;
}

/// The chains of a thread.
pub struct OpenChains<T> {
    current: Vec<T>,
    /// The others, by the outermost call of each.
    waiting: HashMap<EventSeq, Vec<T>>,
    /// The outermost call above each call that waits.
    outermost: HashMap<EventSeq, EventSeq>,
}

impl<T> Default for OpenChains<T> {
    fn default() -> Self {
        Self { current: Vec::new(), waiting: HashMap::new(), outermost: HashMap::new() }
    }
}

impl<T: OpenCall> OpenChains<T> {
    /// The chain that the last span was on, outermost call first.
    pub fn current(&mut self) -> &mut Vec<T> {
        &mut self.current
    }

    /// Goes on to a span that begins at a time: its caller becomes the newest call of the current chain. What has ended on the
    /// way is handed over. `stays` says of a call that it is not over for the caller of this, though it is not the parent.
    pub fn go_to(
        &mut self,
        parent: Option<EventSeq>,
        start: TraceNanos,
        stays: impl Fn(&T) -> bool,
        mut ended: impl FnMut(T),
    ) {
        while let Some(top) = self.current.last() {
            if parent == Some(top.seq()) || stays(top) {
                return;
            }
            if top.end() > start && !self.current.iter().any(|call| parent == Some(call.seq())) {
                self.wait();
                break;
            }
            self.current.pop().into_iter().for_each(&mut ended);
        }
        let Some(parent) = parent else { return };
        if let Some(chain) = self.outermost.get(&parent).and_then(|outermost| self.waiting.remove(outermost)) {
            for call in &chain {
                self.outermost.remove(&call.seq());
            }
            self.current = chain;
            while self.current.last().is_some_and(|top| top.seq() != parent && !stays(top)) {
                self.current.pop().into_iter().for_each(&mut ended);
            }
        }
    }

    fn wait(&mut self) {
        let chain = mem::take(&mut self.current);
        if let Some(outermost) = chain.first().map(OpenCall::seq) {
            self.outermost.extend(chain.iter().map(|call| (call.seq(), outermost)));
            self.waiting.insert(outermost, chain);
        }
    }

    /// Hands over all that is open, each chain's newest call first.
    pub fn end_all(&mut self, mut ended: impl FnMut(T)) {
        self.wait();
        self.outermost.clear();
        let mut chains: Vec<(EventSeq, Vec<T>)> = self.waiting.drain().collect();
        chains.sort_unstable_by_key(|(outermost, _)| *outermost);
        chains.into_iter().for_each(|(_, chain)| chain.into_iter().rev().for_each(&mut ended));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Call(u64, u64);

    impl OpenCall for Call {
        fn seq(&self) -> EventSeq {
            EventSeq(self.0)
        }

        fn end(&self) -> TraceNanos {
            TraceNanos(self.1)
        }
    }

    /// The callers of each span, given as (number, parent, start, end), and the spans in the order of their ends.
    fn follow(spans: &[(u64, u64, u64, u64)]) -> (Vec<Vec<u64>>, Vec<u64>) {
        let (mut chains, mut ended, mut callers) = (OpenChains::default(), Vec::new(), Vec::new());
        for &(seq, parent, start, end) in spans {
            let parent = Some(EventSeq(parent)).filter(|parent| parent.0 > 0);
            chains.go_to(parent, TraceNanos(start), |_| false, |call: Call| ended.push(call.0));
            callers.push(chains.current().iter().map(|call| call.0).collect());
            chains.current().push(Call(seq, end));
        }
        chains.end_all(|call| ended.push(call.0));
        (callers, ended)
    }

    #[test]
    fn one_stack_is_one_chain() {
        let spans = [(1, 0, 0, 100), (2, 1, 10, 20), (3, 1, 20, 90), (4, 3, 30, 40), (5, 0, 100, 110)];
        let (callers, ended) = follow(&spans);
        assert_eq!(callers, [vec![], vec![1], vec![1], vec![1, 3], vec![]]);
        assert_eq!(ended, [2, 4, 3, 1, 5]);
    }

    #[test]
    fn stacks_that_take_turns_keep_their_callers() {
        // 1 and 2 are one stack, 3 and 4 another; 5 and 6 are called when each goes on, 6 from further up.
        let spans = [(1, 0, 0, 100), (2, 1, 5, 60), (3, 0, 10, 90), (4, 3, 20, 40), (5, 2, 30, 50), (6, 3, 55, 80)];
        let (callers, ended) = follow(&spans);
        assert_eq!(callers, [vec![], vec![1], vec![], vec![3], vec![1, 2], vec![3]]);
        assert_eq!(ended, [5, 4, 2, 1, 6, 3]);
    }
}
