//! What the loader writes into words of an image before its code runs.

use ada_event::ImageOffset;
use object::LittleEndian;
use object::elf::{
    DT_JMPREL, DT_PLTRELSZ, DT_RELA, DT_RELASZ, DT_SYMTAB, DynamicTag, R_X86_64_64, R_X86_64_GLOB_DAT,
    R_X86_64_IRELATIVE, R_X86_64_JUMP_SLOT, R_X86_64_RELATIVE, Rela64, SHN_UNDEF, STT_FUNC, STT_GNU_IFUNC, Sym64,
};
use object::pod;
use object::read::elf::{Dyn, Sym};

use crate::image::{Image, ImageKind};

type Relocation = Rela64<LittleEndian>;
type Symbol = Sym64<LittleEndian>;

/// The relocations of an image, as the loader finds them.
pub(crate) struct Relocations<'d> {
    tables: [&'d [Relocation]; 2],
    symbols: &'d [Symbol],
}

impl<'d> Relocations<'d> {
    /// Nothing where they cannot be read.
    pub(crate) fn of(image: &Image<'d>) -> Option<Self> {
        let Some(dynamic) = image.dynamic()? else {
            // The kernel alone loads such a program, where it was linked to.
            let is_fixed = image.kind() == ImageKind::Executable;
            return is_fixed.then_some(Self { tables: [&[]; 2], symbols: &[] });
        };
        let value = |tag| dynamic.iter().find(|entry| entry.tag(LittleEndian) == tag).map(|it| it.val(LittleEndian));
        let bytes_of = |tag| value(tag).map(|at| image.bytes_from(ImageOffset(at)));
        let table = |at: DynamicTag, size: DynamicTag| -> Option<&'d [Relocation]> {
            let Some(bytes) = bytes_of(at) else { return Some(&[]) };
            let count = usize::try_from(value(size)?).ok()? / size_of::<Relocation>();
            Some(pod::slice_from_bytes(bytes?, count).ok()?.0)
        };
        let symbols = bytes_of(DT_SYMTAB).flatten().unwrap_or_default();
        Some(Self {
            tables: [table(DT_RELA, DT_RELASZ)?, table(DT_JMPREL, DT_PLTRELSZ)?],
            symbols: pod::slice_from_bytes(symbols, symbols.len() / size_of::<Symbol>()).ok()?.0,
        })
    }

    /// The addresses of this image that are written.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = ImageOffset> {
        self.all().filter_map(|relocation| {
            let addend = relocation.r_addend.get(LittleEndian) as u64;
            let symbol = || self.symbol(relocation).filter(|it| !is_undefined(it)).map(|it| it.st_value(LittleEndian));
            let address = match relocation.r_type(LittleEndian, false) {
                R_X86_64_RELATIVE | R_X86_64_IRELATIVE => addend,
                R_X86_64_64 => symbol()?.wrapping_add(addend),
                R_X86_64_GLOB_DAT | R_X86_64_JUMP_SLOT => symbol()?,
                _ => return None,
            };
            Some(ImageOffset(address))
        })
    }

    /// The address of this image that is written to a word.
    pub(crate) fn address_at(&self, word: ImageOffset) -> Option<ImageOffset> {
        let is_of_word = |it: &&Relocation| {
            it.r_offset.get(LittleEndian) == word.0 && it.r_type(LittleEndian, false) == R_X86_64_RELATIVE
        };
        self.all().find(is_of_word).map(|it| ImageOffset(it.r_addend.get(LittleEndian) as u64))
    }

    /// The words that get the address of a function by its name, and keep it.
    pub(crate) fn slots(&self) -> impl Iterator<Item = ImageOffset> {
        self.all().filter_map(|relocation| {
            let kind = relocation.r_type(LittleEndian, false);
            let symbol = self.symbol(relocation)?;
            // A label of this image may lie within a function.
            let is_function = is_undefined(symbol) || matches!(symbol.st_type(), STT_FUNC | STT_GNU_IFUNC);
            let is_slot = matches!(kind, R_X86_64_GLOB_DAT | R_X86_64_JUMP_SLOT) && is_function;
            is_slot.then(|| ImageOffset(relocation.r_offset.get(LittleEndian)))
        })
    }

    fn all(&self) -> impl Iterator<Item = &'d Relocation> {
        self.tables.into_iter().flatten()
    }

    fn symbol(&self, relocation: &Relocation) -> Option<&'d Symbol> {
        self.symbols.get(relocation.r_sym(LittleEndian, false) as usize)
    }
}

fn is_undefined(symbol: &Symbol) -> bool {
    symbol.st_shndx(LittleEndian) == SHN_UNDEF
}
