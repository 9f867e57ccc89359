//! Calls and time by call path, for formats that have sums and no moments.

use std::collections::HashMap;

use crate::model::{Call, FunctionIndex, TraceInfo, TraceThread};
use crate::paths::Paths;

/// The sums so far.
#[derive(Default)]
pub(crate) struct CallTimes {
    paths: Paths,
    sums: Vec<Sum>,
    open: Vec<OpenCall>,
    /// Names in the order of their numbers: threads by their indexes, then functions.
    numbers: HashMap<(usize, FunctionIndex), u32>,
    names: Vec<Name>,
    root: Option<u32>,
}

/// Of one path.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sum {
    pub(crate) calls: u64,
    /// In it and in nothing below.
    pub(crate) nanos: u64,
}

/// What a part of a path is called.
pub(crate) struct Name {
    pub(crate) name: String,
    /// Empty of a thread.
    pub(crate) module: String,
}

struct OpenCall {
    node: Option<u32>,
    /// Spent in calls below it.
    below: u64,
}

impl CallTimes {
    pub(crate) fn begin(&mut self, trace: &TraceInfo) {
        for thread in &trace.threads {
            self.names.push(Name { name: format!("{} {}", thread.name, thread.id), module: String::new() });
        }
    }

    pub(crate) fn begin_thread(&mut self, thread: TraceThread) {
        self.root = self.paths.below(None, thread.0 as u32);
    }

    pub(crate) fn open(&mut self, trace: &TraceInfo, thread: TraceThread, call: &Call) {
        let key = (trace.thread(thread).process, call.function);
        let names = &mut self.names;
        let number = *self.numbers.entry(key).or_insert_with(|| {
            let function = trace.function(thread, call.function);
            names.push(Name { name: function.name.clone(), module: function.module.clone() });
            names.len() as u32 - 1
        });
        let above = self.open.last().map_or(self.root, |it| it.node);
        let node = self.paths.below(above, number);
        self.open.push(OpenCall { node, below: 0 });
    }

    pub(crate) fn close(&mut self, call: &Call) {
        let duration = call.end - call.start;
        if let Some(closed) = self.open.pop()
            && let Some(node) = closed.node
        {
            let node = node as usize;
            if self.sums.len() <= node {
                self.sums.resize(node + 1, Sum::default());
            }
            self.sums[node].calls += 1;
            self.sums[node].nanos = self.sums[node].nanos.saturating_add(duration.saturating_sub(closed.below));
        }
        if let Some(above) = self.open.last_mut() {
            above.below = above.below.saturating_add(duration);
        }
    }

    /// All names, by their numbers.
    pub(crate) fn names(&self) -> &[Name] {
        &self.names
    }

    /// Paths with calls, as numbers of names, the thread first.
    pub(crate) fn paths(&self) -> impl Iterator<Item = (Vec<u32>, Sum)> {
        let called = self.sums.iter().enumerate().filter(|(_, sum)| sum.calls > 0);
        called.map(|(node, sum)| (self.paths.path(node as u32), *sum))
    }
}
