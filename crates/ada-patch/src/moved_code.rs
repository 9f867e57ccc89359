//! Instructions that run elsewhere than where they were.

use ada_event::RuntimeAddr;

/// A run of them, each as far from the first as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MovedCode {
    /// Where the first one is now.
    pub(crate) at: RuntimeAddr,
    /// Where it was.
    pub(crate) from: RuntimeAddr,
    /// Bytes of all.
    pub(crate) length: u32,
    pub(crate) way: MovedWay,
}

/// How a run of moved code does what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MovedWay {
    /// By the same instructions.
    AsItWas,
    /// It stands for an instruction, but runs below the red zone.
    BelowRedZone,
    /// It stands for a call, and pushes its return address step by step.
    PushesAddress,
}

impl MovedCode {
    /// Adds an instruction to runs that end before it.
    pub(crate) fn push(runs: &mut Vec<Self>, at: RuntimeAddr, from: RuntimeAddr, length: usize) {
        let length = length as u32;
        match runs.last_mut() {
            Some(last)
                if last.way == MovedWay::AsItWas
                    && last.at.0 + u64::from(last.length) == at.0
                    && last.from.0 + u64::from(last.length) == from.0 =>
            {
                last.length += length;
            }
            _ => runs.push(Self { at, from, length, way: MovedWay::AsItWas }),
        }
    }
}
