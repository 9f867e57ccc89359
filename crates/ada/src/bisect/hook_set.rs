//! All hooks of a traced command, and sets of them.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use ada_event::ImageOffset;
use ada_format::atf::{FunctionRow, Session, functions_file, read_functions};
use anyhow::Context;

use crate::hook_list::HookList;

/// One hook: the numbers of its file and function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Hook {
    pub(crate) file: usize,
    pub(crate) function: usize,
}

/// A file, and those of its functions that have hooks.
#[derive(Clone, Debug, Default)]
pub(crate) struct HookedFile {
    pub(crate) path: PathBuf,
    pub(crate) functions: Vec<HookedFunction>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HookedFunction {
    pub(crate) offset: ImageOffset,
    /// Empty where nobody knows.
    pub(crate) name: String,
}

/// Every function that was hooked in any process of some sessions.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllHooks {
    pub(crate) files: Vec<HookedFile>,
}

/// Collects them.
#[derive(Debug, Default)]
pub(crate) struct HookReader {
    files: BTreeMap<PathBuf, BTreeMap<u64, String>>,
}

impl HookReader {
    /// Adds those of a session, and with `excluded` also what might have been hooked and was not to be.
    pub(crate) fn add(&mut self, session: &Path, excluded: bool) -> anyhow::Result<()> {
        let session = Session::open(session)?;
        let has_hooks = |row: &FunctionRow| row.verdict != "skipped" || excluded && row.reason == "excluded";
        // Processes that have the same module have the same list.
        let mut seen = HashSet::new();
        for process in session.processes() {
            for module in process.manifest.iter().flat_map(|manifest| &manifest.modules) {
                if !seen.insert(module.module_id) {
                    continue;
                }
                let path = process.path.join(functions_file(module.module_id));
                let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
                let rows = read_functions(&text).with_context(|| format!("{} is damaged", path.display()))?;
                let functions = self.files.entry(PathBuf::from(&module.path)).or_default();
                functions.extend(rows.into_iter().filter(has_hooks).map(|row| (row.offset.0, row.name)));
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> AllHooks {
        let function = |(offset, name)| HookedFunction { offset: ImageOffset(offset), name };
        let files = self.files.into_iter().filter(|(_, functions)| !functions.is_empty());
        let file = |(path, functions): (PathBuf, BTreeMap<u64, String>)| HookedFile {
            path,
            functions: functions.into_iter().map(function).collect(),
        };
        AllHooks { files: files.map(file).collect() }
    }
}

impl AllHooks {
    /// Those that others rely on. A file that cannot be read any more has none.
    pub(crate) fn relied_on(&self) -> Vec<Hook> {
        let of_file = |(file, known): (usize, &HookedFile)| {
            let starts = ada_control::relied_on(&known.path).unwrap_or_default();
            let number =
                |start| known.functions.binary_search_by_key(start, |function: &HookedFunction| function.offset).ok();
            let mut numbers: Vec<usize> = starts.iter().filter_map(number).collect();
            numbers.sort_unstable();
            numbers.into_iter().map(move |function| Hook { file, function })
        };
        self.files.iter().enumerate().flat_map(of_file).collect()
    }

    /// All of them.
    pub(crate) fn hooks(&self) -> Vec<Hook> {
        let of_file = |(file, known): (usize, &HookedFile)| {
            (0..known.functions.len()).map(move |function| Hook { file, function })
        };
        self.files.iter().enumerate().flat_map(of_file).collect()
    }

    /// A set of them for `ada trace`.
    pub(crate) fn list(&self, hooks: &[Hook]) -> HookList {
        let mut list = HookList::default();
        for hook in hooks {
            list.add(&self.files[hook.file].path, self.function(*hook).offset);
        }
        list
    }

    pub(crate) fn function(&self, hook: Hook) -> &HookedFunction {
        &self.files[hook.file].functions[hook.function]
    }

    /// A function's name, or its file and offset where it has none.
    pub(crate) fn name(&self, hook: Hook) -> String {
        let function = self.function(hook);
        match function.name.is_empty() {
            true => self.place(hook),
            false => ada_image::demangle(&function.name).into_owned(),
        }
    }

    /// Its file and offset.
    pub(crate) fn place(&self, hook: Hook) -> String {
        format!("{}+{:#x}", self.file_name(hook.file), self.function(hook).offset.0)
    }

    pub(crate) fn file_name(&self, file: usize) -> String {
        let path = &self.files[file].path;
        path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy()).into_owned()
    }

    /// The pattern for `--exclude` that leaves this one alone, and as few others as can be.
    pub(crate) fn pattern(&self, hook: Hook) -> String {
        let name = &self.function(hook).name;
        let same = self.files.iter().flat_map(|file| &file.functions).filter(|other| other.name == *name);
        // A name can have signs that stand for any others: `operator*`.
        let is_plain = !name.is_empty() && !name.contains(['*', '?']);
        if is_plain && same.count() == 1 { name.clone() } else { self.place(hook) }
    }

    /// A set in a few words.
    pub(crate) fn words(&self, hooks: &[Hook]) -> String {
        let mut files: Vec<usize> = hooks.iter().map(|hook| hook.file).collect();
        files.dedup();
        match (hooks, &files[..]) {
            ([], _) => "no hooks".into(),
            ([hook], _) => format!("1 hook, {}", self.name(*hook)),
            (_, [file]) => format!("{} hooks in {}", hooks.len(), self.file_name(*file)),
            (_, files) => format!("{} hooks in {} files", hooks.len(), files.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hooks() -> AllHooks {
        let function = |(number, name): (usize, &&str)| HookedFunction {
            offset: ImageOffset(0x1000 + number as u64),
            name: (*name).into(),
        };
        let file = |path: &str, names: &[&str]| HookedFile {
            path: path.into(),
            functions: names.iter().enumerate().map(function).collect(),
        };
        AllHooks { files: vec![file("/bin/x", &["main", "", "f"]), file("/lib/y", &["f", "_Zmlii"])] }
    }

    #[test]
    fn patterns_leave_one_function_alone() {
        let all = hooks();
        let patterns: Vec<String> = all.hooks().into_iter().map(|hook| all.pattern(hook)).collect();
        assert_eq!(patterns, ["main", "x+0x1001", "x+0x1002", "y+0x1000", "_Zmlii"]);
    }

    #[test]
    fn sets_have_short_names() {
        let all = hooks();
        let hooks = all.hooks();
        assert_eq!(all.words(&[]), "no hooks");
        assert_eq!(all.words(&hooks[1..2]), "1 hook, x+0x1001");
        assert_eq!(all.words(&hooks[..2]), "2 hooks in x");
        assert_eq!(all.words(&hooks), "5 hooks in 2 files");
        assert!(all.list(&hooks[..1]).has(Path::new("/bin/x"), ImageOffset(0x1000)));
        assert!(!all.list(&hooks[1..]).has(Path::new("/bin/x"), ImageOffset(0x1000)));
    }
}
