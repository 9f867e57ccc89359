//! Trace files: [`atf`] holds what ada records, [`heph`] what other programs send it.
//!
//! [`parallel`] and [`private`] are here because this is the lowest crate with a standard library that all who work in
//! parallel, or write beside a session, use.
//!
//! Parsers take bytes and give views or typed errors that name the byte offset; they never panic, never loop on
//! hostile input and never allocate by a number that a file states. Damage that leaves something to read is not an
//! error: it is returned beside what was read.
#![deny(unsafe_code)]

pub mod atf;
pub mod heph;
pub mod parallel;
pub mod private;
