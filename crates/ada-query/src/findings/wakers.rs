//! Who ended waits.

use ada_event::EventSeq;
use ada_span::ThreadIndex;
use ada_span::wait::{Doubt, WaitSpan};

use super::About;

/// A thread of one of the trace's processes, which are known by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Waker {
    process: usize,
    thread: ThreadIndex,
}

impl Waker {
    /// As people know it: another process by what it runs, a thread by its number.
    pub(super) fn words(self, about: &About<'_>) -> String {
        let Some(process) = about.trace.processes().get(self.process) else { return "another process".to_owned() };
        if self.process == about.number {
            return format!("thread {}", process.thread_id(self.thread));
        }
        let command = about.trace.manifest(process).and_then(|it| it.command_line.first());
        let program = command.map_or("process", |path| path.rsplit('/').next().unwrap_or(path));
        format!("{program} (pid {})", process.pid)
    }
}

/// Who ended the waits of a process, by the calls that waited. Only those of which it is certain who did.
pub(super) struct Wakers(Vec<((ThreadIndex, EventSeq), Waker)>);

impl Wakers {
    pub(super) fn of(about: &About<'_>) -> Self {
        let waits = about.process.tables.meta().waits.iter();
        let is_certain = |wait: &&WaitSpan| {
            let doubts = wait.doubts();
            wait.has_ended == 1 && !doubts.has(Doubt::SeveralWakers) && !doubts.has(Doubt::OutsideWaker)
        };
        let mut wakers: Vec<_> = waits
            .filter(|it| it.suspension.is_none())
            .filter(is_certain)
            .filter_map(|it| {
                let near = it.waker.map(|thread| Waker { process: about.number, thread });
                let far = || {
                    let process = usize::try_from(it.remote_process?).ok()?;
                    Some(Waker { process, thread: it.remote_waker? })
                };
                Some(((it.thread, it.seq), near.or_else(far)?))
            })
            .collect();
        wakers.sort_unstable_by_key(|(call, _)| *call);
        Self(wakers)
    }

    /// Who ended the wait of a call.
    pub(super) fn of_call(&self, thread: ThreadIndex, seq: EventSeq) -> Option<Waker> {
        let at = self.0.binary_search_by_key(&(thread, seq), |(call, _)| *call).ok()?;
        Some(self.0[at].1)
    }
}
