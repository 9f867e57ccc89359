//! Makes a session of the segments of a recorder that was killed.

use std::fs;
use std::path::{Path, PathBuf};

use ada_format::atf::{Manifest, SessionWriter, copy_beside};

use super::closed_segment::{open, store_of, threads_of};
use super::session_files::SessionFiles;
use crate::error::ControlError;

/// The segments of a session's folder, oldest first.
fn segments_in(session: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(session.join("ring")).into_iter().flatten().flatten();
    let is_segment = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    };
    // The killed recorder may have just begun one.
    let has_any = |path: &PathBuf| fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    let segments = entries.map(|entry| entry.path()).filter(is_segment).filter(has_any);
    let mut segments: Vec<PathBuf> = segments.collect();
    // Numbers grow longer than six digits, too.
    segments.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    segments
}

/// Makes a session in `output` of the segments that a killed recorder has written to a session's folder.
pub fn save_orphaned_ring(session: &Path, output: &Path) -> Result<PathBuf, ControlError> {
    let segments = segments_in(session);
    let first = segments.iter().find_map(|path| threads_of(&open(path).ok()?).first().map(|(pid, ..)| *pid));
    let Some(pid) = first else {
        return Err(ControlError::NoSegments { path: session.to_owned() });
    };
    let mut files = SessionFiles::create(output, pid, store_of(&segments))?;
    files.join(&segments, false)?;
    let path = files.path().to_owned();
    let mut result = Ok(());
    files.finish(|pid, writer| {
        let folder = session.join(format!("pid_{pid}"));
        let manifest = fs::read(folder.join("manifest.json")).ok();
        if let Some(known) = manifest.and_then(|bytes| Manifest::parse(&bytes).ok()) {
            let own = writer.manifest_mut();
            own.command_line = known.command_line;
            own.modules = known.modules;
        }
        own_limits(writer);
        let _ = copy_beside(&folder, writer.process_path());
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

fn own_limits(writer: &mut SessionWriter) {
    let words = "what a recorder that was killed had kept of a ring: how much it had let go is not known";
    writer.manifest_mut().limits.push(words.into());
}
