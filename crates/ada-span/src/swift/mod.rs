//! Swift's tasks: what its runtime's calls say of them.
//!
//! `docs/swift.md` lists the runtime's functions that each of this is taken from.

mod executors;
mod tasks;
mod type_name;

pub(crate) use tasks::{TaskSurroundings, Tasks};

use crate::task::TaskKind;

impl TaskKind {
    /// By the flags of `swift_task_create`, and those of the new task.
    pub(crate) fn of(create_flags: u64, task_flags: u32) -> Self {
        const IS_GROUP_CHILD: u32 = 1 << 26;
        const IS_ASYNC_LET: u32 = 1 << 28;
        const INHERITS: u64 = 1 << 11;
        const IS_ENQUEUED: u64 = 1 << 12;
        if task_flags & IS_ASYNC_LET != 0 {
            return Self::AsyncLet;
        }
        if task_flags & IS_GROUP_CHILD != 0 {
            return Self::Group;
        }
        match (create_flags & IS_ENQUEUED != 0, create_flags & INHERITS != 0) {
            (true, true) => Self::Unstructured,
            (true, false) => Self::Detached,
            (false, true) => Self::Main,
            (false, false) => Self::Helper,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_from_the_flags_of_creation() {
        for (create, task, kind) in [
            (0x800, 0, TaskKind::Main),
            (0x1c15, 0, TaskKind::Unstructured),
            (0x1000, 0, TaskKind::Detached),
            (0x1000, 1 << 28 | 1 << 24, TaskKind::AsyncLet),
            (0x3100, 1 << 26 | 1 << 24, TaskKind::Group),
            (0x7100, 1 << 26 | 1 << 24, TaskKind::Group),
            (0, 0, TaskKind::Helper),
        ] {
            assert_eq!(TaskKind::of(create, task), kind, "{create:#x} {task:#x}");
        }
    }
}
