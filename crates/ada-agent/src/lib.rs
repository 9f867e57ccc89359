//! The agent: code that lives in a traced program and handles what the stubs cannot do in a few instructions.
//!
//! It is a guest in someone else's process. It calls no libc (whose functions are hooked too), allocates nothing,
//! keeps no file descriptor, and makes system calls only where an event cannot be recorded without them. Everything it
//! may touch is described by [`ada_ring`]; [`config`] says where that lies.
//!
//! `ada-control` compiles this crate a second time, freestanding, and copies the result into the target; here it is an
//! ordinary library, so that its rules can be tested.
//!
//! What depends on the processor stands in a folder of its own, behind the seam `arch`.
#![no_std]

mod arch;
pub mod bpf;
pub mod chunks;
mod code_edits;
pub mod config;
pub mod crash;
mod dead_frames;
pub mod details;
mod entries;
mod exec;
mod exits;
mod filters;
pub mod frames;
#[cfg(ada_freestanding)]
mod freestanding;
mod go_memory;
mod goroutines;
mod growth;
mod handlers;
mod jumps;
mod known_stacks;
mod lasting;
mod loader;
mod lock;
pub mod memory;
mod meter;
mod open_frames;
mod open_probes;
mod origins;
pub mod own_calls;
mod own_stacks;
mod passing;
mod probes;
mod reads;
mod recorder;
mod ring_memory;
mod rings;
mod shadow_stack;
mod stack_records;
mod stacks;
mod state_claims;
mod stretch;
mod stub_reads;
mod swift_types;
pub mod syscall;
mod takeover;
mod tall_stacks;
pub mod threads;
mod waits;
pub mod windows;
#[cfg(target_arch = "x86_64")]
mod x86_64;
