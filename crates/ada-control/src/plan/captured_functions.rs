//! Of which functions of an image values are captured.

use std::collections::BTreeMap;

use ada_patch::{AgentPart, ErrnoPlace, Probed};
use ada_value::Signature;

/// What is captured of an image's functions.
#[derive(Default)]
pub(crate) struct CapturedFunctions {
    pub(super) by_index: BTreeMap<usize, CapturedFunction>,
    /// Functions without names that wait for others, or wake them.
    pub(super) futexes: BTreeMap<usize, FutexFunction>,
    /// Functions by which Swift's tasks end, with their probes.
    pub(super) completions: BTreeMap<usize, u32>,
    /// Where the image keeps `errno`, if it is the C library.
    pub(crate) errno: Option<ErrnoPlace>,
    /// How far what a thread ends with is from its thread pointer, if the image is the C library.
    pub(crate) thread_result: Option<u64>,
}

pub(super) struct CapturedFunction {
    pub(super) probe: u32,
    pub(super) signature: Signature,
    /// Whether somebody has asked for it.
    pub(super) is_asked_for: bool,
    /// Whether it is captured only once somebody asks for it while the program runs.
    pub(super) is_later: bool,
}

impl CapturedFunction {
    /// The agent is called at those ends at which there is something to read.
    fn probed(&self) -> Probed {
        const ENDS: [bool; 2] = [false, true];
        let reads = |end| self.signature.reads(end);
        // Of what nobody has asked for the agent sees to it that it is seldom.
        let of_stubs = AgentPart::of_reads(reads).filter(|_| self.is_asked_for);
        let part = match (ENDS.map(|end| reads(end).next().is_some()), of_stubs) {
            ([false, false], _) if !self.is_asked_for => AgentPart::Seldom,
            ([false, _], Some(AgentPart::Reads { in_memory: 0, .. })) => AgentPart::Nothing,
            (_, Some(reads)) => reads,
            ([_, true], None) => AgentPart::BothEnds,
            ([_, false], None) => AgentPart::Call,
        };
        Probed { number: self.probe, guard: None, part }
    }
}

/// A function that is known by what its code does to a futex.
pub(super) struct FutexFunction {
    pub(super) probe: u32,
    /// What it is called.
    pub(super) name: &'static str,
}

impl CapturedFunctions {
    /// The probe of a function whose values are captured.
    pub(crate) fn probed(&self, index: usize) -> Option<Probed> {
        self.by_index.get(&index).map(CapturedFunction::probed)
    }

    /// The number of the probe of a function that is known by what its code does.
    pub(crate) fn probe_by_code(&self, index: usize) -> Option<u32> {
        let futex = self.futexes.get(&index).map(|function| function.probe);
        futex.or_else(|| self.completions.get(&index).copied())
    }

    /// Whether a function is one by which Swift's tasks end.
    pub(crate) fn ends_tasks(&self, index: usize) -> bool {
        self.completions.contains_key(&index)
    }

    /// What a function without a name is called for what its code does.
    pub(crate) fn given_name(&self, index: usize) -> Option<&'static str> {
        self.futexes.get(&index).map(|function| function.name)
    }

    /// What is captured of a function.
    pub(crate) fn signature(&self, index: usize) -> Option<&Signature> {
        self.by_index.get(&index).map(|function| &function.signature)
    }

    /// The functions of which something is captured, by their indexes.
    pub(crate) fn signatures(&self) -> impl Iterator<Item = (usize, &Signature)> {
        self.by_index.iter().map(|(index, function)| (*index, &function.signature))
    }

    /// The functions whose values are captured once somebody asks for them.
    pub(crate) fn later(&self) -> impl Iterator<Item = usize> + '_ {
        self.by_index.iter().filter(|(_, function)| function.is_later).map(|(index, _)| *index)
    }

    /// What is captured of a function, as a session keeps it; nothing where it is not.
    pub(crate) fn stored(&self, index: usize) -> String {
        self.by_index.get(&index).map(|function| function.signature.stored()).unwrap_or_default()
    }
}
