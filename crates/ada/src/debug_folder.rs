//! A folder of debug files, searched by build-id.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Where distributions put debug files.
pub(crate) const SYSTEM_FOLDER: &str = "/usr/lib/debug";

/// The files of a folder that somebody asked for.
pub(crate) struct DebugFolder {
    files: HashMap<Vec<u8>, PathBuf>,
}

impl DebugFolder {
    /// Finds a file for each of the wanted build-ids: where distributions put them, and else at any depth under any name.
    pub(crate) fn search(folder: &Path, wanted: &BTreeSet<&[u8]>) -> io::Result<Self> {
        fs::read_dir(folder)?;
        let mut found = Self::at_usual_places(folder, wanted);
        if wanted.iter().any(|build_id| !found.files.contains_key(*build_id)) {
            found.walk(folder, wanted);
        }
        Ok(found)
    }

    /// Finds a file for each of the wanted build-ids where distributions put them.
    pub(crate) fn at_usual_places(folder: &Path, wanted: &BTreeSet<&[u8]>) -> Self {
        let find = |build_id: &&[u8]| {
            let path = folder.join(usual_path(build_id)?);
            (build_id_of(&path).as_deref() == Some(*build_id)).then(|| (build_id.to_vec(), path))
        };
        Self { files: wanted.iter().filter_map(find).collect() }
    }

    /// Looks at each file, in the order of their names, so that the same folder always gives the same answer. Links to
    /// folders are not followed: they may lead in a circle. What cannot be read is passed over.
    fn walk(&mut self, folder: &Path, wanted: &BTreeSet<&[u8]>) {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                if !path.is_symlink() {
                    self.walk(&path, wanted);
                }
            } else if let Some(build_id) = build_id_of(&path).filter(|id| wanted.contains(&id[..])) {
                let better = self.files.get(&build_id).is_none_or(|known| !has_symbols(known) && has_symbols(&path));
                if better {
                    self.files.insert(build_id, path);
                }
            }
        }
    }

    /// The files by their build-ids.
    pub(crate) fn into_files(self) -> HashMap<Vec<u8>, PathBuf> {
        self.files
    }
}

/// `.build-id/xx/yyyy.debug`.
pub(crate) fn usual_path(build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!(".build-id/{first:02x}/{rest}.debug").into())
}

fn build_id_of(path: &Path) -> Option<Vec<u8>> {
    // To open a pipe would wait for its writer.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    ada_image::build_id(File::open(path).ok()?)
}

/// A stripped program has the build-id of its debug file, and none of its names.
fn has_symbols(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| {
        ada_image::DebugImage::parse(&bytes).is_ok_and(|debug| !ada_image::SymbolNames::of(&debug).is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_path_splits_off_the_first_byte() {
        assert_eq!(usual_path(&[0xab, 0x01, 0xff]), Some(".build-id/ab/01ff.debug".into()));
        assert_eq!(usual_path(&[]), None);
    }
}
