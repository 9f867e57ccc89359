//! The prototypes that are known by name: those of the C library, and some of libstdc++.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::{Prototype, notation};

/// A function of the table.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// What it takes and gives.
    pub prototype: &'static Prototype,
    /// What is captured of it unless the user says otherwise.
    pub by_default: ByDefault,
}

/// What is captured of a function that nobody has asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByDefault {
    /// Nothing.
    Nothing,
    /// The registers of its arguments and of its result.
    Registers,
    /// All that its prototype tells of.
    Everything,
}

impl ByDefault {
    /// The mark at the beginning of a line, and the rest of it.
    fn of(line: &str) -> (Self, &str) {
        let marked = |mark: &str, what| line.strip_prefix(mark).map(|line| (what, line));
        marked("+ ", Self::Everything).or_else(|| marked("~ ", Self::Registers)).unwrap_or((Self::Nothing, line))
    }
}

const LINES: &str = include_str!("prototypes.txt");

static TABLE: LazyLock<HashMap<&'static str, (Prototype, ByDefault)>> = LazyLock::new(|| {
    let lines = LINES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let known = lines.filter_map(|line| {
        let (by_default, line) = ByDefault::of(line);
        Some((line.split('(').next()?, (notation::parse(line).ok()?, by_default)))
    });
    known.collect()
});

/// What is known of the function of this name, or of the one that it is an implementation of.
pub fn known(name: &str) -> Option<Known> {
    let (prototype, by_default) = TABLE.get(name).or_else(|| TABLE.get(implementation_of(name)?))?;
    Some(Known { prototype, by_default: *by_default })
}

/// What a function implements for some processors: `strlen` for `__strlen_avx2`, and for `strlen[ifunc]`, which `ada-image` calls one
/// that has no name.
fn implementation_of(name: &str) -> Option<&str> {
    const EXTENSIONS: [&str; 6] = ["_sse", "_ssse", "_avx", "_evex", "_erms", "_fma"];
    if let Some(name) = name.strip_suffix("[ifunc]") {
        return Some(name);
    }
    let name = name.strip_prefix("__")?;
    let start = EXTENSIONS.into_iter().filter_map(|extension| name.find(extension)).min()?;
    Some(&name[..start])
}

/// Whether a file of this name is the C library, or a part of it. Others have functions of the same names with another meaning.
pub fn is_c_library(file: &str) -> bool {
    ["libc", "libpthread", "libm", "libdl", "librt", "ld-musl"].into_iter().any(|name| is_library(file, name))
}

/// The same for libstdc++.
pub fn is_cxx_library(file: &str) -> bool {
    is_library(file, "libstdc++")
}

fn is_library(file: &str, name: &str) -> bool {
    file.contains(".so") && file.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_is_known_by_its_name() {
        for file in ["libc.so.6", "libc-2.31.so", "libm.so.6", "ld-musl-x86_64.so.1", "libc.musl-x86_64.so.1"] {
            assert!(is_c_library(file), "{file}");
        }
        for file in ["libcurl.so.4", "libc", "libmagic.so.1", "a.out", "libcap.so.2"] {
            assert!(!is_c_library(file), "{file}");
        }
        assert!(
            is_cxx_library("libstdc++.so.6.0.30") && !is_c_library("libstdc++.so.6") && !is_cxx_library("libc++.so.1")
        );
    }

    #[test]
    fn every_line_is_a_prototype_of_a_name_of_its_own() {
        let lines: Vec<&str> = LINES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        for line in &lines {
            let written = ByDefault::of(line).1;
            assert_eq!(notation::parse(written).map(|prototype| prototype.to_string()).as_deref(), Ok(written));
        }
        assert_eq!(TABLE.len(), lines.len());
    }

    #[test]
    fn what_is_called_all_the_time_is_not_captured_by_default() {
        let by_default = |name| known(name).map(|known| known.by_default);
        assert_eq!(by_default("open"), Some(ByDefault::Everything));
        for name in ["malloc", "free", "strlen", "memcpy", "pthread_mutex_lock", "strcmp"] {
            assert_eq!(by_default(name), Some(ByDefault::Nothing));
        }
        for name in ["read", "write", "close"] {
            assert_eq!(by_default(name), Some(ByDefault::Registers));
        }
        assert!(known("my_open").is_none() && known("strlen_avx2").is_none());
        for (name, of) in [
            ("__strlen_evex512", "strlen"),
            ("__memcpy_avx_unaligned_erms", "memcpy"),
            ("__sin_fma", "sin"),
            ("__fma_fma3", "fma"),
            ("strlen[ifunc]", "strlen"),
        ] {
            assert_eq!(known(name).map(|known| known.prototype.name.as_str()), Some(of));
        }
    }
}
