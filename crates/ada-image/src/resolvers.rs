//! Functions that the loader calls before a program runs.

use object::LittleEndian;
use object::elf::{DF_1_NOW, DF_BIND_NOW, DT_BIND_NOW, DT_FLAGS, DT_FLAGS_1, PT_DYNAMIC};
use object::read::elf::{Dyn, ProgramHeader};

use crate::header;
use crate::image::{Image, program_headers};
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
        let dynamic = || {
            let (header, _) = header::read(self.file).ok()?;
            let mut headers = program_headers(header, self.file).ok()?.iter();
            let dynamic = headers.find(|header| header.p_type(LittleEndian) == PT_DYNAMIC)?;
            dynamic.dynamic(LittleEndian, self.file).ok()?
        };
        dynamic().unwrap_or_default().iter().any(|entry| {
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
