//! Functions whose part their name does not show: probes have read their addresses.

use std::collections::{HashMap, HashSet};

use ada_event::{FunctionId, RuntimeAddr};

use crate::detail::EventDetail;
use crate::function_traits::FunctionTraits;
use crate::role::{GcdCall, Role, SwiftCall};
use crate::source::{ProcessSource, ThreadInfo};
use crate::thread_index::ThreadIndex;

/// The traits with what is found: functions of blocks, functions that were submitted, and the runtime's functions that
/// complete tasks. None if there is nothing of the kind.
pub(crate) fn with_found_functions(
    source: &dyn ProcessSource,
    threads: &[ThreadInfo],
    traits: &FunctionTraits,
) -> Option<FunctionTraits> {
    if !traits.has_concurrency() {
        return None;
    }
    let mut found: HashSet<(RuntimeAddr, Role)> = HashSet::new();
    for details in ThreadIndex::all(threads.len()).filter_map(|thread| source.details(thread)) {
        details.probed(&mut |function, is_return, detail| {
            found.extend(address_in(traits.get(function).role, is_return, detail));
        });
    }
    let by_address: HashMap<RuntimeAddr, FunctionId> = traits.addresses().collect();
    let mut changed = traits.clone();
    for (address, role) in found {
        if let Some(&function) = by_address.get(&address)
            && traits.get(function).role == Role::Plain
        {
            changed.set_role(function, role);
        }
    }
    Some(changed)
}

fn address_in(role: Role, is_return: bool, detail: &EventDetail) -> Option<(RuntimeAddr, Role)> {
    /// Behind the queue's label.
    const BLOCK_FUNCTION: usize = 6;
    /// Behind the task's head.
    const COMPLETION: usize = 9;
    match (role, is_return) {
        (Role::Swift(SwiftCall::Create | SwiftCall::CreateInside), true) => {
            Some((RuntimeAddr(*detail.words.get(COMPLETION)?), Role::Swift(SwiftCall::Complete)))
        }
        (Role::Gcd(GcdCall::Submit(submit)), false) => {
            let address = match (submit.is_function, submit.has_first) {
                (false, _) => *detail.words.get(BLOCK_FUNCTION)?,
                (true, false) => detail.registers[2],
                (true, true) => detail.registers[3],
            };
            Some((RuntimeAddr(address), Role::Gcd(GcdCall::Invoke)))
        }
        // What a wrapper will call is only known from its copy.
        (Role::Gcd(GcdCall::BlockCopy), false) => {
            Some((RuntimeAddr(*detail.words.first()?), Role::Gcd(GcdCall::Invoke)))
        }
        _ => None,
    }
}
