//! `meta.bin`: everything about the tables but the frame spans themselves. It is written last.

use ada_event::{EventSeq, FunctionId, ThreadId, TraceNanos};

use super::block::BlockEntry;
use super::function_index::FunctionIndex;
use crate::bytes::{Decoder, Encoder};
use crate::callback::CallbackSpan;
use crate::concurrency::Context;
use crate::function_stats::{EventCounts, FunctionStats};
use crate::gcd::{BlockSpan, GroupEntry, QueueEntry};
use crate::histogram::Histogram;
use crate::io_calls::IoCalls;
use crate::outcome::Status;
use crate::pthread::{FailedCreation, PthreadSpan};
use crate::replay::ThreadFacts;
use crate::task::{ExecutorEntry, Suspension, TaskHop, TaskRun, TaskSpan};
use crate::thread_index::ThreadIndex;
use crate::wait::{HoldSpan, SharedCalls, WaitSpan};

const MAGIC: u64 = u64::from_le_bytes(*b"ADASPAN3");

/// What the tables know beside the frame spans.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta {
    /// The fingerprint of what the tables were made from and how.
    pub key: u64,
    /// The threads, by id.
    pub threads: Vec<ThreadEntry>,
    /// All blocks, by thread and then by start.
    pub blocks: Vec<BlockEntry>,
    /// The functions that have spans, by id.
    pub functions: Vec<FunctionStats>,
    /// Which function each number in a file's blocks means.
    pub(crate) shards: Vec<ShardEntry>,
    /// Anomalies by kind and thread, with an example each.
    pub anomalies: Vec<AnomalyCount>,
    /// Logical spans of threads, by start.
    pub pthreads: Vec<PthreadSpan>,
    /// Calls that made no thread, by time.
    pub failed_creations: Vec<FailedCreation>,
    /// Logical spans of callbacks, by start.
    pub callbacks: Vec<CallbackSpan>,
    /// Callbacks that were found and not kept, because there were too many.
    pub callbacks_left_out: u64,
    /// Until when a tail call is known to go on in the call that comes next at its depth.
    pub tail_calls_until: TraceNanos,
    /// Logical spans of Swift's tasks.
    pub tasks: Vec<TaskSpan>,
    /// When they ran: those of a task follow each other.
    pub task_runs: Vec<TaskRun>,
    /// When they waited: likewise.
    pub suspensions: Vec<Suspension>,
    /// From when on tasks run on which executors, task by task.
    pub task_hops: Vec<TaskHop>,
    /// Where tasks run.
    pub executors: Vec<ExecutorEntry>,
    /// Names and labels, which the other tables refer to.
    pub texts: Vec<String>,
    /// Calls that resumed continuations which no task waited for: the thread, and the event.
    pub orphans: Vec<(ThreadIndex, EventSeq)>,
    /// Logical spans of dispatched blocks.
    pub dispatched: Vec<BlockSpan>,
    /// The queues that they went through.
    pub queues: Vec<QueueEntry>,
    /// The groups that they belong to.
    pub groups: Vec<GroupEntry>,
    /// Waits of threads for each other, by start.
    pub waits: Vec<WaitSpan>,
    /// Waits that were found and not kept, because there were too many.
    pub waits_left_out: u64,
    /// Who certainly had which lock when, by start.
    pub holds: Vec<HoldSpan>,
    /// Calls of input and output.
    pub io: IoCalls,
    /// Waits for what other processes may have too, and calls that end such waits.
    pub shared: SharedCalls,
}

/// A thread in the tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadEntry {
    /// Its id, as in the name of its folder.
    pub id: ThreadId,
    /// How many events it has, and when.
    pub facts: ThreadFacts,
    /// How many spans.
    pub spans: u64,
    /// Its blocks: the first one's index in [`Meta::blocks`], and how many.
    pub blocks: (u32, u32),
    /// How many spans have which [`crate::Outcome::to_byte`].
    pub outcomes: Vec<(u8, u64)>,
}

