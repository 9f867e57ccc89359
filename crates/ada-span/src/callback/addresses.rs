//! Which numbers in registers are addresses of functions.

use std::collections::{HashMap, HashSet};

use ada_event::{FunctionId, RuntimeAddr};

/// The functions of a process by address, and those of them that some call was handed.
#[derive(Default)]
pub struct CodeAddresses {
    functions: HashMap<RuntimeAddr, FunctionId>,
    /// Sorted, not overlapping: where functions are at all. Most numbers in registers are elsewhere.
    ranges: Vec<(RuntimeAddr, RuntimeAddr)>,
    handed_over: HashSet<FunctionId>,
}

/// Functions further apart than this are of different images.
const GAP: u64 = 16 << 20;

impl CodeAddresses {
    /// Takes the addresses of all functions.
    pub fn new(functions: impl Iterator<Item = (RuntimeAddr, FunctionId)>) -> Self {
        let functions: HashMap<RuntimeAddr, FunctionId> = functions.collect();
        let mut sorted: Vec<RuntimeAddr> = functions.keys().copied().collect();
        sorted.sort_unstable();
        let mut ranges: Vec<(RuntimeAddr, RuntimeAddr)> = Vec::new();
        for address in sorted {
            match ranges.last_mut() {
                Some((_, last)) if address.0 - last.0 < GAP => *last = address,
                _ => ranges.push((address, address)),
            }
        }
        Self { functions, ranges, handed_over: HashSet::new() }
    }

    /// The function at an address.
    pub fn function(&self, address: RuntimeAddr) -> Option<FunctionId> {
        let next = self.ranges.partition_point(|&(first, _)| first <= address);
        let (_, last) = *self.ranges.get(next.checked_sub(1)?)?;
        if address > last {
            return None;
        }
        self.functions.get(&address).copied()
    }

    /// Notes the arguments of a call.
    pub fn note(&mut self, arguments: &[u64]) {
        for &argument in arguments {
            if let Some(function) = self.function(RuntimeAddr(argument)) {
                self.handed_over.insert(function);
            }
        }
    }

    /// Whether some call was handed the function's address.
    pub(crate) fn is_handed_over(&self, function: FunctionId) -> bool {
        self.handed_over.contains(&function)
    }

    /// Whether any was.
    pub fn has_callbacks(&self) -> bool {
        !self.handed_over.is_empty()
    }
}
