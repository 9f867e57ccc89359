//! The patterns of one option, and whether any function of the program fits each.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ada_event::ImageOffset;

use crate::function_pattern::{matches_function, matches_name};

/// Patterns by which the user names functions. Each knows whether it was met: one that no function fits is a slip, and is told.
#[derive(Debug, Default)]
pub struct PatternSet {
    patterns: Vec<(String, AtomicBool)>,
}

impl PatternSet {
    /// The patterns of an option, as the user has typed them.
    pub fn new(patterns: impl IntoIterator<Item = String>) -> Self {
        Self { patterns: patterns.into_iter().map(|pattern| (pattern, AtomicBool::new(false))).collect() }
    }

    /// Whether there is one.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether a function's name fits one of them.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.meet(|pattern| matches_name(pattern, name))
    }

    /// Whether a function fits one of them by its name, module or offset.
    pub(crate) fn has_function(&self, path: &Path, name: Option<&str>, start: ImageOffset) -> bool {
        self.meet(|pattern| matches_function(pattern, path, name, start))
    }

    /// All are asked: two may fit the same functions.
    fn meet(&self, fits: impl Fn(&str) -> bool) -> bool {
        let met = self.patterns.iter().filter(|(pattern, _)| fits(pattern));
        met.map(|(_, is_met)| is_met.store(true, Ordering::Relaxed)).count() > 0
    }

    /// Those that no function has met, in words that name the option.
    pub(crate) fn unmet(&self, option: &str) -> Option<String> {
        let unmet = self.patterns.iter().filter(|(_, is_met)| !is_met.load(Ordering::Relaxed));
        let patterns: Vec<&str> = unmet.map(|(pattern, _)| pattern.as_str()).collect();
        (!patterns.is_empty()).then(|| format!("no function of the program matches {option} {}", patterns.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_nothing_fits_are_named() {
        let set = PatternSet::new(["open*", "openat", "opne", "_Z*"].map(str::to_owned));
        assert!(set.has_name("openat") && !set.has_name("close"));
        assert_eq!(set.unmet("--args").unwrap(), "no function of the program matches --args opne,_Z*");
        assert!(set.has_function(Path::new("/bin/x"), Some("_Z1av"), ImageOffset(0)) && set.has_name("opne"));
        assert_eq!(set.unmet("--args"), None);
    }
}
