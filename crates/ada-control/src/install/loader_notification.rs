//! Where a program's loader announces new libraries to debuggers.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ada_event::{ImageOffset, ProcessId, RuntimeAddr};
use ada_image::Image;
use ada_process::maps;
use ada_process::procfs::ProcessDir;

use crate::error::{ControlError, Doing};
use crate::plan::image_file::{FileIdentity, ImageFile};

const AT_BASE: u64 = 7;

/// Where the loader announces new libraries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoaderNotification {
    /// The function that it calls.
    pub(crate) function: RuntimeAddr,
    /// Its `r_debug` structure.
    pub(crate) debug: RuntimeAddr,
}

/// Where the loader of a process, if it has one, announces new libraries; `read` reads a word of the process's memory.
pub(crate) fn find_loader(
    pid: ProcessId,
    read: impl Fn(RuntimeAddr) -> io::Result<u64>,
) -> Result<Option<LoaderNotification>, ControlError> {
    let process = ProcessDir::of(pid);
    let base = process.auxiliary(AT_BASE).doing("reading the program's auxiliary vector")?.unwrap_or(0);
    let mappings = maps::of_process(pid).doing("reading the program's mappings")?;
    let mapping = if base == 0 {
        // The program may be the loader itself, with another program as its argument.
        let exe = std::fs::read_link(process.executable()).ok();
        mappings.iter().find(|mapping| exe.as_deref() == Some(Path::new(&mapping.path)))
    } else {
        mappings.iter().find(|mapping| mapping.start.0 == base)
    };
    let Some(mapping) = mapping else { return Ok(None) };
    let symbols = LoaderSymbols::of(Path::new(&mapping.path)).doing("reading the loader's file")?;
    let Some(LoaderSymbols { function, debug }) = symbols else { return Ok(None) };
    let base = mapping.start.0;
    let debug = match debug {
        DebugSymbol::Structure(offset) => offset.at_bias(base),
        // musl: a pointer, initialised by a relocation that the loader has yet to apply; its value in the file is
        // the structure's offset.
        DebugSymbol::Pointer(pointer) => match read(pointer.at_bias(base)).doing("reading the loader's data")? {
            offset if offset < base => ImageOffset(offset).at_bias(base),
            address => RuntimeAddr(address),
        },
    };
    Ok(Some(LoaderNotification { function: function.at_bias(base), debug }))
}

/// The symbols of a loader's file.
#[derive(Clone, Copy)]
struct LoaderSymbols {
    function: ImageOffset,
    debug: DebugSymbol,
}

#[derive(Clone, Copy)]
enum DebugSymbol {
    Structure(ImageOffset),
    Pointer(ImageOffset),
}

/// The files that were looked at, most recent last: all programs have the same loader, or one of a few.
static KNOWN: Mutex<Vec<(PathBuf, FileIdentity, Option<LoaderSymbols>)>> = Mutex::new(Vec::new());
const MOST_KNOWN: usize = 64;

impl LoaderSymbols {
    /// Those of a file; none if it is no loader.
    fn of(path: &Path) -> io::Result<Option<Self>> {
        let identity = FileIdentity::of_path(path)?;
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, _, symbols)) = known.iter().find(|it| (&*it.0, it.1) == (path, identity)) {
            return Ok(*symbols);
        }
        let file = ImageFile::open(path)?;
        let symbols = Image::parse(file.bytes()).ok().and_then(|image| Self::in_image(&image));
        if known.len() == MOST_KNOWN {
            known.remove(0);
        }
        known.push((path.to_owned(), file.identity(), symbols));
        Ok(symbols)
    }

    fn in_image(image: &Image<'_>) -> Option<Self> {
        let function = image.dynamic_symbol("_dl_debug_state")?;
        let structure = image.dynamic_symbol("_r_debug").map(DebugSymbol::Structure);
        let debug = structure.or_else(|| image.dynamic_symbol("_dl_debug_addr").map(DebugSymbol::Pointer))?;
        Some(Self { function, debug })
    }
}
