//! What holds of Go's functions beside what holds of all: which of them may not be hooked.
//!
//! A goroutine's stack is small, and what lies below it belongs to others. Functions begin with a check of what remains of it
//! ([`arch::stack_check_bytes`]); behind it there is room for the frame and [`BELOW_CHECK`] bytes more. Functions without a check
//! live on these, and Go's linker adds up the frames of all that call each other so. Here it is done again: a function is hooked
//! only where what it has at most above it leaves the bytes that a stub takes.

use std::collections::HashMap;

use ada_image::{GoFunction, GoTable};

use crate::SkipReason;
use crate::arch;
use crate::code_scan::CodeScan;
use crate::image_code::ImageCode;

/// What Go's linker lets functions without a check have on the stack, in all.
const BELOW_CHECK: u32 = 800;
/// A return address.
const CALL: u32 = 8;

/// Reasons by function start.
#[derive(Default)]
pub(crate) struct GoRules {
    skipped: HashMap<u64, SkipReason>,
}

impl GoRules {
    /// Of an image's functions; nothing for one that is not Go's.
    pub(crate) fn of(code: &ImageCode<'_>) -> Self {
        let Some(Ok(table)) = code.image.go_table() else { return Self::default() };
        let mut rules = Self::default();
        let mut unchecked = HashMap::new();
        for function in table.functions() {
            let start = function.start.0;
            let Some(bytes) = code.bytes(&(start..function.end.0)) else { continue };
            if function.writes_stack_pointer {
                rules.skipped.insert(start, SkipReason::SwitchesStack);
            } else if is_called_inside(code.scan, &function) {
                rules.skipped.insert(start, SkipReason::CalledInside);
            } else if table.is_gos_own(&function) && arch::stack_check_bytes(bytes) == 0 {
                unchecked.insert(start, Unchecked::of(&table, &function, bytes));
            }
        }
        let is_tight = |start: &u64, depth: u32| depth.saturating_add(unchecked[start].need()) > BELOW_CHECK;
        let tight = depths(&unchecked).into_iter().filter(|(start, depth)| is_tight(start, *depth));
        rules.skipped.extend(tight.map(|(start, _)| (start, SkipReason::NoStackRoom)));
        rules
    }

    /// Why the function at an address is not hooked.
    pub(crate) fn skip_reason(&self, start: u64) -> Option<SkipReason> {
        self.skipped.get(&start).copied()
    }
}

/// Whether somebody calls an instruction of the function behind its first: a row of copying instructions, of which callers run as
/// many as they need. They keep words below the stack pointer meanwhile.
fn is_called_inside(scan: &CodeScan, function: &GoFunction<'_>) -> bool {
    scan.is_called(function.start.0 + 1..function.end.0)
}

/// A function that does not check its stack.
struct Unchecked {
    frame: u32,
    /// Functions that it calls, or goes on in.
    callees: Vec<u64>,
    /// It may go on in another function.
    leaves_by_jump: bool,
}

impl Unchecked {
    fn of(table: &GoTable<'_>, function: &GoFunction<'_>, bytes: &[u8]) -> Self {
        let inside = function.start..function.end;
        let mut callees = arch::branch_targets(bytes, function.start.0);
        callees.retain(|target| !inside.contains(&ada_event::ImageOffset(*target)));
        callees.sort_unstable();
        callees.dedup();
        let leaves_by_jump = arch::leaves_by_jump(bytes, function.start.0);
        Self { frame: table.frame_bytes(function), callees, leaves_by_jump }
    }

    /// What its hooks take below its return slot. A jump that may leave has the frame above it.
    fn need(&self) -> u32 {
        arch::stub_bytes(self.leaves_by_jump) + if self.leaves_by_jump { self.frame } else { 0 }
    }
}

/// The most bytes that lie on the stack between the last check and each function's own frame.
fn depths(functions: &HashMap<u64, Unchecked>) -> HashMap<u64, u32> {
    let mut depths: HashMap<u64, u32> = functions.keys().map(|&start| (start, CALL)).collect();
    let mut to_do: Vec<u64> = functions.keys().copied().collect();
    while let Some(start) = to_do.pop() {
        let (function, depth) = (&functions[&start], depths[&start]);
        let of_callee = depth.saturating_add(function.frame).saturating_add(CALL);
        for callee in &function.callees {
            // Beyond what the linker allows there is nothing to be known, nor where functions call each other in a circle.
            if let Some(known) = depths.get_mut(callee).filter(|known| **known < of_callee && **known <= BELOW_CHECK) {
                *known = of_callee;
                to_do.push(*callee);
            }
        }
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(frame: u32, callees: &[u64]) -> Unchecked {
        Unchecked { frame, callees: callees.to_vec(), leaves_by_jump: false }
    }

    #[test]
    fn frames_add_up_along_the_deepest_way() {
        let functions =
            [(1, function(100, &[2, 3])), (2, function(50, &[3])), (3, function(0, &[9])), (4, function(8, &[]))];
        let depths = depths(&functions.into());
        assert_eq!([1, 2, 3, 4].map(|start| depths[&start]), [8, 116, 174, 8]);
    }

    #[test]
    fn circles_end() {
        let functions = [(1, function(16, &[2])), (2, function(0, &[1]))];
        let depths = depths(&functions.into());
        assert!(depths[&1] > BELOW_CHECK && depths[&2] > BELOW_CHECK - 16);
    }
}
