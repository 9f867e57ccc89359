//! Where a program's loader tells debuggers of new libraries.

use std::io;

use ada_event::ProcessId;
use ada_image::Image;
use ada_process::maps;
use ada_process::procfs::ProcessDir;

use crate::error::{ControlError, Doing};
use crate::plan::image_file::ImageFile;

const AT_BASE: u64 = 7;

/// Where the loader tells of new libraries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoaderNotification {
    /// The function that it calls.
    pub(crate) function: u64,
    /// Its `r_debug` structure.
    pub(crate) debug: u64,
}

/// Where the loader of a process, if it has one, tells of new libraries; `read` reads a word of the process's memory.
pub(crate) fn find_loader(
    pid: ProcessId,
    read: impl Fn(u64) -> io::Result<u64>,
) -> Result<Option<LoaderNotification>, ControlError> {
    let base = ProcessDir::of(pid).auxiliary(AT_BASE).doing("reading the program's auxiliary vector")?.unwrap_or(0);
    if base == 0 {
        return Ok(None);
    }
    let mappings = maps::of_process(pid).doing("reading the program's mappings")?;
    let Some(mapping) = mappings.iter().find(|mapping| mapping.start == base) else { return Ok(None) };
    let file = ImageFile::open(&mapping.path).doing("reading the loader's file")?;
    let Ok(image) = Image::parse(file.bytes()) else { return Ok(None) };
    let Some(function) = image.dynamic_symbol("_dl_debug_state") else { return Ok(None) };
    let debug = if let Some(debug) = image.dynamic_symbol("_r_debug") {
        debug.at_bias(base).0
    } else if let Some(pointer) = image.dynamic_symbol("_dl_debug_addr") {
        // musl: a pointer, initialised by a relocation that the loader has yet to apply; its value in the file is
        // the structure's offset.
        match read(pointer.at_bias(base).0).doing("reading the loader's data")? {
            offset if offset < base => base + offset,
            address => address,
        }
    } else {
        return Ok(None);
    };
    Ok(Some(LoaderNotification { function: function.at_bias(base).0, debug }))
}
