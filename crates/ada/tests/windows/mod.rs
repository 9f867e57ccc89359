//! Crashes, windows of detail around triggers, and rings on disk.

mod crashes;
mod ring;
mod triggers;
