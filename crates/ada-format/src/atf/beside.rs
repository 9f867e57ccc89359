//! What a process has in its folder beside its events.

use std::io::{self, Write};
use std::path::Path;

use super::{descriptors, priorities, schedule, shared_memory};
use crate::private::create_file;

/// Copies what was told of a process's threads and descriptors to another session, as far as it is there.
pub fn copy_beside(from: &Path, to: &Path) -> io::Result<()> {
    for name in [schedule::FILE, descriptors::FILE, shared_memory::FILE, priorities::FILE] {
        match std::fs::read(from.join(name)) {
            Ok(bytes) => create_file(&to.join(name))?.write_all(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
