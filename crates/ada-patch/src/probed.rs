//! The runtime probe that a function is the subject of.

/// A probe's number, and when it is of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probed {
    /// The number in the recorder's table.
    pub number: u32,
    /// Without one it always is.
    pub guard: Option<Guard>,
    /// What the agent is called for. Where there is a guard, the call only.
    pub part: AgentPart,
}

/// At which ends of a probed call the agent is needed: stubs keep registers, and the agent reads memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentPart {
    /// At both.
    BothEnds,
    /// At the call, and the return is as any other.
    CallOnly,
    /// At the call; the registers of the return are kept.
    Call,
    /// At neither; the registers of both are kept.
    Nothing,
    /// The same, but only of so many calls in a while: the function may be called all the time.
    Seldom,
}

/// The probe is of interest only if one of two half words behind the first argument has one of these bits set. The function is
/// about to read them too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Where the half words are.
    pub offsets: [u32; 2],
    /// The bits.
    pub bits: u32,
}

impl Probed {
    /// What fills the holes of a stub.
    pub(crate) fn words(self) -> [u32; 4] {
        let Guard { offsets: [first, second], bits } = self.guard.unwrap_or(Guard { offsets: [0, 0], bits: 0 });
        [self.number, first, second, bits]
    }
}
