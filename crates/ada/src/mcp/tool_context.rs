//! What the tools work with.

use ada_query::{Cancel, Limits};

use super::Args;
use super::library::Library;

/// Rows of an answer that are looked at before they are fitted into a budget.
const MOST_ROWS: u64 = 20_000;

/// The sessions, and what an answer may take.
pub(super) struct ToolContext {
    pub(super) library: Library,
    pub(super) limits: Limits,
    pub(super) allows_record: bool,
}

impl ToolContext {
    pub(super) fn new(args: Args) -> Self {
        let limits = Limits { rows: Some(MOST_ROWS), time: Some(args.max_time), memory: args.max_memory };
        let library = Library::new(args.folders, args.timeout, Cancel::default());
        Self { library, limits, allows_record: args.allow_record }
    }
}
