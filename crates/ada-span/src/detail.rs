//! What the correlators read of an event beyond its 32 bytes.

use ada_event::{DetailSeq, FunctionId};

/// Registers and memory words of one event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventDetail {
    /// Of a call: the six integer arguments in the order of the ABI. Of a return: the return value, and its second half.
    pub registers: [u64; 6],
    /// What a runtime probe read from memory, in its order.
    pub words: Vec<u64>,
}

/// Gives the detail of a thread's events. Asked in the order of the thread's events.
pub trait DetailSource {
    /// The detail at a position, if it can be read.
    fn detail(&mut self, seq: DetailSeq) -> Option<EventDetail>;

    /// How many events have detail.
    fn count(&self) -> u64;

    /// The function, and the integer arguments or the words read from memory, of every call that has detail.
    fn all_arguments(&self, each: &mut dyn FnMut(FunctionId, &[u64]));

    /// Every call (false) and return (true) of which a runtime probe read memory, with its function.
    fn probed(&self, _each: &mut dyn FnMut(FunctionId, bool, &EventDetail)) {}
}
