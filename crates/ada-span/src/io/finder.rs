//! What is known of a session's calls, and what is found out by it about a wait.

use std::collections::{BTreeMap, HashMap, HashSet};

use ada_event::{EventSeq, TraceNanos};

use super::letters::Letters;
use super::objects::Objects;
use super::process_io::ProcessIo;
use super::queues::Queues;
use super::streams::{CallPlace, Piece, Stream};
use super::tables::{DescriptorTable, ObjectIndex};
use crate::io_call_span::IoCallSpan;
use crate::thread_index::ThreadIndex;
use crate::wait::Doubts;

/// What was found out about a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoWait {
    /// Its place in the list of the process's waits.
    pub wait: usize,
    /// The descriptor that was waited for.
    pub descriptor: Option<u32>,
    /// What it stood for, in [`SessionIo::objects`].
    pub object: Option<usize>,
    /// Further descriptors that were ready when it ended, and what they stood for.
    pub others: Vec<(u32, Option<usize>)>,
    /// Who ended the wait.
    pub waker: Option<IoWaker>,
    /// What is not certain.
    pub doubts: Doubts,
}

/// Who ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoWaker {
    /// The process's place in the list.
    pub process: usize,
    /// The thread there.
    pub thread: ThreadIndex,
    /// The call, by its opening event.
    pub seq: Option<EventSeq>,
    /// When that was.
    pub time: TraceNanos,
}

/// The calls of all processes, where they belong.
pub(super) struct Finder<'a> {
    pub(super) processes: &'a [ProcessIo<'a>],
    pub(super) tables: Vec<DescriptorTable>,
    pub(super) objects: Objects,
    /// By the object that is read from.
    pub(super) streams: BTreeMap<ObjectIndex, Stream>,
    /// Datagrams that were sent to addresses.
    pub(super) letters: Letters,
    /// The calls that connected sockets.
    pub(super) connects: HashMap<ObjectIndex, CallPlace>,
    /// Calls that say what sets of descriptors are about, by process.
    pub(super) controls: Vec<Vec<usize>>,
    /// What connections are taken from.
    pub(super) listeners: HashSet<ObjectIndex>,
    /// How they are taken.
    pub(super) queues: Queues,
    /// Where operations of rings are among the calls, by their numbers.
    pub(super) operations: Vec<HashMap<u64, usize>>,
    /// Until when all calls of all processes are known.
    pub(super) known_until: TraceNanos,
}

pub(super) fn piece(call: CallPlace, it: &IoCallSpan, bytes: u64) -> Piece {
    Piece { call, start: it.start, end: it.end, bytes, has_slept: false }
}
