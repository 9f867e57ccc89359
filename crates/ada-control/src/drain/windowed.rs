//! Windows of detail, and the segments of a ring, in which they cannot go on.

use std::collections::HashMap;

use ada_event::ThreadId;
use ada_process::procfs::is_zombie;

use crate::drain::Drain;
use crate::drain::detail_lane::ThreadChunks;
use crate::drain::session::SessionFiles;
use crate::drain::windows::{BatchEvents, Fired, Watch};
use crate::error::ControlError;
use crate::plan::module::Module;

impl Drain {
    /// Writes detail in windows only.
    pub(crate) fn watch_for(&mut self, watch: Watch) {
        self.watch = Some(watch);
    }

    /// Takes up what has changed in the triggers and in the program.
    pub(crate) fn refresh_watch(&mut self, modules: &[Module]) {
        let functions = self.function_count();
        if let Some(watch) = &mut self.watch {
            watch.refresh(modules, functions);
        }
    }

    /// Whether anything has: asked each round, without a lock that whoever hooks holds for long.
    pub(crate) fn has_stale_watch(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.is_stale(self.function_count()))
    }

    fn function_count(&self) -> u32 {
        self.numbers.read().expect("nobody panics with the lock").end()
    }

    /// Begins a new segment of a ring.
    pub(crate) fn turn_segment(&mut self, files: &mut SessionFiles) {
        for (&(pid, tid), progress) in &mut self.threads {
            progress.details.forget_remembered();
            let (Some(id), Some(end)) = (files.thread_id(pid, tid), files.next_seq(pid, tid)) else { continue };
            progress.window.begin_file(end, id).for_each(|window| self.windows.push(pid, window));
        }
        match files.turn_segment() {
            Ok(Some(gone_before)) => {
                self.windows.forget_before(gone_before);
                self.gaps.forget_before(gone_before);
            }
            Ok(None) => {}
            Err(error) => self.failure = Some(error),
        }
    }

    /// Writes the newest detail of all threads of a process that a signal is killing, or has killed.
    pub(crate) fn fatal_signal(&mut self, pid: u32, signal: i32, files: &mut SessionFiles) {
        let Some(name) = self.watch.as_ref().and_then(|watch| watch.fatal(signal)) else { return };
        if self.failure.is_none()
            && let Err(error) = self.open_windows(pid, &name, files)
        {
            self.failure = Some(error);
        }
    }

    fn open_windows(&mut self, pid: u32, name: &str, files: &mut SessionFiles) -> Result<(), ControlError> {
        let Some(watch) = &self.watch else { return Ok(()) };
        for (&(_, tid), progress) in self.threads.iter_mut().filter(|((process, _), _)| *process == pid) {
            let thread = files.thread(pid, tid)?;
            let end = thread.next_seq().0;
            let Some(last) = end.checked_sub(1) else { continue };
            let events = BatchEvents { remembered: progress.details.remembered(), base: end, times: &[] };
            let fired = Fired { name: name.to_owned(), event: last, time: progress.last };
            progress.window.advance(vec![fired], &events, watch.pre_roll(), watch.post_roll());
            let others = ThreadChunks { pool: &self.pool, pid, tid, known: None };
            for wait in progress.details.collect_kept(&others, self.shape.stride(), u64::MAX) {
                self.waited_ns += self.gaps.waited(pid, thread.thread(), &self.clock, wait);
            }
            progress.write_remembered(thread, end, &self.known, &self.shape, &mut self.details)?;
        }
        Ok(())
    }

    /// All threads have come to their end.
    pub(crate) fn finish_windows(&mut self, files: &SessionFiles) {
        for (&(pid, tid), progress) in &mut self.threads {
            let id = files.thread_id(pid, tid).unwrap_or(ThreadId(tid));
            progress.window.finished(id, true).for_each(|window| self.windows.push(pid, window));
        }
    }

    /// Threads of a process that has ended are not over while how it did is about to be known: their detail may be wanted
    /// yet. Asked after whether they have ended.
    pub(super) fn keep_awaited<T>(&self, ended: &mut HashMap<(u32, u32), T>) {
        let Some(root) = self.watch.as_ref().map(|watch| watch.root) else { return };
        if ended.keys().any(|(pid, _)| *pid == root) && is_zombie(root) {
            ended.retain(|(pid, _), _| *pid != root);
        }
    }
}
