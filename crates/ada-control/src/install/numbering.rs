//! Numbers that are unique in a session, whatever programs it traces.

use std::sync::atomic::{AtomicU32, Ordering};

use ada_event::ModuleId;

use crate::install::function_numbers::FunctionNumbers;

/// Gives out numbers of functions and modules.
#[derive(Default)]
pub(crate) struct Numbering {
    next_function: AtomicU32,
    last_module: AtomicU32,
}

impl Numbering {
    /// Numbers for so many functions. Gives the first.
    pub(super) fn number_functions(&self, count: usize) -> u32 {
        self.next_function.fetch_add(FunctionNumbers::taken_by(count), Ordering::Relaxed)
    }

    /// A number for a module. The first one is 1.
    pub(super) fn number_module(&self) -> ModuleId {
        ModuleId(self.last_module.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
