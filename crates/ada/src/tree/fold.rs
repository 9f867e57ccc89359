//! Folds frame spans into a tree of call paths.

use std::collections::{BTreeMap, HashMap, HashSet};

use ada_event::{EventSeq, TraceNanos};
use ada_query::lens::Outside;
use ada_span::state::StateTimes;
use ada_span::table::{Column, Columns, FunctionIndex, Tables};
use ada_span::{Correction, Costs, OpenCall, OpenChains, SelfCosts, SpanEnds, SpanError, ThreadIndex};

use crate::analysis::TraceProcess;

/// Call paths that are distinguished; beyond, calls are only counted.
const MOST_NODES: usize = 1 << 20;

/// Calls with the same path.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The function.
    pub(super) function: FunctionIndex,
    pub(super) count: u64,
    pub(super) total_ns: u64,
    pub(super) self_ns: u64,
    /// How long these calls were in which state, if that was asked for.
    pub(super) states: StateTimes,
    /// What recording took in these calls, and in them alone.
    pub(super) costs: Costs,
    pub(super) self_costs: SelfCosts,
    /// Calls below it that are too deep to be shown.
    pub(super) hidden: u64,
    /// What it called that is not shown, by the process's functions.
    pub(super) outside: BTreeMap<(usize, FunctionIndex), Outside>,
    /// The first one: its process, its thread and its opening event.
    pub(super) first: (usize, ThreadIndex, EventSeq),
    parent: Option<usize>,
    children: Vec<usize>,
}

/// Which calls of a process are folded.
pub(super) struct Wanted<'a> {
    /// The process, and what the tree calls its functions.
    pub(super) process: usize,
    pub(super) functions: &'a [FunctionIndex],
    /// By index of the function: whether it has lines.
    pub(super) shown: &'a [bool],
    /// Where times are to be had without what recording took.
    pub(super) correction: Option<&'a Correction>,
    /// Where it is asked for how long calls were in which state.
    pub(super) states_of: Option<&'a TraceProcess>,
    pub(super) since: TraceNanos,
    pub(super) until: TraceNanos,
    /// By index of the function: where the tree begins. None: at the outermost calls.
    pub(super) is_root: Option<Vec<bool>>,
    pub(super) depth: usize,
}

/// The tree of a process, or of several that run the same program.
#[derive(Default)]
pub(super) struct Folded {
    nodes: Vec<Node>,
    roots: Vec<usize>,
    /// Nodes by parent and function.
    known: HashMap<(Option<usize>, FunctionIndex), usize>,
    left_out: u64,
    /// Calls that nothing that is shown made.
    outside: u64,
}

/// An open call on the way through a thread.
struct Open {
    ends: SpanEnds,
    /// Its own node, if it is shown.
    node: Option<usize>,
    waited_ns: u64,
    /// The node that is shown nearest above, and its level.
    shown: Option<(usize, usize)>,
    /// The first function that is not shown, if this one is not.
    outside: Option<FunctionIndex>,
}

impl OpenCall for Open {
    fn seq(&self) -> EventSeq {
        self.ends.seq
    }

    fn end(&self) -> TraceNanos {
        self.ends.end
    }
}

impl Folded {
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    pub(super) fn outside(&self) -> u64 {
        self.outside
    }

    /// Sorts the calls of each caller, the largest first.
    pub(super) fn sort_by_key(&mut self, key: impl Fn(&Node) -> u64) {
        let keys: Vec<u64> = self.nodes.iter().map(key).collect();
        let order = |node: &usize| std::cmp::Reverse(keys[*node]);
        self.roots.sort_by_key(order);
        self.nodes.iter_mut().for_each(|it| it.children.sort_by_key(order));
    }

    /// Puts the roots first below which a function is.
    pub(super) fn begin_with(&mut self, is_first: impl Fn(FunctionIndex) -> bool) {
        let firsts = self.nodes.iter().enumerate().filter(|(_, it)| is_first(it.function)).map(|(at, _)| at);
        let root_of = |mut node: usize| {
            while let Some(parent) = self.nodes[node].parent {
                node = parent;
            }
            node
        };
        let roots: HashSet<usize> = firsts.map(root_of).collect();
        self.roots.sort_by_key(|root| !roots.contains(root));
    }

    /// Adds the calls of a thread.
    pub(super) fn add_thread(
        &mut self,
        tables: &Tables,
        thread: ThreadIndex,
        wanted: &Wanted<'_>,
    ) -> Result<(), SpanError> {
        let mut open = OpenChains::<Open>::default();
        let mut columns = Columns::new();
        for block in tables.blocks_of(thread) {
            let entry = tables.block(block);
            if entry.min_start >= wanted.until {
                break;
            }
            // Calls that began earlier may enclose wanted ones, and are needed for that only; without them, the wanted
            // ones are roots.
            if entry.max_start < wanted.since {
                continue;
            }
            tables.read(block, |column| column != Column::Context, &mut columns)?;
            for row in 0..columns.rows() {
                self.add_row(&columns, row, thread, tables, wanted, &mut open);
            }
        }
        let events = EventSeq(tables.meta().threads[thread.as_usize()].facts.events);
        open.end_all(|it| self.end(&it, events));
        Ok(())
    }

