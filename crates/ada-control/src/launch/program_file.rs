//! Checks a program's file before anything runs. A refusal says why, and what to do.
//!
//! The kernel says little (`ENOENT` for a script whose interpreter is missing), and the C library too much: it runs a
//! program that the kernel does not know, one for another processor for instance, as a shell script.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ada_format::private::open_regular;
use ada_image::{Image, ImageError};
use ada_process::procfs::ProcessDir;
use rustix::process::{getegid, geteuid};

use crate::error::{ControlError, Doing};

/// As much of a file as is looked at: headers, and the name of a loader or interpreter.
const HEAD: u64 = 4096;

/// A file that is a program by itself, and not a script.
pub(crate) struct ProgramFile {
    path: PathBuf,
    metadata: Metadata,
}

/// Refuses what could not be run, or would run as something else. A program that does not exist passes: the
/// exec reports it.
pub(crate) fn check(program: &OsStr) -> Result<Option<ProgramFile>, ControlError> {
    let Some(path) = find(program, std::env::var_os("PATH").as_deref()) else { return Ok(None) };
    let Ok(metadata) = fs::metadata(&path) else { return Ok(None) };
    if let Some(reason) = refused_kind(&metadata).or_else(|| refused_rights(&path, &metadata)) {
        return Err(ControlError::Unsupported { path, reason });
    }
    let head = head(&path);
    if head.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
        let reason = "it may not be read, so its functions cannot be found; run ada as root".to_owned();
        return Err(ControlError::Unsupported { path, reason });
    }
    let head = head.unwrap_or_default();
    if let Some(reason) = refused_image(&head) {
        return Err(ControlError::Unsupported { path, reason });
    }
    if let Some(reason) = missing_part(&head) {
        // As the kernel says it, and shells have a code for.
        let source = io::Error::new(io::ErrorKind::NotFound, reason);
        return Err(ControlError::Spawn { program: path.display().to_string(), source });
    }
    Ok(head.starts_with(b"\x7fELF").then_some(ProgramFile { path, metadata }))
}

/// Refuses what a process has loaded; `asked_for` is what it should be.
pub(crate) fn check_loaded(process: &ProcessDir, asked_for: Option<ProgramFile>) -> Result<(), ControlError> {
    let exe = process.executable();
    let path = fs::read_link(&exe).doing("finding the program's file")?;
    let metadata = fs::metadata(&exe).doing("finding the program's file")?;
    if let Some(asked_for) = asked_for
        && (asked_for.metadata.dev(), asked_for.metadata.ino()) != (metadata.dev(), metadata.ino())
    {
        let reason = "the kernel does not take it for a program; it is damaged".to_owned();
        return Err(ControlError::Unsupported { path: asked_for.path, reason });
    }
    let head = head(&exe).doing("reading the program's file")?;
    let reason = refused_image(&head).or_else(|| refused_rights(&path, &metadata));
    reason.map_or(Ok(()), |reason| Err(ControlError::Unsupported { path, reason }))
}

fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    open_regular(path)?.take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

/// The file that `program` means: a path, or a name to be looked up.
fn find(program: &OsStr, search_path: Option<&OsStr>) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(program.into()).filter(|path: &PathBuf| path.exists());
    }
    let candidates = std::env::split_paths(search_path?).map(|folder| folder.join(program));
    let mut files = candidates.filter(|path| path.is_file() && !program.is_empty());
    files.find(|path| fs::metadata(path).is_ok_and(|metadata| is_executable(&metadata)))
}

fn refused_kind(metadata: &Metadata) -> Option<String> {
    let reason = if metadata.is_dir() {
        "it is a directory; name the program in it"
    } else if !metadata.is_file() {
        "it is not a regular file; name a program"
    } else if !is_executable(metadata) {
        "it is not executable; `chmod +x` makes it so"
    } else {
        return None;
    };
    Some(reason.to_owned())
}

