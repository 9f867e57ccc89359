//! Patterns by which users name functions and modules.

use std::path::Path;

use ada_event::ImageOffset;

/// Whether a pattern matches the function's name, or the module's path or file name. A function without a name is known
/// by its place, as `ada hooks` shows it.
pub fn matches_function(pattern: &str, path: &Path, name: Option<&str>, start: ImageOffset) -> bool {
    let file = path.file_name().map(|file| file.to_string_lossy()).unwrap_or_default();
    matches(pattern, &file)
        || matches(pattern, &path.to_string_lossy())
        || match name {
            Some(name) => matches(pattern, name) || matches(pattern, &ada_image::demangle(name)),
            None => matches(pattern, &format!("{file}+{:#x}", start.0)),
        }
}

/// Whether a function's name matches a pattern, as the linker or as the source has it.
pub(crate) fn matches_name(pattern: &str, name: &str) -> bool {
    matches(pattern, name) || name.starts_with('_') && matches(pattern, &ada_image::demangle(name))
}

/// Whether a whole text matches a pattern, in which `*` stands for anything and `?` for one character.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut seen) = (0, 0);
    // Where to go on when a guess for the last star was too short.
    let mut retry: Option<(usize, usize)> = None;
    while seen < text.len() {
        match pattern.get(at) {
            Some('*') => {
                retry = Some((at, seen));
                at += 1;
            }
            Some(&wanted) if wanted == '?' || wanted == text[seen] => {
                at += 1;
                seen += 1;
            }
            _ => match retry {
                Some((star, from)) => {
                    retry = Some((star, from + 1));
                    at = star + 1;
                    seen = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|&rest| rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names_places_and_modules() {
        let matches = |pattern, name| matches_function(pattern, Path::new("/usr/bin/sort"), name, ImageOffset(0x1234));
        for pattern in ["sort", "/usr/bin/*", "compare"] {
            assert!(matches(pattern, Some("compare")), "{pattern}");
        }
        assert!(matches("a::b()", Some("_ZN1a1bEv")));
        assert!(matches("sort+0x1234", None));
        assert!(!matches("sort+0x1235", None));
        assert!(!matches("sort+0x1234", Some("compare")));
    }

    #[test]
    fn stars_match_anything_and_nothing() {
        for (pattern, text, expected) in [
            ("libc*", "libc.so.6", true),
            ("*alloc*", "malloc", true),
            ("*a*b*c", "xaybzc", true),
            ("*a*b*c", "xaybz", false),
            ("f?o", "foo", true),
            ("f?o", "fo", false),
            ("", "", true),
            ("*", "", true),
            ("main", "main2", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