/// Anomalies of one kind on one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnomalyCount {
    /// The thread.
    pub thread: ThreadIndex,
    /// The index of the kind in [`crate::AnomalyKind::ALL`].
    pub kind: u32,
    /// How many.
    pub count: u64,
    /// The first one's event.
    pub first_seq: EventSeq,
    /// When that was.
    pub first_time: TraceNanos,
}

/// A file of blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShardEntry {
    pub(crate) spans_len: u64,
    pub(crate) late_len: u64,
    pub(crate) anomalies_len: u64,
    /// By the number that functions have in the file.
    pub(crate) functions: Vec<FunctionIndex>,
}

impl Meta {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.u64(MAGIC).u64(self.key);
        out.list(&self.threads, |out, it| {
            let f = &it.facts;
            out.u32(it.id.0).u64(f.events).u64(f.stack_changes).u64(f.first_time.0).u64(f.start_time.0);
            out.u64(f.last_time.0).u64(f.end_time.0);
            out.u32(f.deepest).u32(f.begun_at_depth);
            out.u64(it.spans).u32(it.blocks.0).u32(it.blocks.1);
            out.list(&it.outcomes, |out, &(byte, count)| {
                out.u32(byte.into()).u64(count);
            });
        });
        out.list(&self.blocks, |out, it| {
            out.u32(it.thread.0).u32(it.shard).u64(it.offset).u32(it.length).u32(it.crc).u32(it.rows);
            out.u32(it.late_count).u64(it.late_base).u64(it.first_seq.0).u64(it.last_seq.0);
            out.u64(it.min_start.0).u64(it.max_start.0).u64(it.max_end.0).u64(it.max_duration);
            out.u32(it.min_depth).u32(it.max_depth);
        });
        out.list(&self.functions, encode_function);
        out.list(&self.shards, |out, it| {
            out.u64(it.spans_len).u64(it.late_len).u64(it.anomalies_len);
            out.list(&it.functions, |out, function| {
                out.u32(function.0);
            });
        });
        out.list(&self.anomalies, |out, it| {
            out.u32(it.thread.0).u32(it.kind).u64(it.count).u64(it.first_seq.0).u64(it.first_time.0);
        });
        out.list(&self.pthreads, |out, it| it.encode(out));
        out.list(&self.failed_creations, |out, it| it.encode(out));
        out.list(&self.callbacks, |out, it| it.encode(out));
        out.u64(self.callbacks_left_out).u64(self.tail_calls_until.0);
        out.list(&self.tasks, |out, it| it.encode(out));
        out.list(&self.task_runs, |out, it| it.encode(out));
        out.list(&self.suspensions, |out, it| it.encode(out));
        out.list(&self.task_hops, |out, it| it.encode(out));
        out.list(&self.executors, |out, it| it.encode(out));
        out.list(&self.texts, |out, it| {
            out.text(it);
        });
        out.list(&self.orphans, |out, &(thread, seq)| {
            out.u32(thread.0).u64(seq.0);
        });
        out.list(&self.dispatched, |out, it| it.encode(out));
        out.list(&self.queues, |out, it| it.encode(out));
        out.list(&self.groups, |out, it| it.encode(out));
        out.list(&self.waits, |out, it| it.encode(out));
        out.u64(self.waits_left_out);
        out.list(&self.holds, |out, it| it.encode(out));
        self.io.encode(&mut out);
        self.shared.encode(&mut out);
        let crc = crc32fast::hash(&out.0);
        out.u32(crc);
        out.0
    }

    /// None if the bytes are damaged, or of another version.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        Self::decode_content(content_of(bytes)?)
    }

    /// Whether sound bytes were made under another key than this.
    pub(super) fn is_of_another(bytes: &[u8], key: u64) -> bool {
        content_of(bytes).is_some_and(|content| {
            let mut from = Decoder(content);
            (from.u64(), from.u64()) != (Some(MAGIC), Some(key))
        })
    }

    /// The same of bytes without their checksum.
    pub(crate) fn decode_content(content: &[u8]) -> Option<Self> {
        let mut from = Decoder(content);
        if from.u64()? != MAGIC {
            return None;
        }
        let meta = Self {
            key: from.u64()?,
            threads: from.list(decode_thread)?,
            blocks: from.list(decode_block)?,
            functions: from.list(decode_function)?,
            shards: from.list(|from| {
                Some(ShardEntry {
                    spans_len: from.u64()?,
                    late_len: from.u64()?,
                    anomalies_len: from.u64()?,
                    functions: from.list(|from| from.u32().map(FunctionIndex))?,
                })
            })?,
            anomalies: from.list(|from| {
                Some(AnomalyCount {
                    thread: ThreadIndex(from.u32()?),
                    kind: from.u32()?,
                    count: from.u64()?,
                    first_seq: EventSeq(from.u64()?),
                    first_time: TraceNanos(from.u64()?),
                })
            })?,
            pthreads: from.list(PthreadSpan::decode)?,
            failed_creations: from.list(FailedCreation::decode)?,
            callbacks: from.list(CallbackSpan::decode)?,
            callbacks_left_out: from.u64()?,
            tail_calls_until: TraceNanos(from.u64()?),
            tasks: from.list(TaskSpan::decode)?,
            task_runs: from.list(TaskRun::decode)?,
            suspensions: from.list(Suspension::decode)?,
            task_hops: from.list(TaskHop::decode)?,
            executors: from.list(ExecutorEntry::decode)?,
            texts: from.list(Decoder::text)?,
            orphans: from.list(|from| Some((ThreadIndex(from.u32()?), EventSeq(from.u64()?))))?,
            dispatched: from.list(BlockSpan::decode)?,
            queues: from.list(QueueEntry::decode)?,
            groups: from.list(GroupEntry::decode)?,
            waits: from.list(WaitSpan::decode)?,
            waits_left_out: from.u64()?,
            holds: from.list(HoldSpan::decode)?,
            io: IoCalls::decode(&mut from)?,
            shared: SharedCalls::decode(&mut from)?,
        };
        (from.0.is_empty() && meta.is_consistent()).then_some(meta)
    }

    /// Whether all indexes are in range, so that no reader has to check.
    fn is_consistent(&self) -> bool {
        let (threads, functions, blocks) = (self.threads.len(), self.functions.len(), self.blocks.len());
        self.blocks.iter().all(|it| it.thread.as_usize() < threads && (it.shard as usize) < self.shards.len())
            && self
                .threads
                .iter()
                .all(|it| (it.blocks.0 as usize).checked_add(it.blocks.1 as usize).is_some_and(|end| end <= blocks))
            && self.shards.iter().all(|it| it.functions.iter().all(|function| function.as_usize() < functions))
            && self.functions.iter().all(|it| it.longest.0.as_usize() < threads.max(1))
            && self.anomalies.iter().all(|it| it.thread.as_usize() < threads)
            && self.pthreads.iter().all(|it| it.is_consistent(threads))
            && self.failed_creations.iter().all(|it| it.thread.as_usize() < threads)
            && self.callbacks.iter().all(|it| it.is_consistent(threads))
            && self.waits.iter().all(|it| it.is_consistent(threads))
            && self.holds.iter().all(|it| it.is_consistent(threads))
            && self.io.is_consistent(threads)
            && self.shared.is_consistent(threads)
            && self.is_concurrency_consistent()
    }

    fn is_concurrency_consistent(&self) -> bool {
        let (threads, tasks, queues) = (self.threads.len(), self.tasks.len(), self.queues.len());
        let (executors, texts) = (self.executors.len(), self.texts.len());
        let of_tasks = [self.task_runs.len(), self.suspensions.len(), self.task_hops.len(), texts];
        let has = |word: u64| Context::exists(word, tasks, self.dispatched.len());
        self.tasks.iter().all(|it| it.is_consistent(threads, of_tasks, &has))
            && self.task_runs.iter().all(|it| it.is_consistent(threads, tasks))
            && self.suspensions.iter().all(|it| it.is_consistent(threads, tasks, executors, &has))
            && self.task_hops.iter().all(|it| it.is_consistent(tasks, executors))
            && self.executors.iter().all(|it| it.is_consistent(texts))
            && self.orphans.iter().all(|&(thread, _)| thread.as_usize() < threads)
            && self.dispatched.iter().all(|it| it.is_consistent(threads, queues, self.groups.len(), &has))
            && self.queues.iter().all(|it| it.is_consistent(queues, texts))
    }

    /// The thread with an id.
    pub fn thread_index(&self, id: ThreadId) -> Option<ThreadIndex> {
        self.threads.binary_search_by_key(&id, |thread| thread.id).ok().map(|index| ThreadIndex(index as u32))
    }

    /// The function with an id.
    pub fn function_index(&self, function: FunctionId) -> Option<FunctionIndex> {
        self.functions
            .binary_search_by_key(&function, |stats| stats.function)
            .ok()
            .map(|index| FunctionIndex(index as u32))
    }
}

