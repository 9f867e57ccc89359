//! Leaves room on the disk: for the end of the session, and for others.

use std::path::{Path, PathBuf};

use crate::error::ControlError;

/// So much is left free if the disk has plenty.
const KEPT_FREE: u64 = 64 << 20;
/// What each open thread may still have to write: buffers, footers and its part of the manifest.
const OF_EACH_THREAD: u64 = 80 << 10;
/// Others write to the disk too: how much may be written before it is looked at again.
const MOST_UNSEEN: u64 = 16 << 20;
const LEAST_UNSEEN: u64 = 64 << 10;

/// Says when no more may be written.
pub(super) struct DiskRoom {
    folder: PathBuf,
    /// What was free at the beginning.
    begun_with: u64,
    /// What may be written before the disk is looked at again.
    unseen: u64,
}

impl DiskRoom {
    pub(super) fn of(folder: &Path) -> Self {
        let begun_with = available(folder).unwrap_or(u64::MAX);
        Self { folder: folder.to_owned(), begun_with, unseen: 0 }
    }

    /// Asked before so many bytes are written, with so many threads open.
    pub(super) fn take(&mut self, bytes: u64, threads: usize) -> Result<(), ControlError> {
        if let Some(rest) = self.unseen.checked_sub(bytes) {
            self.unseen = rest;
            return Ok(());
        }
        // A disk that does not say what it has is written to until that fails.
        let Some(available) = available(&self.folder) else { return Ok(()) };
        let kept = self.kept_free(threads);
        if available < kept.saturating_add(bytes) {
            return Err(ControlError::DiskShort { path: self.folder.clone(), kept_mib: kept.div_ceil(1 << 20) });
        }
        self.unseen = ((available - kept - bytes) / 2).clamp(LEAST_UNSEEN, MOST_UNSEEN);
        Ok(())
    }

    /// A small disk is used to its half at least.
    fn kept_free(&self, threads: usize) -> u64 {
        let for_threads = (256 << 10) + OF_EACH_THREAD.saturating_mul(threads as u64);
        for_threads.max(KEPT_FREE.min(self.begun_with / 8)).min(self.begun_with / 2)
    }
}

fn available(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_kept_for_threads_and_never_more_than_half_of_the_disk() {
        let of = |begun_with| DiskRoom { folder: PathBuf::new(), begun_with, unseen: 0 };
        assert_eq!(of(1 << 40).kept_free(1), KEPT_FREE);
        assert_eq!(of(1 << 40).kept_free(10_000), (256 << 10) + 10_000 * OF_EACH_THREAD);
        assert_eq!(of(16 << 20).kept_free(4), 2 << 20);
        assert_eq!(of(2 << 20).kept_free(100), 1 << 20);
    }

    #[test]
    fn no_more_is_written_than_was_seen_to_be_free() {
        let mut room = DiskRoom::of(Path::new("/"));
        assert!(room.take(1, 1).is_ok());
        let seen = room.unseen;
        assert!((LEAST_UNSEEN..=MOST_UNSEEN).contains(&seen));
        assert!(room.take(seen, 1).is_ok() && room.unseen == 0);
        assert!(matches!(room.take(u64::MAX, 1), Err(ControlError::DiskShort { .. })));
    }
}
