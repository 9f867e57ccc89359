//! The session that is meant when none is named.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Where `ada trace` keeps sessions.
const OUTPUT: &str = "ada_traces";

/// The session that is meant: the one named, the newest in the folder named, or the newest of all.
pub(crate) fn find(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let Some(path) = named else {
        return newest_in(Path::new(OUTPUT))?
            .with_context(|| format!("no session in {OUTPUT}/; name one, or record one with `ada trace -- COMMAND`"));
    };
    if !path.exists() {
        bail!("{}: no such folder; name a session's folder, or none for the newest", path.display());
    }
    let has_processes = fs::read_dir(path)
        .is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("pid_")));
    if has_processes {
        return Ok(path.to_owned());
    }
    Ok(newest_in(path)?.unwrap_or_else(|| path.to_owned()))
}

/// Sessions are named by when they began, and a second one of the same second has a number.
fn newest_in(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    Ok(sessions_in(folder).ok().and_then(|sessions| sessions.into_iter().next_back()))
}

/// All sessions in a folder, the oldest first; none where it is a session itself.
pub(crate) fn sessions_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut sessions: Vec<((String, u32), PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let (time, number) = parts(&name)?;
            Some(((time.to_owned(), number), entry.path()))
        })
        .collect();
    sessions.sort();
    Ok(sessions.into_iter().map(|(_, path)| path).collect())
}

fn parts(name: &str) -> Option<(&str, u32)> {
    let rest = name.strip_prefix("session_")?;
    match rest.match_indices('_').nth(1) {
        None => Some((rest, 1)),
        Some((at, _)) => Some((&rest[..at], rest[at + 1..].parse().ok()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tenth_session_of_a_second_is_newer_than_the_second() {
        let mut names = ["session_20250131_120000_10", "session_20250131_120000", "session_20250131_120000_2"];
        names.sort_by_key(|name| parts(name));
        assert_eq!(names, ["session_20250131_120000", "session_20250131_120000_2", "session_20250131_120000_10"]);
        assert_eq!(parts("sessions"), None);
    }
}
