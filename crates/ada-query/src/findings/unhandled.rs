//! What went wrong in the words of a language, known by the runtime's functions.

/// What went wrong in the words of a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unhandled {
    /// A Rust panic.
    Panic,
    /// An exception of C++ that nobody caught.
    Exception,
}

impl Unhandled {
    /// What one call of a function means, as linkers spell it. Each panic and each uncaught exception calls one of these
    /// once.
    pub fn raised_by(raw: &str) -> Option<Self> {
        match raw {
            _ if raw.contains("panic_with_hook") => Some(Self::Panic),
            _ if raw.starts_with("_ZN10__cxxabiv111__terminateE") => Some(Self::Exception),
            _ => None,
        }
    }

    /// The kind of such a finding.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::Exception => "uncaught_exception",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_and_uncaught_exceptions_are_told_by_what_the_runtimes_call_once() {
        let legacy = "_ZN3std9panicking20rust_panic_with_hook17h0123456789abcdefE";
        assert_eq!(Unhandled::raised_by(legacy), Some(Unhandled::Panic));
        // It had another name before.
        let v0 = "_RNvNtCs5QKde7ScR4Z_3std9panicking15panic_with_hook";
        assert_eq!(Unhandled::raised_by(v0), Some(Unhandled::Panic));
        assert_eq!(Unhandled::raised_by("_ZN10__cxxabiv111__terminateEPFvvE"), Some(Unhandled::Exception));
        assert_eq!(Unhandled::raised_by("__cxa_throw"), None);
    }
}
