//! `ada atf …` and `ada demo`.

mod demo;
mod dump;
mod memory;
mod session;
mod verify;
