//! Names as people type them: `*` stands for anything, `?` for one character.

/// Whether a whole text matches a pattern.
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

/// Whether a function's name matches a pattern, as the linker or as the source has it.
pub(crate) fn matches_name(pattern: &str, name: &str) -> bool {
    matches(pattern, name) || name.starts_with('_') && matches(pattern, &ada_image::demangle(name))
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_function_has_the_name_that_the_source_gave_it() {
        assert!(matches_name("a::b()", "_ZN1a1bEv") && matches_name("_ZN*", "_ZN1a1bEv"));
        assert!(!matches_name("a::c*", "_ZN1a1bEv"));
    }
}
