//! The whole analysis of a process: events in, tables out.

mod found_functions;
mod lives;
mod logical_spans;
mod routine;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ada_event::{EventSeq, FunctionId, ThreadId, TraceNanos};
use ada_format::private::{Replacement, create_file};

use lives::LifeFinder;

use crate::callback::{self, CodeAddresses};
use crate::code_map::CodeMap;
use crate::detail::DetailSource;
use crate::error::SpanError;
use crate::function_stats::FunctionStats;
use crate::function_traits::FunctionTraits;
use crate::observer::{Follows, Observed, Observer};
use crate::pthread;
use crate::replay::{Feed, MovedStacks, Replay, ReplayOptions};
use crate::role::{Role, SyncCall};
use crate::source::{ProcessSource, ThreadInfo};
use crate::table::{
    BlockWriter, FunctionIndex, Meta, ShardEntry, ShardSink, ShardSummary, Tables, ThreadEntry, anomalies_file,
    late_file, meta_file, spans_file,
};
use crate::thread_index::ThreadIndex;
use crate::wait;

/// Raised whenever the same events make other tables.
pub const ANALYSIS_VERSION: u64 = 29;

/// Analyses a process and writes its tables into an empty folder. `progress` is called with each few thousand events.
pub fn analyze(
    source: &impl ProcessSource,
    traits: &FunctionTraits,
    options: &ReplayOptions,
    key: u64,
    folder: &Path,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Tables, SpanError> {
    let threads = source.threads();
    let found = found_functions::with_found_functions(source, &threads, traits);
    let traits = found.as_ref().unwrap_or(traits);
    let addresses = handed_over(source, &threads, traits);
    let moved = (traits.moves_stacks() && threads.len() > 1).then(|| Arc::new(MovedStacks::find(source)));
    let addresses = addresses.as_ref();
    let has_contention = has_contention(source, &threads, traits);
    let code = if traits.moves_stacks() { CodeMap::new(traits) } else { CodeMap::default() };
    let work = Work {
        source,
        threads: &threads,
        traits,
        code: &code,
        options,
        addresses,
        has_contention,
        moved,
        folder,
        progress,
    };
    let mut shards = work.run()?;
    let observed: Vec<Observed> = shards.iter_mut().map(|shard| std::mem::take(&mut shard.observed)).collect();
    let mut meta = merge(key, shards);
    let (mut thread_calls, mut callbacks, mut logical) = (Vec::new(), Vec::new(), Vec::new());
    let (mut starts, mut teardowns, mut losses) = (Vec::new(), Vec::new(), Vec::new());
    let mut sync = Vec::new();
    for part in observed {
        thread_calls.extend(part.thread_calls);
        starts.extend(part.starts);
        teardowns.extend(part.teardowns);
        callbacks.push(part.callbacks);
        logical.push(part.logical);
        sync.push(part.sync);
        losses.extend(part.losses);
    }
    note_attached(source, &mut meta);
    (meta.callbacks, meta.callbacks_left_out) = callback::join(callbacks);
    meta.tail_calls_until = options.tail_calls_until;
    let group_waits = logical_spans::add_spans(logical, losses.clone(), traits, &code, options, &mut meta);
    write_meta(folder, &meta)?;
    if options.is_imported {
        // Lanes are no threads: nobody made them, and nobody waits for them.
        return Tables::open(folder);
    }
    // Start routines are found in the frame spans, which can be read now.
    let tables = Tables::open(folder)?;
    let finder =
        LifeFinder { tables: &tables, source, threads: &threads, traits, attached_time: options.attached_time };
    let mut lives = finder.lives(starts, teardowns)?;
    let creations = pthread::Creations::find(&lives, &mut thread_calls);
    finder.follow_creations(&mut lives, &creations)?;
    drop(tables);
    meta.failed_creations = creations.failed();
    meta.pthreads = pthread::correlate(&lives, &creations, &thread_calls, options, knows_teardown(traits));
    remove_starts(&mut meta);
    let ids: Vec<ThreadId> = meta.threads.iter().map(|thread| thread.id).collect();
    let last_times: Vec<_> = meta.threads.iter().map(|thread| thread.facts.last_time).collect();
    let sees_unlocks = sees_unlocks(traits, options);
    let shared_memory = source.shared_memory();
    let known = wait::Known {
        ids: &ids,
        last_times: &last_times,
        threads: &meta.pthreads,
        losses: &losses,
        sees_unlocks,
        sees_reads: sees_reads(traits),
        shared_memory: &shared_memory,
        options,
    };
    let wait::Waits { mut waits, left_out, holds, io, shared } = wait::correlate(sync, &known);
    wait::name_dispatched(&mut waits, &meta.dispatched, &group_waits);
    (meta.waits, meta.waits_left_out, meta.holds) = (waits, left_out, holds);
    (meta.io, meta.shared) = (io, shared);
    write_meta(folder, &meta)?;
    Tables::open(folder)
}

/// Whether threads have waited for locks. Without that nobody asks who has which.
fn has_contention(source: &dyn ProcessSource, threads: &[ThreadInfo], traits: &FunctionTraits) -> bool {
    let shows = [SyncCall::FutexWait, SyncCall::Lock];
    let has_any = shows.into_iter().any(|call| !traits.modules_with(Role::Sync(call)).is_empty());
    let details = || ThreadIndex::all(threads.len()).filter_map(|thread| source.details(thread));
    has_any && wait::has_contention(details(), traits)
}

/// Whether all calls are recorded by which locks are let go of.
fn sees_unlocks(traits: &FunctionTraits, options: &ReplayOptions) -> bool {
    if options.has_drops || options.is_incomplete || options.is_cut_short {
        return false;
    }
    let unlocks = [SyncCall::Unlock, SyncCall::ReadWriteUnlock, SyncCall::ConditionWait];
    unlocks.into_iter().all(|call| traits.records_all(Role::Sync(call)))
}

/// Whether all calls are recorded by which read-write locks are taken.
fn sees_reads(traits: &FunctionTraits) -> bool {
    let takes = [SyncCall::ReadLock, SyncCall::WriteLock, SyncCall::TryReadWriteLock];
    takes.into_iter().all(|call| traits.records_all(Role::Sync(call)))
}

/// What a thread was made for is no callback, though its address was handed to whoever made the thread.
fn remove_starts(meta: &mut Meta) {
    let mut ran: HashMap<(ThreadIndex, FunctionId), Vec<EventSeq>> = HashMap::new();
    for span in &meta.pthreads {
        if let Some(function) = span.function {
            ran.entry((span.thread, function)).or_default().push(span.begin_seq);
        }
    }
    // Callbacks are in the order of their starts: the first one of each life is what it was made for.
    meta.callbacks.retain(|it| {
        let Some(lives) = ran.get_mut(&(it.thread, it.function)).filter(|_| it.confidence < callback::CERTAIN) else {
            return true;
        };
        let life = lives.iter().position(|&begin| begin <= it.seq);
        life.map(|life| lives.remove(life)).is_none()
    });
}

/// Threads that were in calls when their process was attached to were there from the first event on. So may those have been of which no
/// event can be read.
fn note_attached(source: &dyn ProcessSource, meta: &mut Meta) {
    // Times of an imported trace begin at 0.
    let is_read = |thread: &ThreadEntry| thread.spans > 0 || thread.facts.last_time > TraceNanos(0);
    let earliest = meta.threads.iter().filter(|thread| is_read(thread)).map(|thread| thread.facts.first_time).min();
    for (index, thread) in ThreadIndex::all(meta.threads.len()).zip(&mut meta.threads) {
        let is_read = is_read(thread);
        let facts = &mut thread.facts;
        let earliest = earliest.unwrap_or(facts.end_time);
        if facts.events > 0 && !is_read {
            (facts.first_time, facts.start_time) = (earliest, earliest);
            facts.last_time = facts.last_time.max(earliest);
        }
        if !source.open_calls(index).is_empty() {
            thread.facts.start_time = earliest;
        }
    }
}

/// Whether the calls by which the C library ends threads can be told by their names.
fn knows_teardown(traits: &FunctionTraits) -> bool {
    !traits.modules_with(Role::ThreadTeardown).is_empty()
}

fn write_meta(folder: &Path, meta: &Meta) -> Result<(), SpanError> {
    let path = folder.join(meta_file());
    let written = Replacement::begin(&path).and_then(|(replacement, mut file)| {
        file.write_all(&meta.encode())?;
        replacement.finish()
    });
    written.map_err(SpanError::at(&path))
}

/// The functions whose addresses some call was handed, if registers were recorded and there are any.
fn handed_over(source: &dyn ProcessSource, threads: &[ThreadInfo], traits: &FunctionTraits) -> Option<CodeAddresses> {
    let mut addresses: Option<CodeAddresses> = None;
    for (index, thread) in ThreadIndex::all(threads.len()).zip(threads) {
        if let Some(details) = source.details(index).filter(|_| thread.events > 0) {
            let addresses = addresses.get_or_insert_with(|| CodeAddresses::new(traits.addresses()));
            details.all_arguments(&mut |function, arguments| {
                if !traits.get(function).role.hands_nothing_over() {
                    addresses.note(arguments);
                }
            });
        }
    }
    addresses.filter(CodeAddresses::has_callbacks)
}

/// Whether registers were recorded throughout, and not only of a few functions or of some moments.
fn has_all_registers(thread: &ThreadInfo, details: &dyn DetailSource) -> bool {
    details.count() >= thread.events / 4
}

struct Work<'a, P> {
    source: &'a P,
    threads: &'a [ThreadInfo],
    traits: &'a FunctionTraits,
    code: &'a CodeMap,
    options: &'a ReplayOptions,
    addresses: Option<&'a CodeAddresses>,
    has_contention: bool,
    moved: Option<Arc<MovedStacks>>,
    folder: &'a Path,
    progress: &'a (dyn Fn(u64) + Sync),
}

