//! A list of functions to hook, and no others: how `ada bisect` tells `ada trace` what to try.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use ada_event::ImageOffset;
use anyhow::Context;

/// Functions by their files' paths.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HookList {
    files: HashMap<PathBuf, HashSet<u64>>,
}

impl HookList {
    pub(crate) fn add(&mut self, file: &Path, function: ImageOffset) {
        if let Some(functions) = self.files.get_mut(file) {
            functions.insert(function.0);
        } else {
            self.files.insert(file.to_owned(), HashSet::from([function.0]));
        }
    }

    pub(crate) fn has(&self, file: &Path, function: ImageOffset) -> bool {
        self.files.get(file).is_some_and(|functions| functions.contains(&function.0))
    }

    /// A file's path after each `=`, and its functions below it.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        for (file, functions) in &self.files {
            let _ = writeln!(text, "={}", file.display());
            for function in functions {
                let _ = writeln!(text, "{function:x}");
            }
        }
        text
    }

    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut list = Self::default();
        let mut file = None;
        for (number, line) in text.lines().enumerate() {
            if let Some(path) = line.strip_prefix('=') {
                file = Some(Path::new(path));
            } else {
                let offset = u64::from_str_radix(line, 16).ok().zip(file);
                let (offset, file) = offset.with_context(|| format!("line {} is not a function", number + 1))?;
                list.add(file, ImageOffset(offset));
            }
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_reads_back() {
        let mut list = HookList::default();
        for (file, function) in [("/bin/a", 0x10), ("/bin/a", 0x20), ("/lib/b c", 0x10)] {
            list.add(Path::new(file), ImageOffset(function));
        }
        let read = HookList::parse(&list.to_text()).unwrap();
        assert_eq!(read, list);
        assert!(read.has(Path::new("/lib/b c"), ImageOffset(0x10)));
        assert!(
            !read.has(Path::new("/lib/b c"), ImageOffset(0x20)) && !read.has(Path::new("/lib/d"), ImageOffset(0x10))
        );
        assert_eq!(HookList::parse("").unwrap(), HookList::default());
        for wrong in ["10", "=/bin/a\n0x10", "=/bin/a\n\n"] {
            assert!(HookList::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
