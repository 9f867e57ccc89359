//! The newest blocks that random access has read, of all threads of a session together.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Blocks that are kept: half a megabyte each.
const KEPT: usize = 32;

/// Keeps blocks that were read, newest first.
#[derive(Debug)]
pub(super) struct BlockCache<T> {
    blocks: Mutex<VecDeque<(u64, usize, Arc<T>)>>,
    files: AtomicU64,
}

impl<T> Default for BlockCache<T> {
    fn default() -> Self {
        Self { blocks: Mutex::default(), files: AtomicU64::new(0) }
    }
}

impl<T> BlockCache<T> {
    /// A number for a file, by which its blocks are found.
    pub(super) fn add_file(&self) -> u64 {
        self.files.fetch_add(1, Ordering::Relaxed)
    }

    /// A block of a file, read now if it is not in the cache.
    pub(super) fn get<E>(&self, file: u64, block: usize, read: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        if let Some(found) = self.take(file, block) {
            self.keep(file, block, found.clone());
            return Ok(found);
        }
        // Not under the lock: others may want other blocks meanwhile.
        let found = Arc::new(read()?);
        self.keep(file, block, found.clone());
        Ok(found)
    }

    fn take(&self, file: u64, block: usize) -> Option<Arc<T>> {
        let mut blocks = self.blocks.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let index = blocks.iter().position(|it| (it.0, it.1) == (file, block))?;
        blocks.remove(index).map(|(_, _, found)| found)
    }

    fn keep(&self, file: u64, block: usize, found: Arc<T>) {
        let mut blocks = self.blocks.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        blocks.push_front((file, block, found));
        blocks.truncate(KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_once_while_they_are_wanted() {
        let cache = BlockCache::default();
        let (one, two) = (cache.add_file(), cache.add_file());
        let mut reads = 0;
        let mut get = |file, block| {
            let read = || {
                reads += 1;
                Ok::<_, ()>(block)
            };
            *cache.get(file, block, read).unwrap()
        };
        assert_eq!([get(one, 7), get(one, 7), get(two, 7), get(one, 7)], [7; 4]);
        for block in 100..100 + KEPT {
            get(two, block);
        }
        get(one, 7);
        assert_eq!(reads, 3 + KEPT);
    }

    #[test]
    fn what_cannot_be_read_is_not_kept() {
        let cache = BlockCache::<u8>::default();
        assert_eq!(cache.get(0, 0, || Err("no")), Err("no"));
        assert_eq!(cache.get(0, 0, || Ok::<_, ()>(1)), Ok(Arc::new(1)));
    }
}