impl<P: ProcessSource> Work<'_, P> {
    /// Replays all threads, as many at once as there are processors.
    fn run(&self) -> Result<Vec<ShardSummary>, SpanError> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = processors.min(self.threads.len()).max(1);
        // The largest first, so that the last ones to finish are small.
        let mut order: Vec<ThreadIndex> = ThreadIndex::all(self.threads.len()).collect();
        order.sort_by_key(|thread| std::cmp::Reverse(self.threads[thread.as_usize()].events));
        let next = AtomicUsize::new(0);
        let results: Mutex<BTreeMap<usize, Result<ShardSummary, SpanError>>> = Mutex::default();
        std::thread::scope(|scope| {
            for worker in 0..workers {
                let (order, next, results) = (&order, &next, &results);
                scope.spawn(move || {
                    let result = self.replay_threads(worker, workers < processors, order, next);
                    results.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(worker, result);
                });
            }
        });
        results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).into_values().collect()
    }

    /// One worker's part; `is_beside` where a processor is free to read ahead and to write what it finds.
    fn replay_threads(
        &self,
        worker: usize,
        is_beside: bool,
        order: &[ThreadIndex],
        next: &AtomicUsize,
    ) -> Result<ShardSummary, SpanError> {
        let [spans, late, anomalies] =
            [spans_file(worker), late_file(worker), anomalies_file(worker)].map(|name| create(&self.folder.join(name)));
        let failed = SpanError::at(self.folder);
        let spans = BlockWriter::new(spans?, is_beside).map_err(SpanError::at(self.folder))?;
        let mut sink = ShardSink::new(
            spans,
            late?,
            anomalies?,
            self.traits,
            Observer::new(self.traits, self.code, self.addresses, self.has_contention),
        );
        let knows_teardown = knows_teardown(self.traits);
        while let Some(&thread) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let info = &self.threads[thread.as_usize()];
            sink.begin_thread(thread);
            let details = self.source.details(thread);
            let follows = match &details {
                Some(details) if has_all_registers(info, &**details) => Follows::All,
                _ => Follows::Some,
            };
            sink.observer.begin_thread(thread, details, follows);
            let mut replay =
                Replay::new(sink, *self.options).with_losses(self.source.losses(thread)).with_teardown(knows_teardown);
            if let Some(moved) = &self.moved {
                replay = replay.with_moved_stacks(moved.clone(), thread);
            }
            let mut feed = Feed::new(replay, self.progress);
            self.source.visit(thread, is_beside, &mut feed);
            let (back, facts) = feed.finish(info.events);
            sink = back;
            sink.end_thread(info.id, facts).map_err(SpanError::at(self.folder))?;
        }
        sink.finish().map_err(failed)
    }
}

