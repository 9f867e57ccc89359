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
    /// The modules that functions are of, each once, by their names.
    modules: Vec<String>,
    /// By a function's number: its module's index in the upper half, a hash of its name in the lower.
    colour_keys: Vec<u32>,
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
        names.modules = names.functions.iter().flatten().map(|(_, module)| module.clone()).collect();
        names.modules.sort_unstable();
        names.modules.dedup();
        let key = |(name, module): &(String, String)| {
            let index = names.modules.binary_search(module).unwrap_or_default();
            (index as u32) << 16 | name_hash(name) & 0xffff
        };
        names.colour_keys = names.functions.iter().flatten().map(key).collect();
        names
    }

    /// The modules that functions are of.
    pub(super) fn modules(&self) -> &[String] {
        &self.modules
    }

    /// What functions are coloured by: numbers of four bytes, in the order of their own.
    pub(super) fn colour_keys(&self) -> Vec<u8> {
        self.colour_keys.iter().flat_map(|key| key.to_le_bytes()).collect()
    }

    /// The process and index of a function's number.
    pub(super) fn function(&self, number: u32) -> Option<(usize, FunctionIndex)> {
        let process = self.first.partition_point(|&first| first <= number).checked_sub(1)?;
        let index = number - self.first[process];
        ((index as usize) < self.functions[process].len()).then_some((process, FunctionIndex(index)))
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
        let (process, index) = self.function(number)?;
        self.functions[process].get(index.as_usize()).cloned()
    }
}

/// FNV-1a: the same name has the same colour in every session.
fn name_hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_leads_back_to_its_function() {
        let names = SpanNames {
            functions: vec![vec![("a".into(), "x".into())], Vec::new(), vec![("b".into(), "y".into())]],
            first: vec![0, 1, 1],
            next: 2,
            ..SpanNames::default()
        };
        assert_eq!(names.function(0), Some((0, FunctionIndex(0))));
        assert_eq!(names.function(1), Some((2, FunctionIndex(0))));
        assert_eq!((names.function(2), names.function(u32::MAX)), (None, None));
        assert_eq!(names.of_text("c"), 2);
        assert_eq!(names.get(2), Some(("c".into(), String::new())));
    }
}