/// What the program needs to be run and is not there.
fn missing_part(head: &[u8]) -> Option<String> {
    if let Some(interpreter) = interpreter_of_script(head) {
        return missing(&interpreter, "interpreter");
    }
    let image = Image::parse(head).ok()?;
    missing(Path::new(OsStr::from_bytes(image.interpreter()?)), "loader")
}

fn missing(path: &Path, what: &str) -> Option<String> {
    let is_missing = fs::metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    is_missing.then(|| format!("its {what} {} does not exist; install it", path.display()))
}

fn refused_image(head: &[u8]) -> Option<String> {
    match Image::parse(head) {
        Err(ImageError::Not64Bit { .. }) => Some("it is a 32-bit program; build it for x86-64 to trace it".to_owned()),
        Err(ImageError::WrongMachine { machine }) => {
            Some(format!("it is built for another processor (ELF machine {machine}); build it for x86-64 to trace it"))
        }
        Err(ImageError::NotLittleEndian { .. }) => {
            Some("it is built for another processor (big-endian); build it for x86-64 to trace it".to_owned())
        }
        Err(error @ ImageError::NotLoadable { .. }) => Some(format!("it is {error}")),
        // No image at all is a script of the shell, and what the head does not show is the kernel's to judge.
        Ok(_) | Err(_) => None,
    }
}

/// Tracing must not gain rights: the kernel runs a traced program without those that its file grants.
pub(crate) fn refused_rights(path: &Path, metadata: &Metadata) -> Option<String> {
    const SET_USER: u32 = 0o4000;
    const SET_GROUP: u32 = 0o2000;
    const GROUP_MAY_RUN: u32 = 0o010;
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    if user == 0 {
        return None;
    }
    let mode = metadata.mode();
    let gained = if mode & SET_USER != 0 && metadata.uid() != user {
        "setuid"
    } else if mode & SET_GROUP != 0 && mode & GROUP_MAY_RUN != 0 && metadata.gid() != group {
        "setgid"
    } else if has_capabilities(path) {
        "given capabilities by its file"
    } else {
        return None;
    };
    Some(format!("it is {gained}, and would run without those rights under a tracer; run ada as root"))
}

fn has_capabilities(path: &Path) -> bool {
    // Without room for it the kernel gives the attribute's size.
    rustix::fs::getxattr(path, "security.capability", &mut [0_u8; 0]).is_ok_and(|size| size > 0)
}

fn is_executable(metadata: &Metadata) -> bool {
    metadata.mode() & 0o111 != 0
}

/// The interpreter that a script's first line names.
fn interpreter_of_script(start: &[u8]) -> Option<PathBuf> {
    let line = start.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let word = line.split(|&byte| byte == b' ' || byte == b'\t').find(|word| !word.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scripts_interpreter_is_its_first_lines_first_word() {
        let interpreter = |line: &str| interpreter_of_script(line.as_bytes()).map(|path| path.display().to_string());
        assert_eq!(interpreter("#!/bin/sh -e\nexit"), Some("/bin/sh".into()));
        assert_eq!(interpreter("#! \t/usr/bin/env python"), Some("/usr/bin/env".into()));
        for no_script in ["", "#!", "#!\n/bin/sh", "# /bin/sh", "\x7fELF"] {
            assert_eq!(interpreter(no_script), None, "{no_script:?}");
        }
    }

    #[test]
    fn a_name_is_looked_up_and_a_path_is_not() {
        let folder = Path::new("/bin");
        assert_eq!(find("sh".as_ref(), Some("/no/such:/bin".as_ref())), Some(folder.join("sh")));
        assert_eq!(find("/bin/sh".as_ref(), None), Some(folder.join("sh")));
        for nothing in ["", "no-such-program", "/no/such/program"] {
            assert_eq!(find(nothing.as_ref(), Some("/bin".as_ref())), None, "{nothing:?}");
        }
    }
}
