//! One way to name functions, for all commands.

use ada_event::FunctionId;
use ada_image::{glob, without_arguments};

use crate::trace::TraceProcess;
use crate::written_name::written_name;

/// A function's name as people type it: in full, without arguments, by its last parts (`flush_line` for
/// `StatsRegistry::flush_line`), as linkers spell it, or with wildcards `*` and `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionPattern {
    text: String,
    is_wild: bool,
}

impl FunctionPattern {
    /// What was typed.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), is_wild: text.contains(['*', '?']) }
    }

    /// Whether a demangled name is meant.
    pub fn matches(&self, name: &str) -> bool {
        let written = written_name(name);
        self.is_meant(name) || written != name && self.is_meant(written)
    }

    fn is_meant(&self, name: &str) -> bool {
        let plain = without_arguments(name);
        if self.text == name || self.text == plain {
            return true;
        }
        if self.is_wild {
            return glob(&self.text, name) || glob(&self.text, plain);
        }
        !self.text.is_empty() && plain.strip_suffix(self.text.as_str()).is_some_and(|before| before.ends_with("::"))
    }

    /// Whether a function is meant: by its name, the linker's one, or its id.
    pub fn matches_function(&self, process: &TraceProcess, function: FunctionId) -> bool {
        let raw = process.names.raw(function).unwrap_or_default().split('@').next().unwrap_or_default();
        let is_raw = !raw.is_empty() && (self.text == raw || self.is_wild && glob(&self.text, raw));
        is_raw || self.matches(&process.label(function).name) || self.is_id(function)
    }

    fn is_id(&self, function: FunctionId) -> bool {
        let id = self.text.strip_prefix("function:").unwrap_or(&self.text);
        id.starts_with(|it: char| it.is_ascii_digit()) && id == function.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_what_people_type() {
        let name = "net::StatsRegistry::flush_line(std::string const&)";
        for typed in
            ["flush_line", "StatsRegistry::flush_line", "net::StatsRegistry::flush_line", name, "*flush*", "net::*"]
        {
            assert!(FunctionPattern::new(typed).matches(name), "{typed}");
        }
        for typed in ["line", "flush", "Registry::flush_line", "*::line", ""] {
            assert!(!FunctionPattern::new(typed).matches(name), "{typed}");
        }
        assert!(FunctionPattern::new("main").matches("main"));
        // Compilers make others of them.
        assert!(FunctionPattern::new("next_of").matches("next_of.isra.0"));
        assert!(FunctionPattern::new("next_of.isra.0").matches("next_of.isra.0"));
        assert!(FunctionPattern::new("get").matches("Cache::get(char) [clone .isra.0]"));
    }
}
