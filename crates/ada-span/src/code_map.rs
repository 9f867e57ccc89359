//! Which function an address is in.

use ada_event::{FunctionId, RuntimeAddr};

use crate::function_traits::FunctionTraits;
use crate::role::GoPart;

/// The functions of a process by their addresses.
#[derive(Debug, Default)]
pub(crate) struct CodeMap(Vec<(RuntimeAddr, FunctionId, GoPart)>);

impl CodeMap {
    pub(crate) fn new(traits: &FunctionTraits) -> Self {
        let known = |(address, function): (RuntimeAddr, FunctionId)| (address, function, traits.get(function).go_part);
        let mut functions: Vec<_> = traits.addresses().map(known).collect();
        functions.sort_unstable_by_key(|it| (it.0, it.1));
        Self(functions)
    }

    fn find(&self, address: RuntimeAddr) -> Option<(FunctionId, GoPart)> {
        let &(_, function, part) = self.0.get(self.0.partition_point(|it| it.0 <= address).checked_sub(1)?)?;
        Some((function, part))
    }

    /// The function that begins at an address.
    pub(crate) fn beginning_at(&self, address: RuntimeAddr) -> Option<FunctionId> {
        let index = self.0.binary_search_by_key(&address, |it| it.0).ok()?;
        Some(self.0[index].1)
    }

    /// The function that a return address is in: the call is before it, and may be the function's last instruction.
    pub(crate) fn around(&self, back: RuntimeAddr) -> Option<FunctionId> {
        self.find(RuntimeAddr(back.0.checked_sub(1)?)).map(|(function, _)| function)
    }

    /// The first of some return addresses that is in the program's own code.
    pub(crate) fn first_of_program(&self, callers: &[u64]) -> Option<u64> {
        let is_own = |back: &u64| {
            back.checked_sub(1).and_then(|at| self.find(RuntimeAddr(at))).is_some_and(|it| it.1 == GoPart::Program)
        };
        callers.iter().copied().take_while(|back| *back != 0 && *back != crate::NONE).find(is_own)
    }
}
