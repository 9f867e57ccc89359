//! Who calls a function, what it calls, and which of its calls took longest.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use ada_event::{EventSeq, TraceNanos};
use ada_format::parallel::in_parallel;
use ada_span::table::FunctionIndex;
use ada_span::{SpanError, ThreadIndex};

use crate::item::Item;
use crate::scene::{Scene, each_span};

/// Calls between two functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// How many.
    pub calls: u64,
    /// How long they took together, with what they called.
    pub ns: u64,
}

impl Calls {
    fn add(&mut self, more: Self) {
        *self = Self { calls: self.calls + more.calls, ns: self.ns.saturating_add(more.ns) };
    }
}

/// A function's surroundings.
#[derive(Clone, Debug, Default)]
pub struct Relatives {
    /// Who called it; none where nobody was seen to.
    pub callers: HashMap<Option<FunctionIndex>, Calls>,
    /// What it called.
    pub callees: HashMap<FunctionIndex, Calls>,
    /// Its longest calls, the longest first.
    pub slowest: Vec<(ThreadIndex, Item)>,
    /// How many calls of all functions were looked at.
    pub looked: u64,
}

/// Looks at the calls of a process one by one: at most `most_calls` of each thread's part, and keeps `most_slowest`.
pub fn relatives(
    scene: &Scene<'_>,
    function: FunctionIndex,
    most_slowest: usize,
    most_calls: u64,
) -> Result<Relatives, SpanError> {
    let threads = &scene.tables.meta().threads;
    let all: u64 = threads.iter().map(|it| it.spans).sum();
    let indexes: Vec<ThreadIndex> = ThreadIndex::all(threads.len()).collect();
    let found = in_parallel(indexes.len(), |at| {
        // Each thread has its part of what is looked at.
        let spans = u128::from(threads[at].spans);
        let most = (u128::from(most_calls) * spans).div_ceil(u128::from(all.max(1))) as u64;
        of_thread(scene, indexes[at], function, most_slowest, most)
    });
    let mut sum = Relatives::default();
    for of_thread in found {
        let of_thread = of_thread?;
        of_thread.callers.into_iter().for_each(|(key, calls)| sum.callers.entry(key).or_default().add(calls));
        of_thread.callees.into_iter().for_each(|(key, calls)| sum.callees.entry(key).or_default().add(calls));
        sum.slowest.extend(of_thread.slowest);
        sum.looked += of_thread.looked;
    }
    sum.slowest.sort_by_key(|(thread, item)| (Reverse(item.duration), item.start, thread.0));
    sum.slowest.truncate(most_slowest);
    Ok(sum)
}

/// A call that may call others.
struct Open {
    depth: u32,
    seq: u64,
    function: FunctionIndex,
}

fn of_thread(
    scene: &Scene<'_>,
    thread: ThreadIndex,
    function: FunctionIndex,
    most_slowest: usize,
    most_calls: u64,
) -> Result<Relatives, SpanError> {
    let mut found = Relatives::default();
    let mut open: Vec<Open> = Vec::new();
    // The shortest of the longest is on top.
    let mut slowest: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    let mut items: HashMap<u64, Item> = HashMap::new();
    let mut failed = None;
    each_span(scene, thread, TraceNanos(0), TraceNanos::MAX, |block, row| {
        if found.looked >= most_calls {
            return false;
        }
        found.looked += 1;
        let (item, depth) = (block.item(row), block.depths[row]);
        while open.last().is_some_and(|top| top.depth >= depth) {
            open.pop();
        }
        let parent = item.seq.checked_sub(block.parents[row]).filter(|_| block.parents[row] > 0);
        let caller = match parent {
            None => None,
            Some(parent) => match open.iter().rev().find(|it| it.seq == parent) {
                Some(above) => Some(above.function),
                // The thread has left the caller's stack for another one meanwhile.
                None => match function_at(scene, thread, EventSeq(parent)) {
                    Ok(above) => above,
                    Err(error) => {
                        failed = Some(error);
                        return false;
                    }
                },
            },
        };
        let one = Calls { calls: 1, ns: item.duration };
        if item.function == function {
            found.callers.entry(caller).or_default().add(one);
            slowest.push(Reverse((item.duration, item.seq)));
            items.insert(item.seq, item);
            if slowest.len() > most_slowest
                && let Some(Reverse((_, seq))) = slowest.pop()
            {
                items.remove(&seq);
            }
        }
        if caller == Some(function) {
            found.callees.entry(item.function).or_default().add(one);
        }
        open.push(Open { depth, seq: item.seq, function: item.function });
        true
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    found.slowest = items.into_values().map(|item| (thread, item)).collect();
    Ok(found)
}

/// The function of a call, by its opening event.
fn function_at(scene: &Scene<'_>, thread: ThreadIndex, seq: EventSeq) -> Result<Option<FunctionIndex>, SpanError> {
    let Some(index) = scene.tables.block_of(thread, seq) else { return Ok(None) };
    let block = scene.blocks.get(scene.tables, index)?;
    Ok(block.seqs.binary_search(&seq).ok().map(|row| block.functions[row]))
}
