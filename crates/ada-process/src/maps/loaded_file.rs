//! The images that a process has loaded.

use std::path::PathBuf;

use ada_event::RuntimeAddr;

use super::mapping::Mapping;

/// An image that is mapped into a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LoadedFile {
    /// The file.
    pub path: PathBuf,
    /// Its lowest address.
    pub start: RuntimeAddr,
    /// The end of its highest mapping.
    pub end: RuntimeAddr,
}

/// Every file that has executable mappings, in order of address. The same file can be loaded twice, in two link-map
/// namespaces: each run of mappings that starts at file offset 0 is one.
pub fn loaded_files(mappings: &[Mapping]) -> Vec<LoadedFile> {
    let mut files: Vec<(LoadedFile, bool)> = Vec::new();
    for mapping in mappings {
        if !mapping.path.starts_with('/') || is_no_image(&mapping.path) {
            continue;
        }
        match files.last_mut() {
            Some((file, executable)) if file.path.as_os_str() == mapping.path.as_str() && mapping.file_offset != 0 => {
                file.end = mapping.end;
                *executable |= mapping.executable;
            }
            _ => files.push((
                LoadedFile { path: mapping.path.clone().into(), start: mapping.start, end: mapping.end },
                mapping.executable,
            )),
        }
    }
    files.into_iter().filter_map(|(file, executable)| executable.then_some(file)).collect()
}

/// Memory that the kernel gives a path, and devices. ada's own memory is a memfd.
fn is_no_image(path: &str) -> bool {
    ["/memfd:", "/dev/", "/SYSV", "/anon"].iter().any(|prefix| path.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps::mapping::for_tests;

    #[test]
    fn files_with_code_are_found_and_data_files_are_not() {
        let files = loaded_files(&for_tests());
        let starts: Vec<u64> = files.iter().map(|file| file.start.0).collect();
        assert_eq!(starts, [0x5555_5555_4000, 0x7fff_f7c0_0000, 0x7fff_f7f0_0000]);
        assert_eq!(files[0].path.to_str(), Some("/usr/bin/with space"));
        assert_eq!(files[1].end, RuntimeAddr(0x7fff_f7d7_b000));
    }
}
