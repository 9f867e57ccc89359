//! On whose behalf a thread runs: the task or block that is innermost.

use crate::NONE;
use crate::thread_index::ThreadIndex;

/// A task or a block, by its index in the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Context {
    /// Neither: the thread's own code.
    #[default]
    Thread,
    /// A Swift task: its index in [`crate::table::Meta::tasks`].
    Task(u32),
    /// A dispatched block: its index in [`crate::table::Meta::dispatched`].
    Block(u32),
}

impl Context {
    /// As one word of a table.
    pub(crate) fn to_word(self) -> u64 {
        match self {
            Self::Thread => NONE,
            Self::Task(index) => u64::from(index) << 1,
            Self::Block(index) => u64::from(index) << 1 | 1,
        }
    }

    /// What the word stands for.
    pub fn from_word(word: u64) -> Self {
        let Ok(index) = u32::try_from(word >> 1) else { return Self::Thread };
        if word & 1 == 0 { Self::Task(index) } else { Self::Block(index) }
    }

    /// Whether what it names exists.
    pub(crate) fn exists(word: u64, tasks: usize, blocks: usize) -> bool {
        match Self::from_word(word) {
            Self::Thread => word == NONE,
            Self::Task(index) => (index as usize) < tasks,
            Self::Block(index) => (index as usize) < blocks,
        }
    }
}

/// Whether what a context's word names exists.
pub(crate) type HasContext<'a> = &'a dyn Fn(u64) -> bool;

/// What each thread is in, outermost first.
#[derive(Default)]
pub(crate) struct Contexts(Vec<Vec<Context>>);

impl Contexts {
    fn of(&mut self, thread: ThreadIndex) -> &mut Vec<Context> {
        let thread = thread.as_usize();
        if self.0.len() <= thread {
            self.0.resize_with(thread + 1, Vec::new);
        }
        &mut self.0[thread]
    }

    pub(crate) fn push(&mut self, thread: ThreadIndex, context: Context) {
        self.of(thread).push(context);
    }

    /// The innermost.
    pub(crate) fn now(&mut self, thread: ThreadIndex) -> Context {
        self.of(thread).last().copied().unwrap_or_default()
    }

    /// Nothing is known of what the thread is in any more.
    pub(crate) fn lose(&mut self, thread: ThreadIndex) {
        self.of(thread).clear();
    }

    /// Leaves the context, wherever in the thread's it is.
    pub(crate) fn leave(&mut self, thread: ThreadIndex, context: Context) {
        let all = self.of(thread);
        if let Some(index) = all.iter().rposition(|it| *it == context) {
            all.remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_as_they_were() {
        for context in [Context::Thread, Context::Task(0), Context::Block(0), Context::Task(u32::MAX)] {
            assert_eq!(Context::from_word(context.to_word()), context);
        }
        assert!(
            Context::exists(Context::Task(1).to_word(), 2, 0) && !Context::exists(Context::Task(2).to_word(), 2, 9)
        );
        assert!(!Context::exists(1 << 40, 9, 9));
    }
}
