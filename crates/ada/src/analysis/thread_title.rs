//! What a thread is called where there is room for a few words.

use ada_event::EventSeq;
use ada_span::ThreadIndex;

use super::opened::OpenedSession;

/// The name that somebody gave the thread, or what it runs.
pub(crate) fn thread_title(opened: &OpenedSession, process: usize, thread: ThreadIndex) -> String {
    let it = &opened.processes()[process];
    let id = it.thread_id(thread);
    let span = it.pthread(thread, EventSeq(u64::MAX));
    let listed = || {
        let threads = opened.manifest(it).into_iter().flat_map(|manifest| &manifest.threads);
        threads.into_iter().find(|entry| entry.id == id)?.name.clone()
    };
    let given = span.and_then(|span| span.given_name()).or_else(listed).filter(|name| !name.is_empty());
    given.unwrap_or_else(|| span.map_or_else(|| "main".to_owned(), |span| it.thread_name(span)))
}
