//! Which functions are shown, and who is charged for the others.
//!
//! A person looks for their own code. What libraries do on its behalf is charged to the function that called them.

mod charged;
mod states;

pub use charged::{Charged, Outside, ShownCalls, charged, shown_calls};
pub use states::self_states;

use ada_image::glob;

use crate::function_pattern::FunctionPattern;
use crate::ownership::own_functions;
use crate::trace::{Trace, TraceProcess};

/// What to look at.
#[derive(Clone, Debug, Default)]
pub struct Lens {
    /// The program's own functions only.
    pub is_own: bool,
    /// Functions of these modules only, by file name.
    pub modules: Vec<String>,
    /// Not these functions.
    pub hidden: Vec<FunctionPattern>,
}

impl Lens {
    /// Which functions of a process are shown, by their index in the tables.
    pub fn shown(&self, trace: &Trace, process: &TraceProcess) -> Vec<bool> {
        let own = self.is_own.then(|| own_functions(trace, process));
        let functions = process.tables.meta().functions.iter().enumerate();
        functions
            .map(|(index, it)| {
                own.as_ref().is_none_or(|own| own[index])
                    && (self.modules.is_empty() || {
                        let module = process.names.module(it.function);
                        self.modules.iter().any(|pattern| glob(pattern, &module))
                    })
                    && !self.hidden.iter().any(|pattern| pattern.matches_function(process, it.function))
            })
            .collect()
    }
}
