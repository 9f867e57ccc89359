//! Functions that the loader calls before a program runs.

use object::LittleEndian;
use object::elf::{DF_1_NOW, DF_BIND_NOW, DT_BIND_NOW, DT_FLAGS, DT_FLAGS_1};
use object::read::elf::Dyn;

use crate::image::Image;
use crate::symbol_table::SymbolKind;

impl Image<'_> {
    /// The names of functions whose resolvers (`STT_GNU_IFUNC`) run while the loader binds this image, if it binds all of it
    /// at once (`-z now`). Otherwise each runs when its function is first called.
    pub fn resolvers_at_start(&self) -> Vec<String> {
        if !self.binds_at_once() {
            return Vec::new();
        }
        let symbols = self.symbols.defined().chain(self.dynamic_symbols.defined());
        let resolvers = symbols.filter(|symbol| symbol.kind == SymbolKind::Resolver);
        let mut names: Vec<String> = resolvers.map(|it| String::from_utf8_lossy(it.name).into_owned()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn binds_at_once(&self) -> bool {
        self.dynamic().flatten().unwrap_or_default().iter().any(|entry| {
            let value = entry.val(LittleEndian);
            match entry.tag(LittleEndian) {
                DT_BIND_NOW => true,
                DT_FLAGS => value & DF_BIND_NOW.0 != 0,
                DT_FLAGS_1 => value & DF_1_NOW.0 != 0,
                _ => false,
            }
        })
    }
}
