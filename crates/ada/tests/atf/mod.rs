//! `ada atf …` and `ada demo`.

mod demo;
mod dump;
mod memory;
mod pack;
mod session;
mod verify;
