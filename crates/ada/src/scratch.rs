//! A folder for what is made on the way, which goes when the work is done.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ada_format::private::create_folder;

use crate::exit::Blame;

pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let moment = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let path = std::env::temp_dir().join(format!("ada-{}-{moment:x}", std::process::id()));
        // Made anew, and the user's alone: whoever guessed the name does not get in between.
        let made = create_folder(&path);
        made.output_failed(|| format!("cannot make {}", path.display()))?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