/// What stands before the checksum, if that is right.
fn content_of(bytes: &[u8]) -> Option<&[u8]> {
    let (content, crc) = bytes.split_last_chunk()?;
    (crc32fast::hash(content) == u32::from_le_bytes(*crc)).then_some(content)
}

fn decode_thread(from: &mut Decoder<'_>) -> Option<ThreadEntry> {
    Some(ThreadEntry {
        id: ThreadId(from.u32()?),
        facts: ThreadFacts {
            events: from.u64()?,
            stack_changes: from.u64()?,
            first_time: TraceNanos(from.u64()?),
            start_time: TraceNanos(from.u64()?),
            last_time: TraceNanos(from.u64()?),
            end_time: TraceNanos(from.u64()?),
            deepest: from.u32()?,
            begun_at_depth: from.u32()?,
        },
        spans: from.u64()?,
        blocks: (from.u32()?, from.u32()?),
        outcomes: from.list(|from| Some((u8::try_from(from.u32()?).ok()?, from.u64()?)))?,
    })
}

fn decode_block(from: &mut Decoder<'_>) -> Option<BlockEntry> {
    Some(BlockEntry {
        thread: ThreadIndex(from.u32()?),
        shard: from.u32()?,
        offset: from.u64()?,
        length: from.u32()?,
        crc: from.u32()?,
        rows: from.u32()?,
        late_count: from.u32()?,
        late_base: from.u64()?,
        first_seq: EventSeq(from.u64()?),
        last_seq: EventSeq(from.u64()?),
        min_start: TraceNanos(from.u64()?),
        max_start: TraceNanos(from.u64()?),
        max_end: TraceNanos(from.u64()?),
        max_duration: from.u64()?,
        min_depth: from.u32()?,
        max_depth: from.u32()?,
    })
}

