//! Synthetic traces, put together byte by byte from the format documents.
//!
//! Nothing here may use `ada-format`: a reader and a writer that share a wrong layout agree with each other, and
//! only a third party notices.
#![forbid(unsafe_code)]

pub mod atf;
pub mod heph;
pub mod packed;
