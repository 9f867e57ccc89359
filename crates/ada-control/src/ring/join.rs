//! Makes an ordinary session of segments.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use ada_event::ThreadId;
use ada_format::atf::{Session, Store, ThreadTrace};

use super::segments::delete;
use crate::ControlError;
use crate::session::{SessionFiles, failed};

/// Appends segments, oldest first, to a session's files, and deletes each if told.
pub(crate) fn join(segments: &[PathBuf], files: &mut SessionFiles, is_moving: bool) -> Result<(), ControlError> {
    // The files of a thread can be finished with the last segment that has it.
    let mut last: HashMap<(u32, ThreadId), usize> = HashMap::new();
    for (number, path) in segments.iter().enumerate() {
        for (pid, thread, _) in threads_of(&open(path)?) {
            last.insert((pid, thread.id()), number);
        }
    }
    for (number, path) in segments.iter().enumerate() {
        let session = open(path)?;
        for (pid, thread, process) in threads_of(&session) {
            let entries = session.processes()[process].manifest.iter().flat_map(|manifest| &manifest.threads);
            let entry = entries.clone().find(|entry| entry.id == thread.id().0);
            let writer = files.thread_with_id(pid, thread.id())?;
            if let Some(entry) = entry {
                let known = writer.entry_mut();
                (known.tid, known.handle) = (entry.tid, entry.handle);
                known.name.clone_from(&entry.name);
            }
            writer.append_thread(thread).map_err(failed)?;
            if last.get(&(pid, thread.id())) == Some(&number) {
                files.finish_joined(pid, thread.id())?;
            }
        }
        if is_moving {
            files.flush()?;
            drop(session);
            delete(path)?;
        }
    }
    Ok(())
}

/// The form that segments are in, which what is made of them has too.
pub(crate) fn store_of(segments: &[PathBuf]) -> Store {
    let stores = segments.iter().find_map(|path| open(path).ok()?.threads().next().map(ThreadTrace::store));
    stores.unwrap_or_default()
}

fn open(path: &Path) -> Result<Session, ControlError> {
    Session::open(path).map_err(|error| ControlError::Session(error.to_string()))
}

/// Process, thread, and the process's place in the session.
fn threads_of(session: &Session) -> Vec<(u32, &ThreadTrace, usize)> {
    let processes = session.processes().iter().enumerate();
    processes
        .flat_map(|(number, process)| {
            process.threads.iter().map(move |thread| (process.pid.unwrap_or_default(), thread, number))
        })
        .collect()
}

/// The segments of a session's folder, oldest first.
fn segments_in(session: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(session.join("ring")).into_iter().flatten().flatten();
    let is_segment = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    };
    // Whoever was killed had perhaps just begun one.
    let has_any = |path: &PathBuf| fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    let segments = entries.map(|entry| entry.path()).filter(is_segment).filter(has_any);
    let mut segments: Vec<PathBuf> = segments.collect();
    // Numbers grow longer than six digits, too.
    segments.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    segments
}

/// Makes a session in `output` of the segments that a killed recorder has left in a session's folder.
pub fn save_left_behind(session: &Path, output: &Path) -> Result<PathBuf, ControlError> {
    let segments = segments_in(session);
    let first = segments.iter().find_map(|path| threads_of(&open(path).ok()?).first().map(|(pid, ..)| *pid));
    let Some(pid) = first else {
        return Err(ControlError::NoSegments { path: session.to_owned() });
    };
    let mut files = SessionFiles::create(output, pid, store_of(&segments))?;
    join(&segments, &mut files, false)?;
    let path = files.path().to_owned();
    let mut result = Ok(());
    files.finish(|pid, writer| {
        let folder = session.join(format!("pid_{pid}"));
        let manifest = fs::read(folder.join("manifest.json")).ok();
        if let Some(known) = manifest.and_then(|bytes| ada_format::atf::Manifest::parse(&bytes).ok()) {
            let own = writer.manifest_mut();
            own.command_line = known.command_line;
            own.modules = known.modules;
        }
        own_limits(writer);
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.to_string_lossy().starts_with("functions_")
                && let Err(error) = fs::copy(entry.path(), writer.process_path().join(&name))
            {
                result = Err(ControlError::Session(format!("{}: {error}", entry.path().display())));
            }
        }
    })?;
    result.map(|()| path)
}

fn own_limits(writer: &mut ada_format::atf::SessionWriter) {
    let words = "what a recorder that was killed had kept of a ring: how much it had let go is not known";
    writer.manifest_mut().limits.push(words.into());
}
