//! A session that is being made gets its name when it is whole: whoever is killed on the way leaves no half of one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ada_format::private::create_folder;

const PREFIX: &str = ".importing-";

/// A folder in which a session is made. What is in it goes with it, unless it was finished.
pub(super) struct Unfinished {
    folder: PathBuf,
    output: PathBuf,
}

impl Unfinished {
    /// Makes the folder within the sessions' own, and removes those that killed processes left.
    pub(super) fn begin(output: &Path) -> io::Result<Self> {
        fs::create_dir_all(output)?;
        for left in fs::read_dir(output)?.flatten() {
            let name = left.file_name();
            let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|pid| pid.parse::<u32>().ok());
            if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
                let _ = fs::remove_dir_all(left.path());
            }
        }
        let folder = output.join(format!("{PREFIX}{}", std::process::id()));
        create_folder(&folder)?;
        Ok(Self { folder, output: output.to_owned() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    /// Gives the session in it the name that it has, or that and a number where there is such a one already.
    pub(super) fn finish(self, session: &Path) -> io::Result<PathBuf> {
        let name = session.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut path = self.output.join(&name);
        let mut number = 2;
        while path.exists() {
            path = self.output.join(format!("{name}_{number}"));
            number += 1;
        }
        fs::rename(session, &path)?;
        Ok(path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
