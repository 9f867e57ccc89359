//! Which of a function's names is the most specific one.
//!
//! libc's `write` is also `__write`, `__GI___write` and `__libc_write`. People know the first, so, in this order:
//!
//! 1. a function's own name before that of a cold part or a compiler's clone (`f.cold`, `f.part.0`, `f.isra.0`),
//! 2. a function's name before that of an assembler label,
//! 3. a name that other files can use before a file's private one,
//! 4. a name with fewer underscores in front (those that mangling puts there do not count),
//! 5. the shorter one, and then the first of the alphabet, so that the choice is always the same.

/// Sorts better names before worse ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NameRank<'d> {
    is_part: bool,
    is_label: bool,
    is_local: bool,
    underscores: usize,
    length: usize,
    pub(crate) name: &'d [u8],
}

impl<'d> NameRank<'d> {
    pub(crate) fn new(name: &'d [u8], is_label: bool, is_local: bool) -> Self {
        Self { is_part: is_part(name), is_label, is_local, underscores: underscores(name), length: name.len(), name }
    }
}

/// Whether the name is that of a function's cold part, which is jumped into and not called. BOLT, which rustc is built
/// with, has warm ones too.
pub(crate) fn is_cold_part(name: &[u8]) -> bool {
    let is_mark = |window: &[u8]| window == b".cold" || window == b".warm";
    name.last_chunk::<5>().is_some_and(|end| is_mark(end))
        || name.windows(6).any(|window| is_mark(&window[..5]) && window[5] == b'.')
}

/// Compilers put a dot, which no language has in its names, before what they append.
fn is_part(name: &[u8]) -> bool {
    name.iter().skip(1).any(|&byte| byte == b'.')
}

fn underscores(name: &[u8]) -> usize {
    if name.starts_with(b"_Z") || name.starts_with(b"_R") || name.starts_with(b"_T0") {
        return 0;
    }
    name.iter().take_while(|&&byte| byte == b'_').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best<'d>(names: &[(&'d str, bool)]) -> &'d str {
        let ranks = names.iter().map(|&(name, local)| NameRank::new(name.as_bytes(), false, local));
        std::str::from_utf8(ranks.min().unwrap().name).unwrap()
    }

    #[test]
    fn the_name_that_people_know_wins() {
        assert_eq!(best(&[("__GI___write", true), ("__write", false), ("write", false)]), "write");
        assert_eq!(best(&[("_IO_puts", false), ("puts", false)]), "puts");
        assert_eq!(best(&[("a", true), ("global_name", false)]), "global_name");
        assert_eq!(best(&[("_ZN1AC2Ev", false), ("_ZN1AC1Ev", false)]), "_ZN1AC1Ev");
        assert_eq!(best(&[("f.cold", false), ("__f", true)]), "__f");
    }

    #[test]
    fn cold_parts_are_known_by_their_suffix() {
        for name in ["main.cold", "_Z1fv.cold.12", "a.isra.0.cold", ".cold", "f.warm"] {
            assert!(is_cold_part(name.as_bytes()), "{name}");
        }
        for name in ["main", "cold", "a.colder", "my_cold.isra.0", ""] {
            assert!(!is_cold_part(name.as_bytes()), "{name}");
        }
    }
}
