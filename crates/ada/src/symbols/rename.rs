//! Puts names into a process's function lists, without a moment in which a list is not whole.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;

use ada_format::atf::{FunctionRow, Manifest, Module, functions_file, read_functions, write_functions};
use ada_format::private::Replacement;
use ada_image::{DebugImage, SymbolNames};
use anyhow::Context;

/// How the names of a module changed.
pub(super) struct NamedModule {
    /// Functions that had no name.
    pub(super) gained: usize,
    /// Functions that had a less specific one.
    pub(super) improved: usize,
    /// Functions that have none now.
    pub(super) unnamed: usize,
    pub(super) functions: usize,
}

/// Whether functions of a module have no names; not where its list cannot be read.
pub(super) fn has_nameless(folder: &Path, module: &Module) -> bool {
    let rows = || read_functions(&fs::read_to_string(folder.join(functions_file(module.module_id))).ok()?).ok();
    rows().is_some_and(|rows| rows.iter().any(|row| row.name.is_empty()))
}

/// The lists and the manifest of a process, to be replaced together.
pub(super) struct ProcessNames<'a> {
    folder: &'a Path,
    manifest: Manifest,
    /// Written and not in place yet.
    ready: Vec<Replacement>,
}

impl<'a> ProcessNames<'a> {
    pub(super) fn new(folder: &'a Path, manifest: &Manifest) -> Self {
        Self { folder, manifest: manifest.clone(), ready: Vec::new() }
    }

    /// Prepares the list of the manifest's module `index` with the names that `file` has.
    pub(super) fn supply(&mut self, index: usize, file: &Path) -> anyhow::Result<NamedModule> {
        let module = &mut self.manifest.modules[index];
        let path = self.folder.join(functions_file(module.module_id));
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut rows = read_functions(&text).with_context(|| format!("{} is damaged", path.display()))?;
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let debug =
            DebugImage::parse(&bytes).with_context(|| format!("cannot use the debug file {}", file.display()))?;
        let named = rename(&mut rows, &SymbolNames::of(&debug));
        if named.gained + named.improved > 0 {
            module.function_table_hash = Some(format!("{:016x}", hash(&rows)));
            let source = file.to_string_lossy().into_owned();
            if !module.names_from.contains(&source) {
                module.names_from.push(source);
            }
            let new = self.write_beside(&path, |out| write_functions(BufWriter::new(out), rows));
            new.with_context(|| format!("cannot write next to {}", path.display()))?;
        }
        Ok(named)
    }

    /// Renames everything: a list and its hash in the manifest belong together, so all is written before the
    /// first file is replaced.
    pub(super) fn save(mut self) -> io::Result<()> {
        if self.ready.is_empty() {
            return Ok(());
        }
        let json = self.manifest.to_json();
        self.write_beside(&self.folder.join("manifest.json"), |mut out| io::Write::write_all(&mut out, &json))?;
        for replacement in self.ready {
            replacement.finish()?;
        }
        Ok(())
    }

    fn write_beside(&mut self, path: &Path, write: impl FnOnce(File) -> io::Result<()>) -> io::Result<()> {
        let (replacement, file) = Replacement::begin(path)?;
        self.ready.push(replacement);
        write(file)
    }
}

fn rename(rows: &mut [FunctionRow], names: &SymbolNames<'_>) -> NamedModule {
    let mut named = NamedModule { gained: 0, improved: 0, unnamed: 0, functions: rows.len() };
    for row in rows {
        if let Some(name) = names.better_than(&row.name, row.offset) {
            *if row.name.is_empty() { &mut named.gained } else { &mut named.improved } += 1;
            row.name = name.into_owned();
        }
        named.unnamed += usize::from(row.name.is_empty());
    }
    named
}

fn hash(rows: &[FunctionRow]) -> u64 {
    ada_image::function_table_hash(rows.iter().map(|row| (row.offset, row.size, Some(&*row.name))))
}
