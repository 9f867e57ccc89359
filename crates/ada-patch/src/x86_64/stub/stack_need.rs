//! How much of the program's stack a stub takes, with the way into the agent and a wait there. Handlers come on top of it.

use ada_ring::arch::{SIGNAL_MASKS, SavedRegisters, StubFrame, WAIT_BYTES};

use super::super::exits::RED_ZONE;

const WORD: u32 = 8;
/// What a stub saves.
const SAVED: u32 = size_of::<StubFrame>() as u32;
/// A call that is recorded without its return: the way back, and the function's number.
const UNCAUGHT: u32 = 2 * WORD;
/// Registers are captured: the way back, and r8.
const DETAIL: u32 = 2 * WORD;
/// The way into the agent: all other registers with the way back, rcx, and the signal masks.
const AGENT: u32 = size_of::<SavedRegisters>() as u32 - SAVED + WORD + SIGNAL_MASKS as u32;
/// What a probe reads is captured: the way back, the probe's number, registers, where the reads end, and one more. More than the
/// other ways take, and not counted below: the values of Go's functions, for which alone every byte counts, are not captured. Nor are
/// there words that the stub reads, which take less.
#[cfg(test)]
const READS: u32 = 12 * WORD;
/// What an exit by a jump leaves alone, and the way back.
const BELOW: u32 = RED_ZONE as u32 + WORD;

/// The most bytes that the stubs of a function take, below its return slot or below a jump by which it leaves.
pub(crate) const fn stub_bytes(leaves_by_jump: bool) -> u32 {
    let way = if leaves_by_jump { BELOW } else { UNCAUGHT + DETAIL };
    way + SAVED + AGENT + WAIT_BYTES as u32
}

#[cfg(test)]
mod tests {
    use ada_event::RuntimeAddr;
    use ada_ring::DetailShape;
    use ada_ring::origins::StubDepth;

    use super::super::{External, SharedCode, StackUse, StubTemplate};
    use super::*;
    use crate::{StubKind, StubOptions};

    /// The most that a part has on the stack, beside the way back.
    fn most(stack_use: &StackUse) -> u32 {
        let bytes = |depth: u32| depth & !(StubDepth::FROM_FRAME_POINTER | StubDepth::FLAGS_IN_RAX);
        let known = stack_use.depths.iter().filter(|(_, depth)| *depth != StubDepth::UNKNOWN);
        known.map(|(_, depth)| bytes(*depth)).max().unwrap_or(0)
    }

    #[test]
    fn the_code_takes_no_more_than_is_said() {
        let options = StubOptions { detail: Some(DetailShape::default()), ..StubOptions::default() };
        let code = SharedCode::new(RuntimeAddr(0x10000), RuntimeAddr(0x8000), &options).unwrap();
        let part = |external: External| {
            most(&code.parts.iter().find(|part| part.at == code.address(external)).unwrap().stack_use)
        };
        let most_of = |kind| {
            let stub = StubTemplate::new(kind, false, &options).unwrap();
            stub.stack_use.iter().map(most).max().unwrap()
        };
        assert_eq!(most_of(StubKind::ProbedFull), SAVED);
        // The function's number comes before the way back of what records the call.
        assert_eq!(most_of(StubKind::Full), SAVED + WORD);
        assert!(WORD + WORD + part(External::RecordCall) <= UNCAUGHT + DETAIL);
        assert_eq!(part(External::BeforeTail), SAVED);
        // r8 or a probe's number.
        assert_eq!(part(External::Returns), SAVED + WORD);
        assert!(WORD + part(External::Returns) <= UNCAUGHT + DETAIL + SAVED);
        assert_eq!(part(External::RecordEntryOnly) + WORD, UNCAUGHT);
        assert_eq!(part(External::DetailUncaught) + WORD, DETAIL);
        assert_eq!(part(External::Fix) + WORD, AGENT);
        assert_eq!(part(External::ReadsCall) + WORD, READS);
        assert_eq!(part(External::ReadsReturn) + WORD, READS);
        assert!(part(External::WordsCall) + WORD < READS);
        assert!(part(External::Chunk) + WORD <= AGENT);
    }
}
