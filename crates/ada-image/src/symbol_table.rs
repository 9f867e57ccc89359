//! Symbols as an image stores them, from its sections or, where those are gone, as the loader finds them.

use std::ffi::CStr;

use ada_event::ImageOffset;
use object::LittleEndian;
use object::elf::{
    DT_GNU_HASH, DT_HASH, DT_STRSZ, DT_STRTAB, DT_SYMTAB, Dyn64, SHN_ABS, SHN_COMMON, SHN_UNDEF, STB_LOCAL, STT_FUNC,
    STT_GNU_IFUNC, STT_NOTYPE, STT_OBJECT, SectionType, Sym64,
};
use object::pod;
use object::read::elf::{Dyn, GnuHashTable, HashTable, SectionHeader, Sym};

use crate::ImageError;
use crate::header::{Header, Sections, section_bytes};
use crate::segment::{Segment, bytes_from};

/// Longer names are not taken: an image of hostile bytes could otherwise let each of its symbols have a name of half
/// the file. The longest names of real C++ programs have some thousand bytes.
const MAX_NAME_LENGTH: usize = 16 * 1024;

/// A symbol table with its names.
#[derive(Clone, Copy, Default)]
pub(crate) struct SymbolTable<'d> {
    symbols: &'d [Sym64<LittleEndian>],
    strings: &'d [u8],
}

/// A symbol that is defined in its image, at an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol<'d> {
    pub(crate) address: ImageOffset,
    pub(crate) size: u64,
    /// Without the version that linkers append (`memcpy@@GLIBC_2.14`).
    pub(crate) name: &'d [u8],
    pub(crate) kind: SymbolKind,
    pub(crate) local: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolKind {
    Function,
    /// The loader calls it to learn which function the name stands for.
    Resolver,
    Object,
    /// A label of hand-written assembly, which may mark anything.
    Label,
}

impl<'d> SymbolTable<'d> {
    /// The table in the section of type `kind`; an empty one if there is none.
    pub(crate) fn from_sections(
        sections: &Sections<'d>,
        file: &'d [u8],
        kind: SectionType,
    ) -> Result<Self, ImageError> {
        let Some(section) = sections.iter().find(|section| section.sh_type(LittleEndian) == kind) else {
            return Ok(Self::default());
        };
        let bytes = section_bytes(section, file, "symbol table")?;
        let strings = sections
            .iter()
            .nth(section.sh_link(LittleEndian) as usize)
            .map_or(Ok(&[][..]), |strings| section_bytes(strings, file, "symbol names"))?;
        Ok(Self::from_bytes(bytes, bytes.len() / size_of::<Sym64<LittleEndian>>(), strings))
    }

    /// The dynamic symbols as the loader finds them: through `PT_DYNAMIC`, with the count that the hash table implies.
    pub(crate) fn from_dynamic(dynamic: &[Dyn64<LittleEndian>], segments: &[Segment], file: &'d [u8]) -> Self {
        let value =
            |tag| dynamic.iter().find(|entry| entry.tag(LittleEndian) == tag).map(|entry| entry.val(LittleEndian));
        let bytes_of = |tag| value(tag).and_then(|address| bytes_from(segments, file, address));
        let (Some(symbols), Some(strings)) = (bytes_of(DT_SYMTAB), bytes_of(DT_STRTAB)) else {
            return Self::default();
        };
        let by_gnu_hash = || {
            GnuHashTable::<Header>::parse(LittleEndian, bytes_of(DT_GNU_HASH)?).ok()?.symbol_table_length(LittleEndian)
        };
        let by_hash = || Some(HashTable::<Header>::parse(LittleEndian, bytes_of(DT_HASH)?).ok()?.symbol_table_length());
        let count = by_gnu_hash().or_else(by_hash).unwrap_or(0);
        let strings_size = value(DT_STRSZ).and_then(|size| usize::try_from(size).ok()).unwrap_or(usize::MAX);
        Self::from_bytes(symbols, count as usize, &strings[..strings_size.min(strings.len())])
    }

    fn from_bytes(bytes: &'d [u8], count: usize, strings: &'d [u8]) -> Self {
        let count = count.min(bytes.len() / size_of::<Sym64<LittleEndian>>());
        let symbols = pod::slice_from_bytes(bytes, count).map_or(&[][..], |(symbols, _)| symbols);
        Self { symbols, strings }
    }

    /// The number of entries, of whatever kind.
    pub(crate) fn len(&self) -> usize {
        self.symbols.len()
    }

    /// The bytes in which all names lie.
    pub(crate) fn name_bytes(&self) -> usize {
        self.strings.len()
    }

    /// The symbols that stand for an address of this image.
    pub(crate) fn defined(&self) -> impl Iterator<Item = Symbol<'d>> + use<'d> {
        let strings = self.strings;
        self.symbols.iter().filter_map(move |symbol| {
            let kind = match symbol.st_type() {
                STT_FUNC => SymbolKind::Function,
                STT_GNU_IFUNC => SymbolKind::Resolver,
                STT_OBJECT => SymbolKind::Object,
                STT_NOTYPE => SymbolKind::Label,
                _ => return None,
            };
            let section = symbol.st_shndx(LittleEndian);
            if section == SHN_UNDEF || section == SHN_ABS || section == SHN_COMMON {
                return None;
            }
            Some(Symbol {
                address: ImageOffset(symbol.st_value(LittleEndian)),
                size: symbol.st_size(LittleEndian),
                name: name_at(strings, symbol.st_name(LittleEndian)),
                kind,
                local: symbol.st_bind() == STB_LOCAL,
            })
        })
    }

    /// Where the symbol of this name is defined.
    pub(crate) fn find(&self, name: &str) -> Option<ImageOffset> {
        self.defined().find(|symbol| symbol.name == name.as_bytes()).map(|symbol| symbol.address)
    }
}

/// The name at `offset`; empty where there is none.
fn name_at(strings: &[u8], offset: u32) -> &[u8] {
    let Some(rest) = strings.get(offset as usize..) else { return &[] };
    let Ok(name) = CStr::from_bytes_until_nul(&rest[..rest.len().min(MAX_NAME_LENGTH)]) else { return &[] };
    let name = name.to_bytes();
    match name.iter().position(|&byte| byte == b'@') {
        Some(version) => &name[..version],
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_at_its_version_and_inside_its_table() {
        let strings = b"\0memcpy@@GLIBC_2.14\0puts\0cut";
        assert_eq!(name_at(strings, 0), b"");
        assert_eq!(name_at(strings, 1), b"memcpy");
        assert_eq!(name_at(strings, 4), b"cpy");
        assert_eq!(name_at(strings, 20), b"puts");
        assert_eq!(name_at(strings, 25), b"");
        assert_eq!(name_at(strings, u32::MAX), b"");
    }

    #[test]
    fn a_name_without_an_end_in_reach_is_none() {
        let mut strings = vec![b'x'; MAX_NAME_LENGTH];
        strings.push(0);
        assert_eq!(name_at(&strings, 0), b"");
        assert_eq!(name_at(&strings, 1).len(), MAX_NAME_LENGTH - 1);
    }
}
