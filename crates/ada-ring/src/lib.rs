//! The memory that a traced program and its recorder share, and the contract for using it.
//!
//! Three parties meet here and none may wait for another while an event is being written: the generated stubs in the
//! target ([`state`], written with plain stores), the agent in the target that handles what is rare, and the drain in
//! the recorder ([`chunk_reader`]).
//!
//! Records go into *chunks*: fixed pieces of shared memory that belong to one thread at a time. A chunk is written
//! once, from its start to its end; nothing in it is ever overwritten while it is owned, so the drain may read behind
//! the writer without a lock. A record whose first word is 0 is not written yet. When a chunk is full the thread
//! takes another from the [`pool`]; the drain empties the full one, zeroes it and puts it back.
//!
//! Layouts that depend on the processor's registers stand in a folder of their own, behind the seam [`arch`].
#![no_std]

pub mod agent_entries;
pub mod arch;
pub mod arena_front;
pub mod chunk;
pub mod chunk_reader;
pub mod code_edits;
pub mod contention;
pub mod control;
mod counter_blocks;
pub mod counters;
pub mod crash;
pub mod detail;
pub mod handler_functions;
pub mod handover;
pub mod lasting;
pub mod marks;
pub mod orders;
pub mod origins;
pub mod pool;
pub mod probe;
pub mod record;
mod record_layout;
pub mod shadow_frame;
pub mod shadow_stack;
pub mod stack_change;
pub mod state;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use agent_entries::AgentEntries;
pub use chunk::{CHUNK_SIZE, ChunkHeader, ChunkState, Lane, RECORDS_END, RECORDS_PER_CHUNK, ThreadKey};
pub use chunk_reader::ChunkReader;
pub use control::{Control, DropReason, ExecStage};
pub use crash::{CrashSlot, CrashSlots};
pub use detail::RawDetail;
pub use orders::{DetailMode, OnFull, Orders};
pub use pool::{HandedOver, Pool};
pub use record::{RawRecord, RecordKind};
pub use record_layout::{DetailShape, RecordLayout};
pub use shadow_frame::ShadowFrame;
pub use stack_change::StackChange;
pub use state::ThreadState;
