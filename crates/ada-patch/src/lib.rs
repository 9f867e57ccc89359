//! Decides for each function of an image how it can be hooked, and generates the code that does it.
//!
//! Pure: bytes and tables in, verdicts and bytes out; nothing here touches a process. The order of work is
//!
//! 1. [`CodeScan`] decodes the image once and notes where branches land and where functions are left,
//! 2. [`Planner`] gives every function a [`Verdict`], and the displaced instructions where it can be hooked,
//! 3. [`Arena`] lays stubs and relocated instructions out for one address.
//!
//! The rules that make a function entry-only or leave it alone follow from its code and unwind tables, not from names;
//! [`verdict`] lists them with the programs that taught them.
//!
//! What depends on the processor stands in a folder of its own, behind the seam `arch`: decoding (`pieces`, `known_code`),
//! where a patch goes (`site`, `displaced`, `relays`, `jump`), and the code of the stubs (`stub/`: `entry`, `exit`,
//! `capture`, `agent_call`).
#![forbid(unsafe_code)]

mod arch;
mod arena;
mod code_scan;
mod displaced_exit;
mod errno_place;
mod error_use;
mod exits;
mod futex_call;
mod go_rules;
mod hook_site;
mod image_code;
mod image_planner;
mod leave;
mod leaving;
mod moved_code;
mod patch_plan;
mod planner;
mod probed;
mod relay;
mod scanner;
mod stub_kind;
pub mod verdict;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use ada_ring::AgentEntries;
pub use arch::{
    CodeFacts, Displaced, Relays, addresses_taken, errno_place, error_use, futex_call, thread_result_distance,
};
pub use arena::{Arena, ArenaError};
pub use code_scan::CodeScan;
pub use displaced_exit::DisplacedExit;
pub use errno_place::ErrnoPlace;
pub use error_use::ErrorUse;
pub use exits::ExitPlan;
pub use futex_call::FutexCall;
pub use hook_site::{CopiedCode, HookSite, PATCH_BYTES, Patch};
pub use image_code::ImageCode;
pub use image_planner::PlannedFunctions;
pub use leaving::{Behind, Leaving};
pub use patch_plan::PatchPlan;
pub use planner::Planner;
pub use probed::{AgentPart, Guard, Probed, WORDS_BEHIND};
pub use relay::Relay;
pub use stub_kind::{StubKind, StubOptions};
pub use verdict::{EntryOnlyReason, SkipReason, Verdict};
