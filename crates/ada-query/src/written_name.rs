//! A function's name as its source has it.

/// What compilers add to the name of a function whose arguments they have changed, or which they have made known elsewhere. It is
/// still the function, and from build to build it may have this or not. Parts of functions (`.part`, `.cold`) are others.
const MADE_OF: [&str; 4] = ["isra", "constprop", "lto_priv", "llvm"];

/// A name without what a compiler has added: `next_of` for `next_of.isra.0`.
pub fn written_name(name: &str) -> &str {
    let mut name = name;
    loop {
        let shorter = name.strip_suffix(']').and_then(|it| it.rsplit_once(" [clone .")).map(|(before, clone)| {
            let kind = clone.split('.').next().unwrap_or_default();
            (before, MADE_OF.contains(&kind))
        });
        let shorter = shorter.or_else(|| {
            let (before, number) = name.rsplit_once('.')?;
            let (before, kind) = before.rsplit_once('.')?;
            let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
            Some((before, is_number && MADE_OF.contains(&kind)))
        });
        match shorter {
            Some((before, true)) if !before.is_empty() => name = before,
            _ => return name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_compilers_add_is_left_out() {
        for (name, written) in [
            ("next_of.isra.0", "next_of"),
            ("next_of.constprop.0.isra.12", "next_of"),
            ("Cache::get(char, double) [clone .isra.0]", "Cache::get(char, double)"),
            ("f(int) [clone .constprop.1] [clone .lto_priv.0]", "f(int)"),
            ("helper.llvm.1234567890", "helper"),
            ("next_of.part.0", "next_of.part.0"),
            ("f(int) [clone .cold]", "f(int) [clone .cold]"),
            ("main.isra", "main.isra"),
            ("main.(*T).isra.x", "main.(*T).isra.x"),
            (".isra.0", ".isra.0"),
            ("", ""),
        ] {
            assert_eq!(written_name(name), written);
        }
    }
}
