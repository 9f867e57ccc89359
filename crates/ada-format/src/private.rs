//! Files and folders that nobody but their owner can read.
//!
//! A trace holds registers and memory of a program, hence perhaps its secrets; and a session may come from somebody who
//! has laid links where ada is going to write. Whatever ada writes beside or into a session is therefore made here: new,
//! never through a link that is there already, and for its owner alone. A mode that is given when a file is made can
//! only be narrowed by the umask.

use std::fs::{self, DirBuilder, File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::OFlags;

/// Makes a folder, which must not be there.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Makes a folder and those above it, as far as they are not there.
pub fn create_folders(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Locks a folder for as long as what this gives is open, so that readers know that it is being written: the system unlocks it when
/// its writer ends, in whichever way. A file system without locks is no reason not to write.
pub fn lock_folder(path: &Path) -> io::Result<File> {
    let folder = File::open(path)?;
    let _ = folder.try_lock();
    Ok(folder)
}

/// Whether somebody has locked a folder to write to it.
pub fn is_locked(path: &Path) -> bool {
    // Others that ask so at the same time do not find each other.
    File::open(path).is_ok_and(|folder| matches!(folder.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Makes a folder in a place where others may have been first, and checks that it is the user's alone.
pub fn own_folder(path: &Path) -> io::Result<()> {
    match create_folder(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ if is_own(&fs::symlink_metadata(path)?) => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is not a folder of yours alone")),
    }
}

fn is_own(found: &Metadata) -> bool {
    found.is_dir() && found.uid() == user() && found.mode() & 0o077 == 0
}

/// Whether a file or folder belongs to the user, and nobody else can write to it.
pub fn only_user_writes(found: &Metadata) -> bool {
    found.uid() == user() && found.mode() & 0o022 == 0
}

/// The user for whom this process acts.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Makes a file, which must not be there, to write and read back. A link is something that is there.
pub fn create_file(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Opens a file for reading, if it is one: to open a pipe would wait for its writer, and a device has no end.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Of what is opened, and not of what had the name a moment before.
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// A file that takes another one's place when it is complete: readers see the old one or the new one. If it is dropped
/// before, it is gone.
#[derive(Debug)]
pub struct Replacement {
    wanted: PathBuf,
    unfinished: Option<PathBuf>,
}

impl Replacement {
    /// Begins a file beside the one that it is to replace, under a name that nobody else has taken.
    pub fn begin(wanted: &Path) -> io::Result<(Self, File)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = wanted.file_name().unwrap_or_default().to_string_lossy();
        // What is there already is somebody else's: of an ada that was killed, or bait.
        for _ in 0..1000 {
            // Relaxed: the number only has to be another one each time.
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = wanted.with_file_name(format!("{name}.{}-{number}.tmp", std::process::id()));
            match create_file(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
                made => {
                    let file = made?;
                    return Ok((Self { wanted: wanted.to_owned(), unfinished: Some(path) }, file));
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where it is until it is complete.
    pub fn path(&self) -> &Path {
        self.unfinished.as_deref().unwrap_or(&self.wanted)
    }

    /// Puts it where it belongs.
    pub fn finish(mut self) -> io::Result<()> {
        fs::rename(self.path(), &self.wanted)?;
        self.unfinished = None;
        Ok(())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(path) = &self.unfinished {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn what_is_made_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (inner, file) = (folder.path().join("a/b"), folder.path().join("a/b/c"));
        create_folders(&inner).unwrap();
        create_file(&file).unwrap();
        assert_eq!((mode(&folder.path().join("a")), mode(&inner), mode(&file)), (0o700, 0o700, 0o600));
    }

    #[test]
    fn links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (link, victim) = (folder.path().join("link"), folder.path().join("victim"));
        symlink(&victim, &link).unwrap();
        assert_eq!(create_file(&link).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(!victim.exists());
        // A replacement takes the link's place.
        let (replacement, mut file) = Replacement::begin(&link).unwrap();
        file.write_all(b"new").unwrap();
        replacement.finish().unwrap();
        assert!(!victim.exists() && link.symlink_metadata().unwrap().is_file());
        assert_eq!(fs::read(&link).unwrap(), b"new");
    }

    #[test]
    fn names_that_are_taken_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let (wanted, victim) = (folder.path().join("list"), folder.path().join("victim"));
        for number in 0..50 {
            let bait = folder.path().join(format!("list.{}-{number}.tmp", std::process::id()));
            symlink(&victim, bait).unwrap();
        }
        let (replacement, _file) = Replacement::begin(&wanted).unwrap();
        replacement.finish().unwrap();
        assert!(!victim.exists() && wanted.exists());
    }

    #[test]
    fn a_replacement_that_is_dropped_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let wanted = folder.path().join("list");
        fs::write(&wanted, "old").unwrap();
        let (replacement, mut file) = Replacement::begin(&wanted).unwrap();
        file.write_all(b"new").unwrap();
        drop(replacement);
        assert_eq!(fs::read(&wanted).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_others_can_enter_or_own_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("ada");
        own_folder(&folder).unwrap();
        own_folder(&folder).unwrap();
        fs::set_permissions(&folder, PermissionsExt::from_mode(0o750)).unwrap();
        assert!(own_folder(&folder).is_err());
        fs::set_permissions(&folder, PermissionsExt::from_mode(0o700)).unwrap();
        let link = parent.path().join("link");
        symlink(&folder, &link).unwrap();
        assert!(own_folder(&link).is_err());
        // Only root can give folders away; everybody else finds root's.
        if user() == 0 {
            chown(&folder, Some(65534), None).unwrap();
            assert!(own_folder(&folder).is_err());
        } else {
            assert!(own_folder(Path::new("/")).is_err());
        }
    }
}
