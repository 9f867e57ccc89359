//! What can be done with a function, and why not more.

use std::fmt;

/// How a function is hooked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// Calls and returns are recorded.
    Hooked,
    /// Calls are recorded.
    EntryOnly(EntryOnlyReason),
    /// The function runs untouched.
    Skipped(SkipReason),
}

/// Why a function's return is not caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EntryOnlyReason {
    /// It goes on with another stack, or further up its own: longjmp, setcontext.
    ChangesStack,
    /// It is jumped to with words pushed above its return address: the loader's `_dl_runtime_resolve`.
    PushedArguments,
    /// It can be left in a way that cannot be caught.
    UnseenExits,
}

/// Why a function is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SkipReason {
    /// The kernel returns to it after a signal handler, and unwinders know its bytes: glibc's `__restore_rt`, by which
    /// libgcc recognises a signal's frame.
    SignalTrampoline,
    /// The unwind tables say that it does not start as a called function does.
    OddFirstRow,
    /// It is the cold part of another function, jumped into in the middle of a frame.
    ColdPart,
    /// It jumps back to its own first instruction, where its red zone is in use.
    OwnEntryLoop,
    /// A branch leads into the bytes that a patch would overwrite, and no relay is near: glibc's mempcpy jumps behind
    /// the first instruction of memcpy.
    BranchIntoPatch,
    /// It is too short, and what follows belongs to another function.
    TooShort,
    /// Its first bytes are not instructions.
    Undecodable,
    /// Its first instructions cannot be moved.
    Unmovable,
    /// The loader announces new libraries to debuggers through it; ada listens there.
    LoaderNotification,
    /// The user excluded it.
    Excluded,
    /// No free memory lies within the reach of a jump.
    NoRoom,
    /// The text in memory is not the text of the file.
    TextDiffers,
    /// A thread was in its first instructions when ada attached.
    InUse,
    /// The program uses the GS base itself, at which stubs find a thread's state. One function that does is enough.
    GsInUse,
    /// The program reads its bytes: it copies the function, or sums it up.
    ReadAsData,
    /// It is a jump through a pointer with data behind it: the stub of an import, which a runtime reads and changes, as Mono
    /// does with those of code that it has compiled before.
    ImportStub,
    /// Its author has fenced it off with traps: it is meant to be run by other means than the processor. Valgrind has
    /// functions for the programs that it runs among its own.
    Fenced,
    /// Go's table of functions says that it writes the stack pointer: it goes on with another stack.
    SwitchesStack,
    /// Others call its middle: Go's `duffzero`, whose callers keep words below the stack pointer.
    CalledInside,
    /// It does not check how much remains of a goroutine's stack, and may find less than a stub takes.
    NoStackRoom,
    /// Part of it is a restartable sequence (`rseq`), which the kernel knows by its address.
    Restartable,
    /// Its hooks have changed what a program does: `ada bisect --keep` has found that out.
    Quarantined,
}

impl Verdict {
    /// The verdict as bytes, for storing within one version of ada.
    pub fn store(self) -> [u8; 2] {
        match self {
            Self::Hooked => [0, 0],
            Self::EntryOnly(reason) => [1, reason as u8],
            Self::Skipped(reason) => [2, reason as u8],
        }
    }

    /// The verdict that was stored, or nothing where the bytes are not a verdict's.
    pub fn restore(stored: [u8; 2]) -> Option<Self> {
        let [kind, reason] = stored;
        match kind {
            0 => (reason == 0).then_some(Self::Hooked),
            1 => EntryOnlyReason::ALL.get(usize::from(reason)).copied().map(Self::EntryOnly),
            2 => SkipReason::ALL.get(usize::from(reason)).copied().map(Self::Skipped),
            _ => None,
        }
    }
}

impl EntryOnlyReason {
    /// All reasons, in the order of their declaration.
    const ALL: [Self; 3] = [Self::ChangesStack, Self::PushedArguments, Self::UnseenExits];

    /// The reason's name in sessions.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ChangesStack => "changes_stack",
            Self::PushedArguments => "pushed_arguments",
            Self::UnseenExits => "unseen_exits",
        }
    }
}

impl SkipReason {
    /// All reasons, in the order of their declaration.
    const ALL: [Self; 22] = [
        Self::SignalTrampoline,
        Self::OddFirstRow,
        Self::ColdPart,
        Self::OwnEntryLoop,
        Self::BranchIntoPatch,
        Self::TooShort,
        Self::Undecodable,
        Self::Unmovable,
        Self::LoaderNotification,
        Self::Excluded,
        Self::NoRoom,
        Self::TextDiffers,
        Self::InUse,
        Self::GsInUse,
        Self::ReadAsData,
        Self::ImportStub,
        Self::Fenced,
        Self::SwitchesStack,
        Self::CalledInside,
        Self::NoStackRoom,
        Self::Restartable,
        Self::Quarantined,
    ];

    /// The reason's name in sessions.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SignalTrampoline => "signal_trampoline",
            Self::OddFirstRow => "odd_first_row",
            Self::ColdPart => "cold_part",
            Self::OwnEntryLoop => "own_entry_loop",
            Self::BranchIntoPatch => "branch_into_patch",
            Self::TooShort => "too_short",
            Self::Undecodable => "undecodable",
            Self::Unmovable => "unmovable",
            Self::LoaderNotification => "loader_notification",
            Self::Excluded => "excluded",
            Self::NoRoom => "no_room",
            Self::TextDiffers => "text_differs",
            Self::InUse => "in_use",
            Self::GsInUse => "gs_in_use",
            Self::ReadAsData => "read_as_data",
            Self::ImportStub => "import_stub",
            Self::Fenced => "fenced",
            Self::SwitchesStack => "switches_stack",
            Self::CalledInside => "called_inside",
            Self::NoStackRoom => "no_stack_room",
            Self::Restartable => "restartable",
            Self::Quarantined => "quarantined",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hooked => f.write_str("hooked"),
            Self::EntryOnly(reason) => write!(f, "entry-only ({})", reason.name()),
            Self::Skipped(reason) => write!(f, "skipped ({})", reason.name()),
        }
    }
}

// A reason that is declared among the others breaks this; who declares one behind the last extends the list, and this.
const _: () = {
    assert!(EntryOnlyReason::ALL.len() == EntryOnlyReason::UnseenExits as usize + 1);
    assert!(SkipReason::ALL.len() == SkipReason::Quarantined as usize + 1);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_comes_back_as_it_was() {
        let entry_only = EntryOnlyReason::ALL.map(Verdict::EntryOnly);
        let skipped = SkipReason::ALL.map(Verdict::Skipped);
        for verdict in entry_only.into_iter().chain(skipped).chain([Verdict::Hooked]) {
            assert_eq!(Verdict::restore(verdict.store()), Some(verdict));
        }
        for stored in [[0, 1], [1, EntryOnlyReason::ALL.len() as u8], [2, SkipReason::ALL.len() as u8], [3, 0]] {
            assert_eq!(Verdict::restore(stored), None);
        }
    }
}
