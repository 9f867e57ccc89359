//! Functions whose hooks others rely on: by these ada learns that a program runs another one, makes a thread, changes a signal's
//! action, or forbids itself system calls.

use std::io;
use std::path::Path;

use ada_event::ImageOffset;
use ada_image::{DebugImage, FunctionTable, Image, UnwindTable};

use crate::plan::debug_files::in_system_folder;
use crate::plan::image_file::ImageFile;
use crate::plan::probes;

/// Those of a file. Without their hooks, traces are of less, and other hooks do what a program may not allow.
pub fn relied_on(path: &Path) -> io::Result<Vec<ImageOffset>> {
    let file = ImageFile::open(path)?;
    let image = Image::parse(file.bytes()).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    let debug_file = image.build_id().and_then(in_system_folder).and_then(|file| file.open());
    let debug = debug_file.as_ref().and_then(|file| DebugImage::parse(file.bytes()).ok());
    let functions = FunctionTable::discover(&image, &UnwindTable::parse(&image), debug.as_slice());
    let is_one = |index: &usize| probes::is_relied_on(&functions, *index);
    Ok((0..functions.len()).filter(is_one).map(|index| functions.functions()[index].start).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libc_has_some() {
        let path = Path::new("/lib/x86_64-linux-gnu/libc.so.6");
        let found = relied_on(path).unwrap();
        let file = ImageFile::open(path).unwrap();
        let image = Image::parse(file.bytes()).unwrap();
        let functions = FunctionTable::discover(&image, &UnwindTable::parse(&image), &[]);
        let start = |name| functions.functions()[functions.find(name).unwrap()].start;
        for name in ["execve", "prctl", "sigaction"] {
            assert!(found.contains(&start(name)), "{name}");
        }
        assert!(!found.contains(&start("qsort")) && found.len() < 20, "{found:?}");
        assert!(relied_on(Path::new("/etc/passwd")).is_err());
    }
}
