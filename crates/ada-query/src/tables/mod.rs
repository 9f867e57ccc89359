//! The tables.

mod arguments;
mod details;
mod drops;
mod events;
mod findings;
mod functions;
mod holds;
mod hooks;
mod links;
mod locks;
mod modules;
mod processes;
mod schema;
mod spans;
mod states;
mod threads;
mod waits;
mod windows;

use rusqlite::Connection;

use crate::doc::TableDoc;
use crate::relation::Described;
use crate::shared::Shared;
use crate::stats::Stats;
use crate::virtual_table::register;
use crate::walk::{Ancestors, CriticalPath, Descendants, Overlaps};

macro_rules! tables {
    ($($relation:ty),* $(,)?) => {
        /// All tables, and functions that give some.
        pub fn documented() -> &'static [&'static TableDoc] {
            const { &[$(<$relation as Described>::DOC),*] }
        }

        pub(crate) fn register_all(connection: &Connection, shared: &Shared) -> rusqlite::Result<()> {
            $(register::<$relation>(connection, shared)?;)*
            Ok(())
        }
    };
}

tables![
    spans::Spans,
    events::Events,
    functions::Functions,
    modules::Modules,
    threads::Threads,
    processes::Processes,
    hooks::Hooks,
    drops::Drops,
    windows::Windows,
    details::Details,
    arguments::Arguments,
    links::Links,
    waits::Waits,
    locks::Locks,
    holds::Holds,
    states::States,
    findings::Findings,
    Ancestors,
    Descendants,
    Overlaps,
    CriticalPath,
    Stats,
    schema::Schema,
];

/// Makes a table of the tables' own description.
pub(crate) fn register_schema(connection: &Connection, shared: &Shared) -> rusqlite::Result<()> {
    register::<schema::Schema>(connection, shared)
}

/// The tables that are a part of the trace, and not functions or descriptions: what an export has.
pub(crate) fn exported() -> impl Iterator<Item = &'static TableDoc> {
    documented().iter().copied().filter(|it| it.parameters.is_empty() && it.name != schema::NAME)
}