fn create(path: &Path) -> Result<File, SpanError> {
    create_file(path).map_err(SpanError::at(path))
}

/// Puts the workers' parts together: threads, blocks and functions in orders that do not depend on who did what.
fn merge(key: u64, shards: Vec<ShardSummary>) -> Meta {
    let mut meta = Meta { key, ..Meta::default() };
    let mut functions: BTreeMap<FunctionId, FunctionStats> = BTreeMap::new();
    let mut parts = Vec::new();
    let mut numbered: Vec<Vec<FunctionId>> = Vec::new();
    for (number, shard) in shards.into_iter().enumerate() {
        let ids: Vec<FunctionId> = shard.functions.iter().map(|stats| stats.function).collect();
        for stats in shard.functions {
            match functions.entry(stats.function) {
                Entry::Occupied(mut known) => known.get_mut().merge(stats),
                Entry::Vacant(new) => drop(new.insert(stats)),
            }
        }
        meta.anomalies.extend(shard.anomalies);
        for thread in shard.threads {
            let blocks = thread.blocks.0 as usize..(thread.blocks.0 + thread.blocks.1) as usize;
            let blocks = shard.blocks[blocks].iter().map(|block| {
                let mut block = *block;
                block.shard = number as u32;
                block
            });
            parts.push((thread.id, thread, blocks.collect::<Vec<_>>()));
        }
        meta.shards.push(ShardEntry {
            spans_len: shard.spans_len,
            late_len: shard.late_len,
            anomalies_len: shard.anomalies_len,
            functions: Vec::new(),
        });
        numbered.push(ids);
    }
    parts.sort_by_key(|(id, ..)| *id);
    for (_, mut thread, blocks) in parts {
        thread.blocks.0 = meta.blocks.len() as u32;
        meta.blocks.extend(blocks);
        meta.threads.push(thread);
    }
    meta.anomalies.sort_by_key(|it| (it.thread, it.kind));
    let indexes = functions.keys().copied().zip((0..).map(FunctionIndex));
    let indexes: HashMap<FunctionId, FunctionIndex> = indexes.collect();
    for (shard, ids) in meta.shards.iter_mut().zip(numbered) {
        shard.functions = ids.iter().map(|id| indexes[id]).collect();
    }
    meta.functions = functions.into_values().collect();
    meta
}
