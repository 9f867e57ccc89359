//! Decides for each function of an image how it can be hooked, and generates the code that does it.
//!
//! Pure: bytes and tables in, verdicts and bytes out; nothing here touches a process. The order of work is
//!
//! 1. [`CodeScan`] decodes the image once and notes where branches land and who touches its own return slot,
//! 2. [`Planner`] gives every function a [`Verdict`], and the displaced instructions where it can be hooked,
//! 3. [`Arena`] lays stubs and relocated instructions out for one place in memory.
//!
//! The rules that make a function entry-only or leave it alone follow from its code and unwind tables, not from names;
//! [`verdict`] lists them with the programs that taught them.
#![forbid(unsafe_code)]

mod arena;
mod planner;
pub mod verdict;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use ada_ring::AgentEntries;
pub use arena::{Arena, ArenaError, CopiedCode, HookSite, Patch};
pub use planner::{PatchPlan, Planner};
pub use verdict::{EntryOnlyReason, SkipReason, Verdict};
pub use x86_64::displaced::Displaced;
pub use x86_64::relays::Relays;
pub use x86_64::scan::CodeScan;
pub use x86_64::stub::{StubKind, StubOptions};
