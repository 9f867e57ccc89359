//! Names by numbers: those of functions first, then those that other spans have.

use std::collections::HashMap;
use std::sync::Mutex;

use ada_span::table::FunctionIndex;

use crate::analysis::OpenedSession;

/// The names of a session's spans.
#[derive(Default)]
pub(super) struct SpanNames {
    /// Names and modules of each process's functions, in the order of the tables.
    functions: Vec<Vec<(String, String)>>,
    /// The number of each process's first function.
    first: Vec<u32>,
    others: Mutex<Others>,
    next: u32,
}

#[derive(Default)]
struct Others {
    names: Vec<String>,
    known: HashMap<String, u32>,
}

impl SpanNames {
    pub(super) fn of(opened: &OpenedSession) -> Self {
        let mut names = Self::default();
        for process in opened.processes() {
            names.first.push(names.next);
            let functions = process.tables.meta().functions.iter();
            let listed: Vec<(String, String)> =
                functions.map(|it| (process.names.name(it.function), process.names.module(it.function))).collect();
            names.next += listed.len() as u32;
            names.functions.push(listed);
        }
        names
    }

    /// The number of a process's function.
    pub(super) fn of_function(&self, process: usize, function: FunctionIndex) -> u32 {
        // An index that no function has is nobody's number.
        let is_known = function.as_usize() < self.functions[process].len();
        if is_known { self.first[process] + function.0 } else { u32::MAX }
    }

    /// The number of any other name.
    pub(super) fn of_text(&self, text: &str) -> u32 {
        let mut others = self.others.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let fresh = self.next + others.names.len() as u32;
        if let Some(&number) = others.known.get(text) {
            return number;
        }
        others.names.push(text.to_owned());
        others.known.insert(text.to_owned(), fresh);
        fresh
    }

    /// The name and the module of a number.
    pub(super) fn get(&self, number: u32) -> Option<(String, String)> {
        if number >= self.next {
            let others = self.others.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            return others.names.get((number - self.next) as usize).map(|name| (name.clone(), String::new()));
        }
        let process = self.first.partition_point(|&first| first <= number).checked_sub(1)?;
        self.functions[process].get((number - self.first[process]) as usize).cloned()
    }
}
