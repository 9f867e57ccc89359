//! Mutexes whose lock word is their owner's id, because the kernel has to know it: robust ones, and those that hand priorities on.
//!
//! Every call about such a mutex shows its address and its words, as they are when the call begins. So it is known who takes it, who
//! lets go of it, and in which order, also where nobody waits.

use ada_event::ThreadId;

use crate::NONE;

/// Bits of a mutex's kind in glibc.
const RECURSIVE: u32 = 1;
const CHECKS_ERRORS: u32 = 2;
const TYPE: u32 = 3;
const ROBUST: u32 = 16;
const INHERITS: u32 = 32;
/// Bits of the lock word that are the owner's id. The others say that somebody waits, and that the owner has died.
const ID: u32 = 0x3fff_ffff;
/// What the owner's field is from when a robust mutex's owner has died until somebody says that all is well again …
const INCONSISTENT: u32 = 0x7fff_ffff;
/// … and for ever, if somebody has let go of it without that.
const UNUSABLE: u32 = 0x7fff_fffe;

/// What such a mutex said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnerWord {
    /// 0 if nobody has it.
    owner: u32,
    /// How often its owner has taken it.
    count: u32,
    /// The field for the owner: set later, and cleared earlier, than the lock is taken and let go of.
    field: u32,
    kind: u32,
}

impl OwnerWord {
    /// By the words from the mutex's beginning on; `None` if it is of another kind.
    pub(super) fn of(words: &[u64]) -> Option<Self> {
        let &[lock, owner, kind, ..] = words else { return None };
        let kind_bits = kind as u32;
        let is_one = lock != NONE && kind != NONE && kind_bits & (ROBUST | INHERITS) != 0;
        let [owner, count, field] = [lock as u32 & ID, (lock >> 32) as u32, owner as u32];
        is_one.then_some(Self { owner, count, field, kind: kind_bits })
    }

    /// Who had it.
    pub(super) fn owner(self) -> Option<ThreadId> {
        (self.owner != 0).then_some(ThreadId(self.owner))
    }

    /// Whether it tells the next one that its owner has died.
    pub(super) const fn is_robust(self) -> bool {
        self.kind & ROBUST != 0
    }

    /// Whether its owner has the priority of those that wait for it.
    pub(super) const fn inherits(self) -> bool {
        self.kind & INHERITS != 0
    }

    /// Whether a thread that asks for it has to wait; one that has it already, for ever.
    pub(super) fn makes_wait(self, thread: ThreadId) -> bool {
        let may_ask_again = matches!(self.kind & TYPE, RECURSIVE | CHECKS_ERRORS);
        self.owner != 0 && !(self.owner == thread.0 && may_ask_again)
    }

    /// Whether a thread's call that is to let go of it does.
    pub(super) fn is_let_go_by(self, thread: ThreadId) -> bool {
        self.owner == thread.0 && (self.kind & TYPE != RECURSIVE || self.count <= 1)
    }

    /// Whether that call leaves it unusable.
    pub(super) fn is_ruined_by(self, thread: ThreadId) -> bool {
        self.is_robust() && self.field == INCONSISTENT && self.is_let_go_by(thread)
    }

    /// Whether a thread that asks for it is refused.
    pub(super) fn refuses(self, thread: ThreadId) -> bool {
        self.owner == thread.0 && self.kind & TYPE == CHECKS_ERRORS || self.is_robust() && self.field == UNUSABLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ThreadId = ThreadId(4711);
    const OTHER: ThreadId = ThreadId(4712);

    fn word(owner: u32, count: u32, field: u32, kind: u32) -> Option<OwnerWord> {
        let lock = u64::from(count) << 32 | u64::from(owner);
        OwnerWord::of(&[lock, u64::from(field), u64::from(kind), 0])
    }

    #[test]
    fn only_kinds_that_the_kernel_looks_at_have_an_owner_there() {
        assert_eq!((word(1, 0, 4711, 0), word(2, 0, 4711, RECURSIVE), OwnerWord::of(&[NONE; 4])), (None, None, None));
        // Somebody waits, or its owner has died.
        let owners = [4711, 0x8000_0000 | 4711, 0x4000_0000, 0].map(|lock| word(lock, 1, 0, ROBUST).unwrap().owner());
        assert_eq!(owners, [Some(ONE), Some(ONE), None, None]);
        assert!(word(4711, 1, 0, INHERITS).unwrap().makes_wait(OTHER));
        assert!(word(4711, 1, 0, ROBUST).unwrap().makes_wait(ONE) && !word(0, 0, 0, ROBUST).unwrap().makes_wait(ONE));
        assert!([RECURSIVE, CHECKS_ERRORS].iter().all(|of| !word(4711, 1, 0, ROBUST | of).unwrap().makes_wait(ONE)));
    }

    #[test]
    fn who_has_it_lets_go_of_it_with_the_last_of_its_calls() {
        assert!(word(4711, 1, 4711, ROBUST).unwrap().is_let_go_by(ONE));
        assert!(!word(4711, 1, 4711, ROBUST).unwrap().is_let_go_by(OTHER));
        let twice = |count| word(4711, count, 4711, ROBUST | RECURSIVE).unwrap().is_let_go_by(ONE);
        assert_eq!((twice(2), twice(1)), (false, true));
    }

    #[test]
    fn a_robust_one_that_was_not_mended_is_of_no_use() {
        assert!(word(4711, 1, INCONSISTENT, ROBUST).unwrap().is_ruined_by(ONE));
        assert!(!word(4711, 1, 4711, ROBUST).unwrap().is_ruined_by(ONE));
        assert!(word(0, 0, UNUSABLE, ROBUST).unwrap().refuses(ONE));
        assert!(word(4711, 1, 4711, INHERITS | CHECKS_ERRORS).unwrap().refuses(ONE));
        assert!(!word(4711, 1, 4711, INHERITS | RECURSIVE).unwrap().refuses(ONE));
    }
}
