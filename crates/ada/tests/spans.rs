//! The commands that report what a program did, on real traces of the tiny programs: spans, statuses and reasons exactly.

#[allow(dead_code, reason = "shared with the other test target, which uses the rest")]
#[path = "trace/program.rs"]
mod program;
#[allow(dead_code, reason = "shared with the other test target, which uses the rest")]
#[allow(unused_imports, reason = "shared with the other test target, which uses the rest")]
mod run;

#[path = "spans/cache.rs"]
mod cache;
#[path = "spans/callbacks.rs"]
mod callbacks;
#[path = "spans/commands.rs"]
mod commands;
#[path = "spans/endings.rs"]
mod endings;
#[path = "spans/go_program.rs"]
mod go_program;
#[path = "spans/goroutines.rs"]
mod goroutines;
#[path = "spans/io_waits.rs"]
mod io_waits;
#[path = "spans/letters.rs"]
mod letters;
#[path = "spans/mutex_waits.rs"]
mod mutex_waits;
#[path = "spans/once_waits.rs"]
mod once_waits;
#[path = "spans/priorities.rs"]
mod priorities;
#[path = "spans/recording.rs"]
mod recording;
#[path = "spans/ring_waits.rs"]
mod ring_waits;
#[path = "spans/several.rs"]
mod several;
#[path = "spans/shared_deadlocks.rs"]
mod shared_deadlocks;
#[path = "spans/shared_waits.rs"]
mod shared_waits;
#[path = "spans/source_lines.rs"]
mod source_lines;
#[path = "spans/starvation.rs"]
mod starvation;
#[path = "spans/states.rs"]
mod states;
#[path = "spans/thread_lives.rs"]
mod thread_lives;
#[path = "spans/threads.rs"]
mod threads;
#[path = "spans/traced_program.rs"]
mod traced_program;
#[path = "spans/waits.rs"]
mod waits;