fn encode_function(out: &mut Encoder, it: &FunctionStats) {
    out.u64(it.function.0).u64(it.spans).u64(it.timed).u64(it.total_ns).u64(it.self_ns).u64(it.min_ns).u64(it.max_ns);
    out.u32(it.longest.0.0).u64(it.longest.1.0);
    for &count in it.by_status.iter().chain(&it.events.0) {
        out.u64(count);
    }
    out.u32(it.durations.is_some().into());
    let filled: Vec<(u16, u32)> = it.durations.iter().flat_map(Histogram::filled).collect();
    out.list(&filled, |out, &(number, count)| {
        out.u32(number.into()).u32(count);
    });
}

fn decode_function(from: &mut Decoder<'_>) -> Option<FunctionStats> {
    let mut it = FunctionStats {
        function: FunctionId(from.u64()?),
        spans: from.u64()?,
        timed: from.u64()?,
        total_ns: from.u64()?,
        self_ns: from.u64()?,
        min_ns: from.u64()?,
        max_ns: from.u64()?,
        longest: (ThreadIndex(from.u32()?), EventSeq(from.u64()?)),
        by_status: [0; Status::ALL.len()],
        events: EventCounts::default(),
        durations: None,
    };
    for count in it.by_status.iter_mut().chain(&mut it.events.0) {
        *count = from.u64()?;
    }
    let has_durations = from.u32()? != 0;
    let filled = from.list(|from| Some((u16::try_from(from.u32()?).ok()?, from.u32()?)))?;
    if has_durations {
        let mut durations = Histogram::default();
        for (number, count) in filled {
            durations.set(number, count).then_some(())?;
        }
        it.durations = Some(durations);
    }
    Some(it)
}
