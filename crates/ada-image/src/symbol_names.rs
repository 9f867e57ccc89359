//! The names that a debug file has for addresses, without the image that it belongs to.

use std::borrow::Cow;

use ada_event::ImageOffset;

use crate::DebugImage;
use crate::implementations::IMPLEMENTATION;
use crate::name_rank::NameRank;
use crate::symbol_table::SymbolKind;

/// Names by address.
pub struct SymbolNames<'d> {
    /// By address, the best name of each first.
    names: Vec<(ImageOffset, NameRank<'d>)>,
}

impl<'d> SymbolNames<'d> {
    /// The function names of a debug file.
    pub fn of(debug: &DebugImage<'d>) -> Self {
        let named = debug.symbols.defined().filter(|symbol| !symbol.name.is_empty());
        let mut names: Vec<(ImageOffset, NameRank<'d>)> = named
            .filter_map(|symbol| {
                let is_label = match symbol.kind {
                    SymbolKind::Function | SymbolKind::Resolver => false,
                    // The assembler's own labels start with a dot.
                    SymbolKind::Label if symbol.name[0] != b'.' => true,
                    SymbolKind::Label | SymbolKind::Object => return None,
                };
                Some((symbol.address, NameRank::new(symbol.name, is_label, symbol.local)))
            })
            .collect();
        names.sort_unstable();
        Self { names }
    }

    /// Whether the file names nothing: it was stripped.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The most specific name for the function at `address`, which is known as `known` so far; empty for none.
    pub fn better_than(&self, known: &str, address: ImageOffset) -> Option<Cow<'d, str>> {
        let first = self.names.partition_point(|(at, _)| *at < address);
        let (_, best) = self.names.get(first).filter(|(at, _)| *at == address)?;
        let has_none = known.is_empty() || known.ends_with(IMPLEMENTATION);
        let is_better = has_none || *best < NameRank::new(known.as_bytes(), false, false);
        is_better.then(|| String::from_utf8_lossy(best.name))
    }
}

impl std::fmt::Debug for SymbolNames<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SymbolNames({})", self.names.len())
    }
}
