//! Deletes folders on a thread of its own: a folder of many small files takes a disk longer than the drain may wait.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use crate::error::ControlError;

/// The folders of so many processes may take a while.
const MANY: usize = 8;

/// What has to be deleted, in the order in which it came.
pub(super) struct Sweeper {
    /// None once there is nothing more to come.
    to_delete: Option<Sender<PathBuf>>,
    /// None where there is no thread to be had; then whoever asks deletes.
    thread: Option<JoinHandle<Result<(), ControlError>>>,
}

impl Sweeper {
    pub(super) fn new() -> Self {
        let (to_delete, paths) = channel::<PathBuf>();
        let sweep = move || {
            let mut result = Ok(());
            paths.into_iter().for_each(|path| result = std::mem::replace(&mut result, Ok(())).and(delete(path)));
            result
        };
        let thread = std::thread::Builder::new().name("ada-sweeper".into()).spawn(sweep).ok();
        Self { to_delete: thread.is_some().then_some(to_delete), thread }
    }

    /// Deletes a segment that has so many processes: at once where that takes no time, so that the next one has its room.
    pub(super) fn delete_segment(&self, path: PathBuf, processes: usize) -> Result<(), ControlError> {
        if processes > MANY { self.delete(path) } else { delete(path) }
    }

    /// Deletes a folder, soon.
    pub(super) fn delete(&self, path: PathBuf) -> Result<(), ControlError> {
        match &self.to_delete {
            // Nobody hears of it only where the thread has panicked, which `finish` tells.
            Some(to_delete) => to_delete.send(path).map_err(|_| stopped()),
            None => delete(path),
        }
    }

    /// Waits until all is gone; the first error that there was.
    pub(super) fn finish(mut self) -> Result<(), ControlError> {
        drop(self.to_delete.take());
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap_or_else(|_| Err(stopped())))
    }
}

fn delete(path: PathBuf) -> Result<(), ControlError> {
    // What the kernel has told of a process that has ended may be written to its folder a moment later.
    const ATTEMPTS: usize = 5;
    let mut attempts = (0..ATTEMPTS).map(|_| fs::remove_dir_all(&path));
    let is_final =
        |result: &io::Result<()>| !result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::DirectoryNotEmpty);
    let deleted = attempts.find(is_final).unwrap_or_else(|| fs::remove_dir_all(&path));
    deleted.map_err(|error| ControlError::Session(format!("{}: {error}", path.display())))
}

fn stopped() -> ControlError {
    ControlError::Session("what a ring has let go could not be deleted".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_deleted_is_told_and_keeps_nothing_else_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let [first, missing, last] = ["first", "missing", "last"].map(|name| folder.path().join(name));
        for path in [&first, &last] {
            fs::create_dir(path).unwrap();
            fs::write(path.join("file"), "words").unwrap();
        }
        let sweeper = Sweeper::new();
        for path in [&first, &missing, &last] {
            sweeper.delete(path.clone()).unwrap();
        }
        let error = sweeper.finish().unwrap_err().to_string();
        assert!(error.contains("missing"), "{error}");
        assert!(!first.exists() && !last.exists());
        Sweeper::new().finish().unwrap();
    }
}
