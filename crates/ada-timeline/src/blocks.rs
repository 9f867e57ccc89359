//! Decoded blocks of spans, of which the newest used are kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ada_event::{EventSeq, TraceNanos};
use ada_span::SpanError;
use ada_span::table::{Column, Columns, FunctionIndex, Tables};

use crate::item::Item;

/// Blocks that are kept: some 80 MB, and more than any picture reads.
const KEPT: usize = 512;

/// A decoded block.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// Its index among all.
    pub(crate) index: usize,
    pub(crate) seqs: Vec<EventSeq>,
    pub(crate) starts: Vec<TraceNanos>,
    pub(crate) durations: Vec<u64>,
    /// Opening event minus the parent's; 0 without one.
    pub(crate) parents: Vec<u64>,
    pub(crate) functions: Vec<FunctionIndex>,
    pub(crate) depths: Vec<u32>,
    pub(crate) outcomes: Vec<u8>,
}

impl Block {
    pub(crate) fn item(&self, row: usize) -> Item {
        Item {
            start: self.starts[row],
            duration: self.durations[row],
            seq: self.seqs[row].0,
            function: self.functions[row],
            count: 1,
            outcome: self.outcomes[row],
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.seqs.len()
    }
}

/// The blocks of a process's tables.
#[derive(Default)]
pub struct Blocks {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    blocks: HashMap<usize, (u64, Arc<Block>)>,
    clock: u64,
}

impl Blocks {
    /// A block by its index among all.
    pub(crate) fn get(&self, tables: &Tables, block: usize) -> Result<Arc<Block>, SpanError> {
        if let Some(found) = self.look_up(block) {
            return Ok(found);
        }
        let read = Arc::new(read(tables, block)?);
        let mut kept = self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        kept.clock += 1;
        if kept.blocks.len() >= KEPT {
            // The oldest half at once, so that it is done seldom.
            let mut ages: Vec<u64> = kept.blocks.values().map(|(age, _)| *age).collect();
            let (_, &mut middle, _) = ages.select_nth_unstable(KEPT / 2);
            kept.blocks.retain(|_, (age, _)| *age > middle);
        }
        let clock = kept.clock;
        kept.blocks.insert(block, (clock, read.clone()));
        Ok(read)
    }

    fn look_up(&self, block: usize) -> Option<Arc<Block>> {
        let mut kept = self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        kept.clock += 1;
        let clock = kept.clock;
        let (age, found) = kept.blocks.get_mut(&block)?;
        *age = clock;
        Some(found.clone())
    }
}

fn read(tables: &Tables, block: usize) -> Result<Block, SpanError> {
    let mut columns = Columns::new();
    let wanted = |column: Column| !matches!(column, Column::SelfTime | Column::CloseDelta | Column::Context);
    tables.read(block, wanted, &mut columns)?;
    Ok(Block {
        index: block,
        seqs: columns.get(Column::OpenSeq).iter().copied().map(EventSeq).collect(),
        starts: columns.get(Column::Start).iter().copied().map(TraceNanos).collect(),
        durations: columns.get(Column::Duration).to_vec(),
        parents: columns.get(Column::ParentDelta).to_vec(),
        functions: (0..columns.rows()).map(|row| columns.function(row)).collect(),
        depths: columns.get(Column::Depth).iter().map(|&value| value as u32).collect(),
        outcomes: columns.get(Column::Outcome).iter().map(|&value| value as u8).collect(),
    })
}
