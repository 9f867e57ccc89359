//! Folders of the user's in which ada keeps things between starts. What is in them is believed only if nobody else can have
//! written it.

use ada_format::private::{create_file, create_folders, only_user_writes, user};
use ada_process::this_process;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How names of files end that are not written completely yet.
pub(crate) const UNFINISHED: &str = "unfinished";

/// Where things of one kind are kept by default: below `$ADA_CACHE_DIR`, `$XDG_CACHE_HOME/ada` or `~/.cache/ada`, whichever is
/// set first.
pub(crate) fn default_path(kind: &str) -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    choose(variable, is_ours).map(|folder| folder.join(kind))
}

fn choose(variable: impl Fn(&str) -> Option<PathBuf>, is_ours: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    if let Some(folder) = variable("ADA_CACHE_DIR") {
        return Some(folder);
    }
    // Under `sudo` the home may be another user's, who would not be able to use what is made there.
    let of_xdg = variable("XDG_CACHE_HOME").filter(|folder| folder.is_absolute());
    let cache = match of_xdg {
        Some(folder) => is_ours(&folder).then_some(folder),
        None => variable("HOME").filter(|home| is_ours(home)).map(|home| home.join(".cache")),
    };
    cache.map(|cache| cache.join("ada"))
}

fn is_ours(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|metadata| metadata.uid() == user())
}

/// A folder of one kind of things. It need not be there.
#[derive(Clone, Debug)]
pub(crate) struct CacheFolder {
    pub(crate) path: PathBuf,
}

impl CacheFolder {
    /// Opens what is stored under a name, if nobody but the user can have written it.
    pub(crate) fn open(&self, name: &str) -> io::Result<(File, Metadata)> {
        self.check_private()?;
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(self.path.join(name))?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || !only_user_writes(&metadata) {
            return Err(not_private());
        }
        Ok((file, metadata))
    }

    /// Stores bytes under a name. Others see either these or what was there before.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        create_folders(&self.path)?;
        self.check_private()?;
        let moment = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let unfinished = self.path.join(format!("{}-{moment:x}.{UNFINISHED}", this_process()));
        let mut file = create_file(&unfinished)?;
        let written = file.write_all(bytes).and_then(|()| fs::rename(&unfinished, self.path.join(name)));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written
    }

    fn check_private(&self) -> io::Result<()> {
        let metadata = fs::metadata(&self.path)?;
        if metadata.is_dir() && only_user_writes(&metadata) { Ok(()) } else { Err(not_private()) }
    }
}

fn not_private() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "others can write to it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn folder() -> (tempfile::TempDir, CacheFolder) {
        let parent = tempfile::tempdir().unwrap();
        let folder = CacheFolder { path: parent.path().join("a/things") };
        (parent, folder)
    }

    fn content(folder: &CacheFolder, name: &str) -> Option<String> {
        let mut text = String::new();
        folder.open(name).ok()?.0.read_to_string(&mut text).unwrap();
        Some(text)
    }

    #[test]
    fn the_environment_says_where() {
        let choose_by = |variables: &[(&str, &str)], ours: bool| {
            let find = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
            choose(find, |_| ours).map(|path| path.to_str().unwrap().to_owned())
        };
        let all = [("ADA_CACHE_DIR", "/a"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(choose_by(&all, false).as_deref(), Some("/a"));
        assert_eq!(choose_by(&all[1..], true).as_deref(), Some("/x/ada"));
        assert_eq!(choose_by(&all[2..], true).as_deref(), Some("/h/.cache/ada"));
        assert_eq!(choose_by(&[("XDG_CACHE_HOME", "x"), all[2]], true).as_deref(), Some("/h/.cache/ada"));
        assert_eq!(choose_by(&all[1..], false), None);
        assert_eq!(choose_by(&[], true), None);
    }

    #[test]
    fn what_is_written_is_read_and_is_the_users_alone() {
        let (_parent, folder) = folder();
        assert!(content(&folder, "x").is_none());
        folder.write("x", b"old").unwrap();
        folder.write("x", b"new").unwrap();
        assert_eq!(content(&folder, "x").as_deref(), Some("new"));
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&folder.path), mode(&folder.path.join("x"))), (0o700, 0o600));
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 1, "nothing unfinished stays");
    }

    #[test]
    fn what_others_can_write_is_not_believed() {
        let (_parent, folder) = folder();
        folder.write("x", b"thing").unwrap();
        let file = folder.path.join("x");
        fs::set_permissions(&file, PermissionsExt::from_mode(0o620)).unwrap();
        assert!(content(&folder, "x").is_none());
        fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        fs::set_permissions(&folder.path, PermissionsExt::from_mode(0o770)).unwrap();
        assert!(content(&folder, "x").is_none() && folder.write("y", b"thing").is_err());
        fs::set_permissions(&folder.path, PermissionsExt::from_mode(0o700)).unwrap();
        symlink("x", folder.path.join("z")).unwrap();
        assert!(content(&folder, "x").is_some() && content(&folder, "z").is_none());
    }

    #[test]
    fn what_belongs_to_somebody_else_is_not_believed() {
        let (_parent, folder) = folder();
        folder.write("x", b"thing").unwrap();
        // Only root can give files away; everybody else finds root's.
        let foreign = if user() == 0 {
            chown(folder.path.join("x"), Some(65534), None).unwrap();
            assert!(content(&folder, "x").is_none());
            chown(&folder.path, Some(65534), None).unwrap();
            folder
        } else {
            CacheFolder { path: "/".into() }
        };
        assert!(foreign.check_private().is_err() && foreign.write("y", b"thing").is_err());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_and_no_more() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("a"), "a file").unwrap();
        let folder = CacheFolder { path: parent.path().join("a/things") };
        assert!(folder.write("x", b"thing").is_err());
        assert!(content(&folder, "x").is_none());
    }
}
