//! Demangled names as people type them.

use crate::IMPLEMENTATION;

/// C++ names have their arguments; people rarely type them.
pub fn without_arguments(name: &str) -> &str {
    let name = arguments_cut(name.strip_suffix(IMPLEMENTATION).unwrap_or(name));
    // Compilers mark functions whose results have changed with the library's.
    name.rfind("[abi:").filter(|_| name.ends_with(']')).map_or(name, |mark| &name[..mark])
}

fn arguments_cut(name: &str) -> &str {
    let Some(end) = name.rfind(')') else { return name };
    let mut depth = 0_usize;
    for (at, character) in name[..=end].char_indices().rev() {
        match character {
            ')' => depth += 1,
            // Behind a dot it is the receiver of a method of Go's.
            '(' if depth == 1 && at > 0 && !name[..at].ends_with('.') => return &name[..at],
            '(' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_arguments_and_nothing_else() {
        for (name, expected) in [
            ("open", "open"),
            ("a::b(int, char)", "a::b"),
            ("f(void (*)(int))", "f"),
            ("S::operator()(int) const", "S::operator()"),
            ("g<int (char)>(long)", "g<int (char)>"),
            ("main.(*person).older", "main.(*person).older"),
            ("h::{closure#0}", "h::{closure#0}"),
            (")(", ")("),
            ("repeat[abi:cxx11](int, char)", "repeat"),
            ("strlen[ifunc]", "strlen"),
        ] {
            assert_eq!(without_arguments(name), expected);
        }
    }
}
