//! Debug information that is not in the images themselves: in the system's folder, or with the servers that the user has named.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ada_image::{FunctionTable, Image, UnwindTable, has_debug_info};
use ada_process::maps::LoadedFile;
use ada_value::{is_c_library, known};

use crate::debuginfod::Debuginfod;
use crate::function_pattern::matches_name;
use crate::options::{CapturedValues, TraceOptions};
use crate::plan::image_file::ImageFile;

/// Where debug files are looked for. By default in the system's folder only.
#[derive(Default)]
pub(crate) struct DebugFiles {
    servers: Option<Arc<Debuginfod>>,
    /// The functions whose values are wanted: nobody waits for the debug information of others.
    wanted: Vec<String>,
}

/// The separate debug file of an image.
#[derive(Clone, Debug)]
pub(crate) struct DebugFile {
    path: PathBuf,
    is_fetched: bool,
}

/// The pattern of the program's own functions.
pub(crate) const OWN: &str = "own";

impl DebugFiles {
    pub(crate) fn new(options: &TraceOptions) -> Self {
        let asked_for = if let CapturedValues::Matching(patterns) = &options.values { &patterns[..] } else { &[] };
        Self { servers: options.debuginfod.clone(), wanted: [asked_for, &options.values_later].concat() }
    }

    /// Asks the servers for what is wanted of these files and missing here, no longer than `within`. Nobody else should have
    /// to wait meanwhile.
    pub(crate) fn fetch(&self, files: &[LoadedFile], within: Option<Duration>) {
        let Some(servers) = &self.servers else { return };
        for file in files {
            let Ok(image_file) = ImageFile::open(&file.path) else { continue };
            let Ok(image) = Image::parse(image_file.bytes()) else { continue };
            let Some(build_id) = image.build_id() else { continue };
            let is_here = has_debug_info(image_file.bytes()) || in_system_folder(build_id).is_some();
            if !is_here && self.is_wanted(&file.path, &image) {
                servers.fetch(build_id, &file.path, within);
            }
        }
    }

    /// Whether somebody wants to know values of an image's functions. What the C library's take and give is known.
    fn is_wanted(&self, path: &Path, image: &Image<'_>) -> bool {
        let file_name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        if self.wanted.is_empty() || is_c_library(&file_name) {
            return false;
        }
        let (own, patterns): (Vec<&str>, Vec<&str>) =
            self.wanted.iter().map(String::as_str).partition(|pattern| *pattern == OWN);
        if is_own(path) {
            let may_have = |pattern: &&str| known(pattern).is_none();
            let is_nameless = || !image.has_symbol_table();
            if !own.is_empty() || is_nameless() && patterns.iter().any(may_have) {
                return true;
            }
        }
        let functions = FunctionTable::discover(image, &UnwindTable::default(), &[]);
        let is_named = |name: &str| patterns.iter().any(|pattern| matches_name(pattern, name));
        (0..functions.len()).any(|index| functions.names(index).any(is_named))
    }

    /// The debug file of the image with this build-id.
    pub(crate) fn find(&self, build_id: &[u8]) -> Option<DebugFile> {
        in_system_folder(build_id).or_else(|| {
            let path = self.servers.as_ref()?.fetched(build_id)?;
            Some(DebugFile { path, is_fetched: true })
        })
    }
}

impl DebugFile {
    pub(crate) fn open(&self) -> Option<ImageFile> {
        let file = ImageFile::open(&self.path).ok()?;
        // elfutils notes in a file that it has fetched when it was used last: it is the same file afterwards.
        Some(if self.is_fetched { file.whenever_touched() } else { file })
    }
}

/// Where Debian and others put symbols that were split off, by build-id.
pub(crate) fn in_system_folder(build_id: &[u8]) -> Option<DebugFile> {
    let hex: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (folder, name) = hex.split_at_checked(2)?;
    let path = PathBuf::from(format!("/usr/lib/debug/.build-id/{folder}/{name}.debug"));
    path.is_file().then_some(DebugFile { path, is_fetched: false })
}

/// Whether a file is the user's, and not the system's.
pub fn is_own(path: &Path) -> bool {
    !["/lib", "/lib64", "/usr/lib", "/usr/lib64"].iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_asks_for_is_not_wanted() {
        let is_wanted = |patterns: &[&str], path: &str| {
            let files = DebugFiles { servers: None, wanted: patterns.iter().map(|&it| it.to_owned()).collect() };
            let file = ImageFile::open(path).unwrap();
            files.is_wanted(Path::new(path), &Image::parse(file.bytes()).unwrap())
        };
        // Debian's shell is stripped, and its library of C has no values that its debug information is needed for.
        let (shell, c, loader) = ("/bin/dash", "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2");
        for path in [shell, c, loader] {
            assert!(!is_wanted(&[], path) && !is_wanted(&["read", "open"], path), "{path}");
        }
        assert!(is_wanted(&["own"], shell) && is_wanted(&["evaltree"], shell) && is_wanted(&["read", "eval*"], shell));
        assert!(!is_wanted(&["own"], c) && !is_wanted(&["qsort"], c) && !is_wanted(&["own"], loader));
        assert!(is_wanted(&["_dl_alloc*"], loader) || is_wanted(&["__tls_get_addr"], loader));
    }
}
