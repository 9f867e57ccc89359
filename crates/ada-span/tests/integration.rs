//! The analysis from outside: events in, spans and tables out.

#[path = "integration/callbacks.rs"]
mod callbacks;
#[path = "integration/collected.rs"]
mod collected;
#[path = "integration/memory.rs"]
mod memory;
#[path = "integration/program.rs"]
mod program;
#[path = "integration/properties.rs"]
mod properties;
#[path = "integration/pthreads.rs"]
mod pthreads;
#[path = "integration/replay.rs"]
mod replay;
#[path = "integration/tables.rs"]
mod tables;
