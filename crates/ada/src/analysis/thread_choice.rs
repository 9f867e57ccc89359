//! Threads as people name them: by number, or by name.

use ada_event::ThreadId;
use ada_image::glob;
use ada_query::nearest;
use ada_span::ThreadIndex;
use anyhow::bail;

use super::opened::OpenedSession;
use super::thread_title::thread_title;

/// The threads that are meant by ids or names (wildcards `*`, `?`). None at all where nothing was said.
pub(crate) fn chosen_threads(opened: &OpenedSession, typed: &[String]) -> anyhow::Result<Vec<ThreadId>> {
    let mut chosen = Vec::new();
    if typed.is_empty() {
        return Ok(chosen);
    }
    let mut all: Vec<(ThreadId, String)> = Vec::new();
    for (number, process) in opened.processes().iter().enumerate() {
        let threads = &process.tables.meta().threads;
        let titles = ThreadIndex::all(threads.len()).map(|thread| thread_title(opened, number, thread));
        all.extend(threads.iter().map(|it| it.id).zip(titles));
    }
    for word in typed {
        let number = word.parse().ok().map(ThreadId);
        let is_meant = |(id, name): &&(ThreadId, String)| Some(*id) == number || glob(word, name);
        let before = chosen.len();
        chosen.extend(all.iter().filter(is_meant).map(|(id, _)| *id));
        if chosen.len() == before {
            match nearest(word, all.iter().map(|(_, name)| name.as_str())).filter(|_| number.is_none()) {
                Some(near) => bail!("thread {word} is not in the session; did you mean {near}?"),
                None => bail!("thread {word} is not in the session; `ada threads` lists them"),
            }
        }
    }
    Ok(chosen)
}
