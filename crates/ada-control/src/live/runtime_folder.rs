//! The folder with the sockets of running traces.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use ada_event::ProcessId;

use crate::live::LiveError;

/// Where this user's sockets are. Not made by asking.
pub(super) fn path() -> PathBuf {
    path_for(std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from), user())
}

fn path_for(runtime: Option<PathBuf>, user: u32) -> PathBuf {
    match runtime {
        Some(folder) if folder.is_absolute() => folder.join("ada"),
        _ => PathBuf::from(format!("/tmp/ada-{user}")),
    }
}

/// The socket of a traced process.
pub(super) fn socket(folder: &Path, pid: ProcessId) -> PathBuf {
    folder.join(format!("{pid}.sock"))
}

/// The process that a socket is named for.
pub(super) fn pid_of(socket: &Path) -> Option<ProcessId> {
    socket.file_name()?.to_str()?.strip_suffix(".sock")?.parse().ok()
}

/// Makes the folder if need be.
pub(super) fn make(folder: &Path) -> Result<(), LiveError> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
            Err(LiveError::Socket { path: folder.to_owned(), source })
        }
        _ => check(folder),
    }
}

/// Sees that a folder is ours alone: in `/tmp` anybody may have made it first.
pub(super) fn check(folder: &Path) -> Result<(), LiveError> {
    let found = fs::symlink_metadata(folder).map_err(|source| LiveError::Socket { path: folder.to_owned(), source })?;
    if found.is_dir() && found.uid() == user() && found.mode() & 0o077 == 0 {
        Ok(())
    } else {
        Err(LiveError::ForeignFolder { path: folder.to_owned() })
    }
}

pub(super) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_process::this_process;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_users_own_folder_comes_first() {
        assert_eq!(path_for(Some("/run/user/7".into()), 7), Path::new("/run/user/7/ada"));
        assert_eq!(path_for(Some("relative".into()), 7), Path::new("/tmp/ada-7"));
        assert_eq!(path_for(None, 7), Path::new("/tmp/ada-7"));
        assert_eq!(pid_of(&socket(Path::new("/x"), ProcessId(42))), Some(ProcessId(42)));
        assert_eq!(pid_of(Path::new("/x/notes.txt")), None);
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        let folder = std::env::temp_dir().join(format!("ada-folder-test-{}", this_process()));
        make(&folder).unwrap();
        make(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let refused = make(&folder);
        fs::remove_dir(&folder).unwrap();
        assert!(matches!(refused, Err(LiveError::ForeignFolder { .. })), "{refused:?}");
    }
}
