//! Names as their languages write them.

use std::borrow::Cow;
use std::fmt::{self, Write};

use cpp_demangle::{BorrowedSymbol, DemangleOptions};
use symbolic_common::{Language, Name, NameMangling};
use symbolic_demangle::Demangle;

/// A name may refer back to its own parts and so grow exponentially; nobody reads more than this.
const MAX_LENGTH: usize = 64 * 1024;

/// The name as its language writes it, or `raw` itself where no language's mangling is recognised.
///
/// Rust's hash and LLVM's number are left out. What else a compiler appended to the name (`.cold`, `.isra.0`) stays.
pub fn demangle(raw: &str) -> Cow<'_, str> {
    let demangled = match raw.as_bytes() {
        // Rust's older mangling is a special case of C++'s, so Rust is asked first.
        [b'_', b'R', ..] => rust(raw),
        [b'_', b'Z', ..] => rust(raw).or_else(|| cpp(raw)),
        [b'$', b's' | b'S', ..] => swift(raw),
        _ => None,
    };
    demangled.map_or(Cow::Borrowed(raw), Cow::Owned)
}

fn rust(raw: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(raw).ok()?;
    let mut text = BoundedText::default();
    write!(text, "{name:#}").ok()?;
    Some(text.0)
}

fn cpp(raw: &str) -> Option<String> {
    let (symbol, suffix) = BorrowedSymbol::with_tail(raw.as_bytes()).ok()?;
    if !suffix.is_empty() && suffix[0] != b'.' {
        return None;
    }
    let mut text = BoundedText::default();
    symbol.structured_demangle(&mut text, &DemangleOptions::new()).ok()?;
    text.write_str(std::str::from_utf8(suffix).ok()?).ok()?;
    Some(text.0)
}

/// Swift's newer mangling, with arguments and results: functions may differ in nothing else.
fn swift(raw: &str) -> Option<String> {
    // What LLVM appended to distinguish copies is not part of the mangling.
    let (mangled, suffix) = raw.split_once('.').map_or((raw, ""), |(mangled, _)| (mangled, &raw[mangled.len()..]));
    let name = Name::new(mangled, NameMangling::Mangled, Language::Swift);
    let mut text = BoundedText::default();
    text.write_str(&name.demangle(symbolic_demangle::DemangleOptions::complete())?).ok()?;
    if !suffix[1.min(suffix.len())..].bytes().all(|byte| byte.is_ascii_digit()) {
        text.write_str(suffix).ok()?;
    }
    Some(text.0)
}

#[derive(Default)]
struct BoundedText(String);

impl Write for BoundedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_LENGTH {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_reads_as_written() {
        for (raw, name) in [
            ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back(int const&)"),
            ("_Z3fooi", "foo(int)"),
            ("$s4demo3addyS2i_SitYaF", "demo.add(Swift.Int, Swift.Int) async -> Swift.Int"),
            ("$s4demo3addyS2i_SitYaF.5", "demo.add(Swift.Int, Swift.Int) async -> Swift.Int"),
            ("$s4demo3addyS2i_SitYaF.cold", "demo.add(Swift.Int, Swift.Int) async -> Swift.Int.cold"),
            ("$sound", "$sound"),
            ("main", "main"),
            ("_Zebra", "_Zebra"),
            ("_start", "_start"),
            ("", ""),
        ] {
            assert_eq!(demangle(raw), name);
        }
    }

    #[test]
    fn what_the_compiler_appended_stays() {
        assert_eq!(demangle("_Z3foov.cold"), "foo() [clone .cold]");
        assert_eq!(demangle("_ZN3foo3bar17h0123456789abcdefE.llvm.42"), "foo::bar");
        assert_eq!(demangle("foo.part.0"), "foo.part.0");
    }

    #[test]
    fn a_name_that_grows_without_end_stays_as_it_is() {
        // Each parameter is a pair of the one before: pair<int, int>, pair<pair<int, int>, pair<int, int>>, …
        let pairs: String = "0123456789ABCD".chars().map(|before| format!("S_IS{before}_S{before}_E")).collect();
        let bomb = format!("_Z1fSt4pairIiiE{pairs}");
        let unlimited = cpp_demangle::Symbol::new(&bomb).unwrap().demangle().unwrap();
        assert!(unlimited.len() > MAX_LENGTH);
        assert_eq!(demangle(&bomb), bomb);
    }
}
