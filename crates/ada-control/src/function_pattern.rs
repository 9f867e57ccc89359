//! Patterns by which users name functions and modules.

use std::path::Path;

use ada_event::ImageOffset;
use ada_image::{IMPLEMENTATION, demangle, glob};

/// Whether a pattern matches the function's name, its module and offset (`libc.so.6+0x1234`), or the module's path or file name.
pub fn matches_function(pattern: &str, path: &Path, name: Option<&str>, start: ImageOffset) -> bool {
    let file = path.file_name().map(|file| file.to_string_lossy()).unwrap_or_default();
    glob(pattern, &file)
        || glob(pattern, &path.to_string_lossy())
        || name.is_some_and(|name| glob(pattern, name) || matches_demangled(pattern, &demangle(name)))
        // Most patterns are names, and most functions have one.
        || (name.is_none() || pattern.contains("+0x")) && glob(pattern, &format!("{file}+{:#x}", start.0))
}

/// Whether a function's name matches a pattern, as the linker or as the source has it.
pub(crate) fn matches_name(pattern: &str, name: &str) -> bool {
    let is_other = name.starts_with('_') || name.ends_with(IMPLEMENTATION);
    glob(pattern, name) || is_other && matches_demangled(pattern, &demangle(name))
}

/// In full, without arguments, or by its last parts: `flush_line` for `Stats::flush_line(int)`. The commands that read
/// sessions do the same.
fn matches_demangled(pattern: &str, name: &str) -> bool {
    let named = name.strip_suffix(IMPLEMENTATION).unwrap_or(name);
    let plain = named.split('(').next().filter(|it| !it.is_empty()).unwrap_or(named);
    let is_wild = pattern.contains(['*', '?']);
    let is_end = || plain.strip_suffix(pattern).is_some_and(|before| before.ends_with("::"));
    glob(pattern, name) || glob(pattern, plain) || !is_wild && !pattern.is_empty() && is_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names_offsets_and_modules() {
        let matches = |pattern, name| matches_function(pattern, Path::new("/usr/bin/sort"), name, ImageOffset(0x1234));
        for pattern in ["sort", "/usr/bin/*", "compare"] {
            assert!(matches(pattern, Some("compare")), "{pattern}");
        }
        assert!(matches("a::b()", Some("_ZN1a1bEv")));
        assert!(matches("a::b", Some("_ZN1a1bEv")) && matches("b", Some("_ZN1a1bEv")));
        assert!(!matches("a", Some("_ZN1a1bEv")) && !matches("", Some("_ZN1a1bEv")));
        assert!(matches("strlen", Some("strlen[ifunc]")) && matches("str*", Some("strlen[ifunc]")));
        assert!(matches_name("strlen", "strlen[ifunc]") && !matches_name("strnlen", "strlen[ifunc]"));
        assert!(matches("sort+0x1234", None));
        assert!(!matches("sort+0x1235", None));
        assert!(matches("sort+0x1234", Some("compare")));
        assert!(!matches("sort+0x123", None) && !matches("tsort+0x1234", None));
    }
}
