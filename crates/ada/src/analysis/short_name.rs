//! Long names, in the room that there is.

/// Columns that a call with its values keeps, however narrow the terminal is: what came of it, and a word of an argument.
pub(crate) const SHORTEST_CALL: usize = 32;

/// A name in so many columns: first without what is in its brackets, then without its middle. The beginning says where it
/// belongs, the end what it is.
pub(crate) fn short_name(name: &str, columns: usize) -> String {
    if name.chars().count() <= columns {
        return name.to_owned();
    }
    let mut shorter = name.to_owned();
    for (open, close) in [('(', ')'), ('<', '>')] {
        shorter = without_inner(&shorter, open, close);
        if shorter.chars().count() <= columns {
            return shorter;
        }
    }
    let letters: Vec<char> = shorter.chars().collect();
    let kept = columns.saturating_sub(1);
    let tail = kept.div_ceil(2);
    let head = kept - tail;
    letters[..head].iter().chain(['…'].iter()).chain(&letters[letters.len() - tail..]).collect()
}

/// The last two parts of a name, without brackets: `_Rb_tree::insert`.
pub(crate) fn brief_name(name: &str) -> String {
    // In Go, brackets before a dot are whose method it is.
    if name.contains(").") && !name.contains("::") {
        return name.to_owned();
    }
    let plain = without_inner(&without_inner(name, '(', ')'), '<', '>').replace("<…>", "").replace("()", "");
    let parts: Vec<&str> = plain.split("::").filter(|part| !part.is_empty()).collect();
    parts[parts.len().saturating_sub(2)..].join("::")
}

/// `map<…>::insert(…)`: brackets with a mark for what was in them.
fn without_inner(name: &str, open: char, close: char) -> String {
    let mut text = String::new();
    let mut depth = 0_usize;
    let mut before = ' ';
    for letter in name.chars() {
        // `->` and `operator<` close and open nothing.
        let is_close = letter == close && before != '-' && depth > 0;
        let is_open = letter == open && !text.ends_with("operator");
        if is_close {
            depth -= 1;
        }
        if depth == 0 {
            text.push(letter);
        }
        if is_open {
            if depth == 0 {
                text.push('…');
            }
            depth += 1;
        }
        before = letter;
    }
    // Brackets that do not match say nothing.
    if depth > 0 { name.to_owned() } else { text.replace("(…)", "()") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_go_first_and_then_the_middle() {
        let name = "std::vector<std::pair<int, long>>::push_back(std::pair<int, long>&&)";
        assert_eq!(short_name(name, 80), name);
        assert_eq!(short_name(name, 50), "std::vector<std::pair<int, long>>::push_back()");
        assert_eq!(short_name(name, 30), "std::vector<…>::push_back()");
        assert_eq!(short_name(name, 15), "std::ve…_back()");
        assert_eq!(short_name("a_rather_long_name_of_a_function", 11), "a_rat…ction");
        assert_eq!(short_name("<a as b<c>>::f", 9), "<…>::f");
        assert_eq!(short_name("operator<(x, y)", 12), "operator<()");
        assert_eq!(brief_name(name), "vector::push_back");
        assert_eq!(brief_name("memcpy"), "memcpy");
        for columns in 0..20 {
            assert!(short_name("f(<((>>", columns).chars().count() <= columns.max(1));
        }
    }
}