    /// A call is over; where nothing says when, before an event.
    fn end(&mut self, open: &Open, before: EventSeq) {
        if let Some(node) = open.node.filter(|_| open.ends.has_length()) {
            self.nodes[node].costs.add(&open.ends.costs(before, open.waited_ns));
        }
    }

    fn add_row(
        &mut self,
        columns: &Columns,
        row: usize,
        thread: ThreadIndex,
        tables: &Tables,
        wanted: &Wanted<'_>,
        chains: &mut OpenChains<Open>,
    ) {
        let at = |column: Column| columns.at(column, row);
        let ends = SpanEnds::read(columns, row);
        let (seq, function, start) = (ends.seq, ends.function, ends.start);
        chains.go_to(ends.parent, start, |top| top.ends.goes_on_in(seq), |last| self.end(&last, seq));
        let open = chains.current();
        let tail_callers = match open.last() {
            Some(top) if ends.parent != Some(top.ends.seq) => {
                open.iter().rev().take_while(|it| ends.parent != Some(it.ends.seq)).count()
            }
            _ => 0,
        };
        let caller = open.len() - tail_callers;
        let id = tables.meta().threads[thread.as_usize()].id;
        let waited_ns = wanted.correction.map_or(0, |it| it.waited(id, ends.start, ends.end));
        if let Some(parent) = open[..caller].last().and_then(|parent| parent.node) {
            self.nodes[parent].self_costs.add_below(&ends, waited_ns);
        }
        for tail_caller in open[caller..].iter().filter_map(|it| it.node) {
            let node = &mut self.nodes[tail_caller];
            node.total_ns = node.total_ns.saturating_add(at(Column::Duration));
        }
        let above = open.last().and_then(|top| top.shown);
        let is_in_time = start >= wanted.since && start < wanted.until;
        let is_shown = wanted.shown.get(function.as_usize()).copied().unwrap_or(false);
        if !is_shown {
            let from = open.last().and_then(|top| top.outside);
            if is_in_time {
                match above {
                    Some((node, _)) => {
                        let sum =
                            self.nodes[node].outside.entry((wanted.process, from.unwrap_or(function))).or_default();
                        sum.calls += u64::from(from.is_none());
                        sum.ns = sum.ns.saturating_add(at(Column::SelfTime));
                    }
                    None => self.outside += 1,
                }
            }
            open.push(Open { ends, node: None, waited_ns, shown: above, outside: from.or(Some(function)) });
            return;
        }
        let begins = above.is_none()
            && wanted.is_root.as_ref().is_none_or(|them| them.get(function.as_usize()).copied().unwrap_or(false));
        let level = above.map_or(0, |(_, level)| level + 1);
        let mut node = None;
        if is_in_time && (above.is_some() || begins) {
            if level >= wanted.depth {
                if let Some((shown, _)) = above {
                    self.nodes[shown].hidden += 1;
                }
            } else {
                let named = wanted.functions.get(function.as_usize()).copied().unwrap_or(function);
                node = self.node(above.map(|(node, _)| node), named, (wanted.process, thread, seq));
                match node {
                    Some(node) => {
                        let node = &mut self.nodes[node];
                        node.count += 1;
                        node.total_ns = node.total_ns.saturating_add(at(Column::Duration));
                        node.self_ns = node.self_ns.saturating_add(at(Column::SelfTime));
                        node.self_costs.add(&ends, waited_ns);
                        if let Some(process) = wanted.states_of {
                            let end = start.saturating_add(at(Column::Duration));
                            node.states = node.states.plus(process.state_times(thread, seq, start, end));
                        }
                    }
                    None => self.left_out += 1,
                }
            }
        }
        // What is too deep is counted at the deepest line that is shown.
        let shown = match node {
            Some(node) => Some((node, level)),
            None => above.map(|(node, level)| (node, if level + 1 >= wanted.depth { wanted.depth - 1 } else { level })),
        };
        open.push(Open { ends, node, waited_ns, shown, outside: None });
    }

    fn node(
        &mut self,
        parent: Option<usize>,
        function: FunctionIndex,
        first: (usize, ThreadIndex, EventSeq),
    ) -> Option<usize> {
        if let Some(&node) = self.known.get(&(parent, function)) {
            return Some(node);
        }
        if self.nodes.len() >= MOST_NODES {
            return None;
        }
        let node = self.nodes.len();
        let (costs, self_costs) = (Costs::default(), SelfCosts::default());
        let children = Vec::new();
        self.nodes.push(Node {
            function,
            count: 0,
            total_ns: 0,
            self_ns: 0,
            states: StateTimes::default(),
            costs,
            self_costs,
            hidden: 0,
            outside: BTreeMap::new(),
            first,
            parent,
            children,
        });
        self.known.insert((parent, function), node);
        match parent {
            Some(parent) => self.nodes[parent].children.push(node),
            None => self.roots.push(node),
        }
        Some(node)
    }

    /// Goes through the tree from the top, in the order in which paths first occurred.
    pub(super) fn walk(&self, min_ns: u64, mut each: impl FnMut(usize, usize)) {
        let mut stack: Vec<(usize, usize)> = self.roots.iter().rev().map(|&root| (0, root)).collect();
        while let Some((level, node)) = stack.pop() {
            if self.nodes[node].total_ns >= min_ns {
                each(level, node);
                stack.extend(self.nodes[node].children.iter().rev().map(|&child| (level + 1, child)));
            }
        }
    }
}
