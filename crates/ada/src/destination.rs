//! The file that is written: under another name until it is whole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::exit::Blame;

/// Where an export or an answer goes. What is there already is not overwritten.
pub(crate) struct Destination {
    wanted: PathBuf,
    /// The unfinished file; none where what is there is no file, as a pipe.
    part: Option<PathBuf>,
    file: File,
}

impl Destination {
    /// Begins a new file, or opens the pipe or device that is there. `-` is standard output.
    pub(crate) fn begin(wanted: &Path) -> anyhow::Result<Self> {
        let wanted = if wanted.as_os_str() == "-" { Path::new("/dev/stdout") } else { wanted };
        let failed = || format!("cannot write {}", wanted.display());
        match fs::metadata(wanted) {
            // A redirection to a file is the shell's, and was opened by it.
            Ok(about) if !about.is_file() && !about.is_dir() || wanted == Path::new("/dev/stdout") => {
                let file = File::options().write(true).open(wanted).output_failed(failed)?;
                return Ok(Self { wanted: wanted.to_owned(), part: None, file });
            }
            Ok(_) => bail!("{} is there already; name a new one", wanted.display()),
            Err(_) => (),
        }
        let name = wanted.file_name().unwrap_or_default().to_string_lossy();
        let part = wanted.with_file_name(format!(".{name}.{}.part", std::process::id()));
        let file = File::create_new(&part).output_failed(failed)?;
        Ok(Self { wanted: wanted.to_owned(), part: Some(part), file })
    }

    /// Where bytes go.
    pub(crate) fn output(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// A file without a name, beside the wanted one.
    pub(crate) fn spool(&self) -> io::Result<File> {
        let folder = match &self.part {
            Some(part) => part.parent().map(Path::to_owned).unwrap_or_default(),
            None => std::env::temp_dir(),
        };
        for number in 0.. {
            let path = folder.join(format!(".ada.{}.{number}.spool", std::process::id()));
            match File::options().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => {
                    fs::remove_file(&path)?;
                    return Ok(file);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }

    /// Gives the file its name.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        match self.part.take() {
            Some(part) => fs::rename(&part, &self.wanted).inspect_err(|_| drop(fs::remove_file(&part))),
            None => Ok(()),
        }
    }
}

/// What was not finished is not there.
impl Drop for Destination {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            let _ = fs::remove_file(part);
        }
    }
}
