//! Patterns by which people name functions and files.

use std::str::Chars;

/// Whether a whole text matches a pattern in which `*` stands for anything and `?` for one character.
pub fn glob(pattern: &str, text: &str) -> bool {
    Wildcards { any: '*', one: '?', ignores_ascii_case: false }.matches(pattern, text)
}

/// Which characters of a pattern are wild. There is no way to mean these characters themselves.
#[derive(Clone, Copy, Debug)]
pub struct Wildcards {
    /// Stands for anything, and for nothing.
    pub any: char,
    /// Stands for one character.
    pub one: char,
    /// Whether ASCII letters are alike in both cases.
    pub ignores_ascii_case: bool,
}

impl Wildcards {
    /// Whether a whole text matches a pattern. Goes back to the newest wildcard only, which takes time by the product
    /// of both lengths at most.
    pub fn matches(self, pattern: &str, text: &str) -> bool {
        let (mut pattern, mut text) = (pattern.chars(), text.chars());
        // Where to go on when the newest guess for "anything" was too short.
        let mut retry: Option<(Chars<'_>, Chars<'_>)> = None;
        loop {
            let (at, from) = (pattern.clone(), text.clone());
            let wanted = pattern.next();
            if wanted == Some(self.any) {
                retry = Some((at, from));
                continue;
            }
            let Some(seen) = text.next() else { return wanted.is_none() };
            if wanted.is_some_and(|wanted| wanted == self.one || self.is_same(wanted, seen)) {
                continue;
            }
            let Some((star, mut longer)) = retry else { return false };
            longer.next();
            retry = Some((star.clone(), longer.clone()));
            (pattern, text) = (star, longer);
            pattern.next();
        }
    }

    fn is_same(self, wanted: char, seen: char) -> bool {
        wanted == seen || self.ignores_ascii_case && wanted.eq_ignore_ascii_case(&seen)
    }
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
            ("", "a", false),
            ("*", "", true),
            ("**", "a", true),
            ("?", "ä", true),
            ("main", "main2", false),
            ("main", "Main", false),
            ("*aab", "aaab", true),
            ("a*?", "a", false),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn other_characters_can_be_wild() {
        let like = Wildcards { any: '%', one: '_', ignores_ascii_case: true };
        assert!(like.matches("PARSE_%", "parse_number") && like.matches("%NUM_ER", "parse_number"));
        assert!(!like.matches("parse*", "parse_number") && !like.matches("Ä", "ä"));
    }
}
