//! The commands as a user types them: the real executable, its output and its exit codes.

mod atf;
mod attach;
mod bisect;
mod cli;
mod heph;
mod live;
mod run;
mod trace;
mod transparency;
mod windows;
