//! Who says that there is a function.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of the tables in which a function was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sources(u8);

impl Sources {
    /// The image's own `.symtab`.
    pub const SYMTAB: Self = Self(1);
    /// The dynamic symbols.
    pub const DYNSYM: Self = Self(2);
    /// The `.symtab` inside `.gnu_debugdata`.
    pub const MINI_DEBUG: Self = Self(4);
    /// The `.symtab` of a separate debug file.
    pub const DEBUG_FILE: Self = Self(8);
    /// The unwind table.
    pub const UNWIND: Self = Self(16);
    /// The table of Go's linker, `.gopclntab`.
    pub const GO: Self = Self(32);

    const NAMES: [(Self, &'static str); 6] = [
        (Self::SYMTAB, "symtab"),
        (Self::DYNSYM, "dynsym"),
        (Self::MINI_DEBUG, "mini-debug"),
        (Self::DEBUG_FILE, "debug-file"),
        (Self::UNWIND, "unwind"),
        (Self::GO, "gopclntab"),
    ];

    /// The set as a number whose bits never change their meaning, for storing.
    pub const fn bits(self) -> u8 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Whether all of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether a table with names is in this set.
    pub const fn has_symbol(self) -> bool {
        self.0 & !Self::UNWIND.0 != 0
    }
}

impl BitOr for Sources {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Sources {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Display for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (source, name) in Self::NAMES {
            if self.contains(source) {
                write!(f, "{separator}{name}")?;
                separator = "+";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_shows_its_members() {
        let sources = Sources::UNWIND | Sources::SYMTAB;
        assert_eq!(sources.to_string(), "symtab+unwind");
        assert!(sources.contains(Sources::UNWIND) && !sources.contains(Sources::DYNSYM));
        assert!(sources.has_symbol() && !Sources::UNWIND.has_symbol());
    }
}
