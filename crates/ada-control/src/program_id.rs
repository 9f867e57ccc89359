//! Which program of a session something belongs to.

/// The number of a program in its session. A process that runs another program has the next one's from then on, and forks
/// have that of their parents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ProgramId(pub(crate) u32);
