//! ATF V2: a session is a folder a process, with a manifest and per thread an index and perhaps a detail file.
//!
//! [`IndexView`], [`DetailView`] and [`Manifest`] read bytes; [`Session`] maps the files of a folder and merges the
//! threads; [`SessionWriter`] makes such a folder. `docs/formats/atf-v2.md` is normative.
//!
//! A file whose writer died, or that was cut since, is read as far as it goes, and [`Damage`] says what is missing. A
//! file that contradicts itself is an [`AtfError`].
#![doc = include_str!("../../../../docs/formats/atf-v2.md")]

mod beside;
mod block_fault;
mod bundle;
mod chunks;
mod damage;
mod descriptors;
mod detail;
mod detail_type;
mod error;
mod event_visitor;
mod functions;
mod index;
mod layout;
mod manifest;
mod map;
mod merge;
pub mod packed;
mod payload;
mod platform;
mod preamble;
mod priorities;
mod recording;
mod schedule;
mod session;
mod shared_memory;
mod side_file;
mod store;

pub use beside::copy_beside;
pub use block_fault::BlockFault;
pub use bundle::BundleReader;
pub use chunks::{EventChunk, EventChunks};
pub use damage::Damage;
pub use descriptors::{SeenDescriptor, append_descriptors, parse_descriptors, read_descriptors, trim_descriptors};
pub use detail::{DetailFooter, DetailHeader, DetailRecord, DetailView, Records};
pub use detail_type::DetailType;
pub use error::{AtfError, SessionError, WriteError};
pub use event_visitor::EventVisitor;
pub use functions::{FunctionRow, functions_file, read_functions, write_functions};
pub use index::{IndexFooter, IndexHeader, IndexView};
pub use manifest::{
    BuildId, Coverage, Crash, Drops, Exit, Gap, HexAddr, HookCost, LaneFigures, LatencyFigures, MANIFEST_VERSION,
    Manifest, Module, OpenCalls, PoolFigures, RingFigures, Switch, ThreadEntry, Window,
};
pub use map::Mapping;
pub use merge::{Merge, MergedEvent};
pub use payload::{Arm64Frame, MAX_PROBES, MAX_STACK_WINDOW, Payload, Probes, X86Call, X86Captured, X86Return};
pub use platform::{Arch, Clock, Os, Platform};
pub use priorities::{SeenPriority, append_priorities, parse_priorities, read_priorities};
pub use recording::{DetailWriter, IndexWriter, SessionWriter, SyncPolicy, ThreadWriter};
pub use schedule::{append_schedule, parse_schedule, read_schedule, trim_schedule};
pub use session::{
    Events, Finding, FunctionList, HeldRecord, HeldRecords, PieceReader, Problem, Process, Session, ThreadDetail,
    ThreadEvents, ThreadTrace,
};
pub use shared_memory::{SeenMemory, append_shared_memory, parse_shared_memory, read_shared_memory};
pub use store::Store;
