//! The first place where the calls of two runs are not the same.

use std::collections::HashMap;

use ada_event::EventSeq;
use ada_query::written_name;
use ada_span::ThreadIndex;
use ada_span::table::{Column, Columns};
use serde_json::{Value, json};

use super::figures::Run;
use crate::analysis::{Reference, Target, TraceProcess, thread_title};
use crate::show;
use crate::top::program;

/// Arguments and results as programs on x86-64 pass them.
const VALUES: [&str; 7] = ["rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax"];

/// Where the calls of a thread part.
pub(super) struct Parting {
    pub(super) thread: String,
    /// Calls that are the same before.
    pub(super) common: u64,
    /// The last of these.
    pub(super) last: Option<Call>,
    /// The calls around the place, outermost first.
    pub(super) around: Vec<String>,
    /// What follows on either side; nothing where the thread makes no more calls.
    pub(super) a: Option<Call>,
    pub(super) b: Option<Call>,
}

/// A call, and its arguments and result where they were recorded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) reference: String,
    pub(super) values: Vec<(&'static str, String)>,
}

impl Call {
    pub(super) fn to_json(&self) -> Value {
        let values = self.values.iter().map(|(name, value)| ((*name).to_owned(), value.clone().into()));
        json!({
            "name": self.name, "reference": self.reference, "values": values.collect::<serde_json::Map<_, _>>(),
        })
    }
}

/// For each thread that both runs have, by its program, name and order, where its calls part; and how many do not.
pub(super) fn partings(a: &Run, b: &Run) -> anyhow::Result<(Vec<Parting>, usize)> {
    let threads_of = |run: &Run| {
        let mut count: HashMap<String, u64> = HashMap::new();
        let mut threads: Vec<((String, u64), (usize, ThreadIndex))> = Vec::new();
        for number in 0..run.opened.processes().len() {
            let all = run.opened.processes()[number].tables.meta().threads.len();
            for thread in ThreadIndex::all(all) {
                let title = thread_title(&run.opened, number, thread);
                let title = if run.opened.processes().len() > 1 {
                    format!("{} of {}", title, program(&run.opened, number))
                } else {
                    title
                };
                let seen = count.entry(title.clone()).or_default();
                *seen += 1;
                threads.push(((title, *seen), (number, thread)));
            }
        }
        threads
    };
    let of_b: HashMap<(String, u64), (usize, ThreadIndex)> = threads_of(b).into_iter().collect();
    let (mut found, mut same) = (Vec::new(), 0);
    for (key, place) in threads_of(a) {
        let Some(other) = of_b.get(&key) else { continue };
        let title = if key.1 > 1 { format!("{} ({})", key.0, key.1) } else { key.0 };
        match part(a, place, b, *other, title)? {
            Some(parting) => found.push(parting),
            None => same += 1,
        }
    }
    Ok((found, same))
}

fn part(
    a: &Run,
    at_a: (usize, ThreadIndex),
    b: &Run,
    at_b: (usize, ThreadIndex),
    thread: String,
) -> anyhow::Result<Option<Parting>> {
    let (mut calls_a, mut calls_b) = (Calls::new(a, at_a), Calls::new(b, at_b));
    let (mut common, mut last) = (0, None);
    loop {
        let (next_a, next_b) = (calls_a.next()?, calls_b.next()?);
        let is_same = match (&next_a, &next_b) {
            (None, None) => return Ok(None),
            (Some(one), Some(two)) => calls_a.name(one.1) == calls_b.name(two.1),
            _ => false,
        };
        if is_same {
            common += 1;
            last = next_a;
            continue;
        }
        let call =
            |calls: &Calls<'_>, it: Option<(EventSeq, usize)>| it.map(|(seq, function)| calls.call(seq, function));
        let around = match (next_a, next_b) {
            (Some((seq, _)), _) => calls_a.around(seq)?,
            (_, Some((seq, _))) => calls_b.around(seq)?,
            _ => Vec::new(),
        };
        return Ok(Some(Parting {
            thread,
            common,
            last: call(&calls_a, last),
            around,
            a: call(&calls_a, next_a),
            b: call(&calls_b, next_b),
        }));
    }
}

/// The calls of a thread that are shown, in their order.
struct Calls<'a> {
    run: &'a Run,
    process: usize,
    thread: ThreadIndex,
    blocks: std::ops::Range<usize>,
    columns: Columns,
    row: usize,
}

impl<'a> Calls<'a> {
    fn new(run: &'a Run, (process, thread): (usize, ThreadIndex)) -> Self {
        let blocks = run.opened.processes()[process].tables.blocks_of(thread);
        Self { run, process, thread, blocks, columns: Columns::new(), row: 0 }
    }

    fn of(&self) -> &'a TraceProcess {
        &self.run.opened.processes()[self.process]
    }

    fn name(&self, function: usize) -> &'a str {
        let index = ada_span::table::FunctionIndex(function as u32);
        self.of().label_at(index).map_or("", |label| written_name(&label.name))
    }

    /// Opening event and function of the next call.
    fn next(&mut self) -> anyhow::Result<Option<(EventSeq, usize)>> {
        loop {
            while self.row < self.columns.rows() {
                let row = self.row;
                self.row += 1;
                let function = self.columns.function(row).as_usize();
                if self.run.shown[self.process].get(function).copied().unwrap_or(false) {
                    return Ok(Some((self.columns.seq(row), function)));
                }
            }
            let Some(block) = self.blocks.next() else { return Ok(None) };
            self.row = 0;
            let wanted = |column| matches!(column, Column::Function | Column::OpenSeq);
            self.of().tables.read(block, wanted, &mut self.columns)?;
        }
    }

    fn call(&self, seq: EventSeq, function: usize) -> Call {
        let process = self.of();
        let id = process.thread_id(self.thread);
        let reference = process.refer(Target::Frame(id, seq));
        Call { name: self.name(function).to_owned(), values: self.values(seq).unwrap_or_default(), reference }
    }

    /// Arguments at the call, and the result.
    fn values(&self, seq: EventSeq) -> Option<Vec<(&'static str, String)>> {
        let process = self.of();
        let id = process.thread_id(self.thread);
        let find = |target: Target| show::find(&self.run.opened, process.reference(target), 0).ok();
        let frame = find(Target::Frame(id, seq))?;
        let events = frame["evidence"].as_array()?.iter().filter_map(|it| it.as_str()?.parse::<Reference>().ok());
        let mut values = Vec::new();
        for (at, event) in events.take(2).enumerate() {
            let shown = find(event.target)?;
            let names = if at == 0 { &VALUES[..6] } else { &VALUES[6..] };
            values.extend(names.iter().filter_map(|name| Some((*name, shown["detail"][*name].as_str()?.to_owned()))));
        }
        Some(values)
    }

    /// The functions that are shown and open around a call, outermost first.
    fn around(&self, seq: EventSeq) -> anyhow::Result<Vec<String>> {
        let tables = &self.of().tables;
        let mut columns = Columns::new();
        let (mut names, mut at) = (Vec::new(), seq);
        while let Some(block) = tables.block_of(self.thread, at) {
            tables.read(block, |column| column != Column::Context, &mut columns)?;
            let Some(row) = columns.row_of(at) else { break };
            let function = columns.function(row).as_usize();
            if at != seq && self.run.shown[self.process].get(function).copied().unwrap_or(false) {
                names.push(self.name(function).to_owned());
            }
            match columns.parent_seq(row) {
                Some(parent) if parent < at => at = parent,
                _ => break,
            }
        }
        names.reverse();
        Ok(names)
    }
}
