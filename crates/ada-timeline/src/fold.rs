//! Sums up what threads did between two moments: one tree of calls, and functions.

use std::collections::HashMap;

use ada_event::TraceNanos;
use ada_span::table::FunctionIndex;
use ada_span::{Outcome, SpanError, ThreadIndex};

use crate::scene::{Scene, each_span, open_at};

/// Call paths that are distinguished; calls beyond are put down to their callers.
const MOST_PATHS: usize = 1 << 19;

/// No function has this index.
const NO_FUNCTION: FunctionIndex = FunctionIndex(u32::MAX);

/// Calls of one function on one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldedNode {
    /// The function.
    pub function: FunctionIndex,
    /// The node above.
    pub parent: Option<u32>,
    /// How many calls began or were under way.
    pub calls: u64,
    /// Their time within the range.
    pub total_ns: u64,
    /// The same without calls below.
    pub self_ns: u64,
}

/// Calls of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoldedFunction {
    /// How many.
    pub calls: u64,
    /// Their time within the range; a function that calls itself counts once.
    pub total_ns: u64,
    /// Without calls below.
    pub self_ns: u64,
    /// The longest one's whole duration.
    pub longest_ns: u64,
}

/// A stretch of time, summed up.
#[derive(Clone, Debug, Default)]
pub struct Folded {
    /// Callers come before those they call.
    pub nodes: Vec<FoldedNode>,
    /// By the function's index; those that were not called have no calls.
    pub functions: Vec<FoldedFunction>,
    /// How many calls ended how, by [`ada_span::Outcome::to_byte`].
    pub outcomes: Vec<u64>,
    /// All calls.
    pub calls: u64,
    /// Calls whose paths are not distinguished.
    pub left_out: u64,
    known: HashMap<(Option<u32>, FunctionIndex), u32>,
    /// The newest function below each node, and its node; the first is of the outermost calls. Calls repeat.
    newest: Vec<(FunctionIndex, u32)>,
}

struct Open {
    function: FunctionIndex,
    node: Option<u32>,
    depth: u32,
    time: u64,
    below: u64,
    is_outermost: bool,
}

/// Sums up threads of a process from `start` to `end`. Calls that reach beyond count with what lies within; time in calls that
/// are not shown belongs to who is shown above them. Stops when `go_on` says no.
pub fn fold(
    scene: &Scene<'_>,
    threads: &[ThreadIndex],
    start: TraceNanos,
    end: TraceNanos,
    go_on: &dyn Fn() -> bool,
) -> Result<Folded, SpanError> {
    let count = scene.tables.meta().functions.len();
    let mut folded = Folded {
        functions: vec![FoldedFunction::default(); count],
        outcomes: vec![0; Outcome::BYTES],
        newest: vec![(NO_FUNCTION, 0)],
        ..Folded::default()
    };
    for &thread in threads {
        let mut open: Vec<Open> = Vec::new();
        // How many calls of each function are open.
        let mut on_path: Vec<u32> = vec![0; count];
        for it in open_at(scene, thread, start)?.calls.iter().rev() {
            folded.open(&mut open, &mut on_path, it.depth, &it.item, start, end);
        }
        let mut rows = 0_u32;
        each_span(scene, thread, start, end, |block, row| {
            // Also one that is not shown says what has ended.
            folded.close_to(&mut open, &mut on_path, block.depths[row]);
            if scene.row_of(block, row).is_some() {
                folded.open(&mut open, &mut on_path, block.depths[row], &block.item(row), start, end);
            }
            rows += 1;
            !rows.is_multiple_of(65_536) || go_on()
        })?;
        folded.close_to(&mut open, &mut on_path, 0);
    }
    Ok(folded)
}

impl Folded {
    fn open(
        &mut self,
        open: &mut Vec<Open>,
        on_path: &mut [u32],
        depth: u32,
        item: &crate::item::Item,
        start: TraceNanos,
        end: TraceNanos,
    ) {
        let time = item.end().min(end).since(item.start.max(start));
        let above = open.last().and_then(|top| top.node);
        let node = self.node(above, item.function);
        if let Some(node) = node {
            let node = &mut self.nodes[node as usize];
            node.calls += 1;
            node.total_ns = node.total_ns.saturating_add(time);
        } else {
            self.left_out += 1;
        }
        self.calls += 1;
        self.outcomes[usize::from(item.outcome)] += 1;
        let known = &mut self.functions[item.function.as_usize()];
        known.calls += 1;
        known.longest_ns = known.longest_ns.max(item.duration);
        let times = &mut on_path[item.function.as_usize()];
        *times += 1;
        let is_outermost = *times == 1;
        open.push(Open { function: item.function, node, depth, time, below: 0, is_outermost });
    }

    /// Ends the calls that a call at this depth does not lie in.
    fn close_to(&mut self, open: &mut Vec<Open>, on_path: &mut [u32], depth: u32) {
        while open.last().is_some_and(|top| top.depth >= depth) {
            self.close(open, on_path);
        }
    }

    fn close(&mut self, open: &mut Vec<Open>, on_path: &mut [u32]) {
        let Some(closed) = open.pop() else { return };
        let own = closed.time.saturating_sub(closed.below);
        if let Some(node) = closed.node {
            let node = &mut self.nodes[node as usize];
            node.self_ns = node.self_ns.saturating_add(own);
        }
        let function = &mut self.functions[closed.function.as_usize()];
        function.self_ns = function.self_ns.saturating_add(own);
        if closed.is_outermost {
            function.total_ns = function.total_ns.saturating_add(closed.time);
        }
        on_path[closed.function.as_usize()] -= 1;
        if let Some(above) = open.last_mut() {
            above.below = above.below.saturating_add(closed.time);
        }
    }

    fn node(&mut self, parent: Option<u32>, function: FunctionIndex) -> Option<u32> {
        let newest = parent.map_or(0, |parent| parent as usize + 1);
        if self.newest[newest].0 == function {
            return Some(self.newest[newest].1);
        }
        if let Some(&node) = self.known.get(&(parent, function)) {
            self.newest[newest] = (function, node);
            return Some(node);
        }
        if self.nodes.len() >= MOST_PATHS {
            return None;
        }
        let node = self.nodes.len() as u32;
        self.newest[newest] = (function, node);
        self.newest.push((NO_FUNCTION, 0));
        self.nodes.push(FoldedNode { function, parent, calls: 0, total_ns: 0, self_ns: 0 });
        self.known.insert((parent, function), node);
        Some(node)
    }
}
