//! The union of what symbols, unwind tables and Go's table of functions know.

use ada_event::ImageOffset;

use crate::function_table::NameRange;
use crate::implementations::{IMPLEMENTATION, addresses_taken};
use crate::name_rank::{NameRank, is_cold_part};
use crate::symbol_table::{SymbolKind, SymbolTable};
use crate::{DebugImage, Function, FunctionTable, GoTable, Image, Row, Sources, UnwindTable, padding, start_code};

/// Names may share their bytes in an image but not in a table. Real images share a little; where hostile bytes become
/// more than this many times the bytes of all names, further names are left out.
const MAX_NAME_SHARING: usize = 16;

/// Longer names of Go's table take the room of others.
const MAX_GO_NAME: usize = 256;

impl FunctionTable {
    /// Finds the functions that symbols, the unwind table and Go's table know of: the image's own symbols, those of its mini debug
    /// info, and those of the `extra` debug files.
    ///
    /// A symbol counts if it is a defined function (`STT_FUNC`, `STT_GNU_IFUNC`) inside a code range. A piece of the
    /// unwind table counts if it [begins a function](UnwindTable::begins_function). A label of hand-written assembly
    /// counts only together with such a piece. Aliases are one function with several names.
    pub fn discover(image: &Image<'_>, unwind: &UnwindTable, extra: &[DebugImage<'_>]) -> Self {
        let mut problem = None;
        let mini_debug = image.mini_debug_info().and_then(|info| info.map_err(|error| problem = Some(error)).ok());
        let mini_debug = mini_debug.as_deref().and_then(|bytes| {
            DebugImage::parse_as(bytes, Sources::MINI_DEBUG).map_err(|error| problem = Some(error)).ok()
        });
        let mut discovery = Discovery::new(image);
        discovery.add_symbols(&image.symbols, Sources::SYMTAB);
        discovery.add_symbols(&image.dynamic_symbols, Sources::DYNSYM);
        for debug in mini_debug.iter().chain(extra) {
            discovery.add_symbols(&debug.symbols, debug.source);
        }
        match image.go_table() {
            Some(Ok(table)) => discovery.add_go(&table),
            Some(Err(error)) => problem = Some(error),
            None => {}
        }
        discovery.add_unwind(unwind);
        discovery.add_main();
        discovery.add_implementations();
        Self { problem, ..discovery.finish() }
    }
}

/// Somebody's claim that there is a function at an address.
#[derive(Clone, Copy)]
struct Claim<'d> {
    address: ImageOffset,
    size: u64,
    /// Empty if the claim comes without a name.
    name: &'d [u8],
    kind: ClaimKind,
    is_local: bool,
    source: Sources,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ClaimKind {
    Function,
    Resolver,
    /// Gives a name to a function that somebody else claims.
    Label,
    /// Names what a function without a name implements.
    Implementation,
    Unwind,
}

/// Collects claims, and settles them.
struct Discovery<'i, 'd> {
    image: &'i Image<'d>,
    claims: Vec<Claim<'d>>,
    name_bytes_remaining: usize,
}

impl<'i, 'd> Discovery<'i, 'd> {
    fn new(image: &'i Image<'d>) -> Self {
        Self { image, claims: Vec::new(), name_bytes_remaining: 0 }
    }

    /// Adds the unwind table. Comes after all symbols: those are asked whether a function starts with padding.
    fn add_unwind(&mut self, unwind: &UnwindTable) {
        self.claims.sort_unstable_by_key(|claim| claim.address);
        let mut claims = Vec::with_capacity(unwind.fdes().len());
        for fde in unwind.fdes().iter().filter(|fde| unwind.begins_function(fde)) {
            if let Some(address) = self.function_start(fde.start)
                && unwind.row_of(fde, address).is_some_and(Row::is_function_entry)
            {
                let (size, source) = (fde.end.0 - address.0, Sources::UNWIND);
                claims.push(Claim { address, size, name: &[], kind: ClaimKind::Unwind, is_local: true, source });
            }
        }
        self.claims.append(&mut claims);
    }

    /// Where the function is whose unwind entry starts at `start`, if there is code for one.
    fn function_start(&self, start: ImageOffset) -> Option<ImageOffset> {
        let code = self.image.code_range_at(start)?.bytes_from(start)?;
        // Sections distinguish jump stubs by name; without them, their unwind entry looks like a function's.
        if !self.image.has_sections() && is_jump_stub(code) {
            return None;
        }
        let padding = padding::length(code, start.0);
        let is_symbol = || self.claims.binary_search_by_key(&start, |claim| claim.address).is_ok();
        if padding == 0 || is_symbol() {
            return Some(start);
        }
        (padding < code.len()).then(|| ImageOffset(start.0 + padding as u64))
    }

    fn add_symbols(&mut self, symbols: &SymbolTable<'d>, source: Sources) {
        let room = symbols.name_bytes().saturating_mul(MAX_NAME_SHARING);
        self.name_bytes_remaining = self.name_bytes_remaining.saturating_add(room);
        self.claims.reserve(symbols.len());
        for symbol in symbols.defined() {
            let kind = match symbol.kind {
                SymbolKind::Function => ClaimKind::Function,
                SymbolKind::Resolver => ClaimKind::Resolver,
                // The assembler's own labels start with a dot.
                SymbolKind::Label if !symbol.name.is_empty() && symbol.name[0] != b'.' => ClaimKind::Label,
                SymbolKind::Label | SymbolKind::Object => continue,
            };
            if self.image.code_range_at(symbol.address).is_some() {
                let (address, size, name, is_local) = (symbol.address, symbol.size, symbol.name, symbol.local);
                self.claims.push(Claim { address, size, name, kind, is_local, source });
            }
        }
    }

    /// Adds the functions of a Go program. Its table says where the next one begins; what lies before that is filled with traps.
    fn add_go(&mut self, table: &GoTable<'d>) {
        const FILL: u8 = 0xcc;
        for function in table.functions() {
            let Some(code) = self.image.code_range_at(function.start).and_then(|code| code.bytes_from(function.start))
            else {
                continue;
            };
            let room = usize::try_from(function.end.0 - function.start.0).unwrap_or(usize::MAX).min(code.len());
            let filled = code[..room].iter().rev().take_while(|&&byte| byte == FILL).count();
            self.name_bytes_remaining = self.name_bytes_remaining.saturating_add(function.name.len().min(MAX_GO_NAME));
            self.claims.push(Claim {
                address: function.start,
                size: (room - filled) as u64,
                name: function.name,
                kind: ClaimKind::Function,
                is_local: false,
                source: Sources::GO,
            });
        }
    }

    /// Names the function that a program without symbols begins with.
    fn add_main(&mut self) {
        const NAME: &[u8] = b"main";
        let Some(address) = start_code::main_of(self.image) else { return };
        let is_known = |claim: &Claim<'_>| claim.address == address && !claim.name.is_empty();
        if self.claims.iter().any(|claim| is_known(claim) || claim.name == NAME) {
            return;
        }
        self.name_bytes_remaining = self.name_bytes_remaining.saturating_add(NAME.len());
        let (kind, source) = (ClaimKind::Label, Sources::default());
        self.claims.push(Claim { address, size: 0, name: NAME, kind, is_local: true, source });
    }

    /// Says of functions without a name what they implement.
    fn add_implementations(&mut self) {
        self.claims.sort_unstable_by_key(|claim| claim.address);
        let by_address = |a: &Claim<'_>, b: &Claim<'_>| a.address == b.address;
        let is_nameless = |claims: &&[Claim<'_>]| claims.iter().all(|claim| claim.name.is_empty());
        let nameless: Vec<ImageOffset> =
            self.claims.chunk_by(by_address).filter(is_nameless).map(|claims| claims[0].address).collect();
        let resolvers = self.claims.iter().filter(|claim| claim.kind == ClaimKind::Resolver && !claim.name.is_empty());
        let mut found = Vec::new();
        for resolver in resolvers {
            let code = self.image.code_range_at(resolver.address).and_then(|code| code.bytes_from(resolver.address));
            let code = code.unwrap_or_default();
            let length = usize::try_from(resolver.size).unwrap_or(usize::MAX).min(code.len());
            let taken = addresses_taken(&code[..length], resolver.address);
            for address in taken.filter(|address| nameless.binary_search(address).is_ok()) {
                let (kind, source) = (ClaimKind::Implementation, Sources::default());
                found.push(Claim { address, size: 0, name: resolver.name, kind, is_local: true, source });
            }
        }
        self.claims.append(&mut found);
    }

    /// Makes one function of all claims for the same address.
    fn finish(mut self) -> FunctionTable {
        self.claims.sort_unstable_by_key(|claim| claim.address);
        let mut table = FunctionTable::default();
        let mut ranks = Vec::new();
        for claims in self.claims.chunk_by(|a, b| a.address == b.address) {
            if claims.iter().all(|claim| claim.kind == ClaimKind::Label) {
                continue;
            }
            rank_names(claims, &mut ranks);
            let first_name = table.names.len() as u32;
            let start = claims[0].address;
            // No symbol says more than the code it lies in can hold.
            let room = self.image.code_range_at(start).map_or(0, |range| range.end().0 - start.0);
            // Nobody who has a name of its own has one of these.
            let is_implementation = claims.iter().any(|claim| claim.kind == ClaimKind::Implementation);
            let mark = if is_implementation { IMPLEMENTATION } else { "" };
            for rank in &ranks {
                push_name(&mut table, rank.name, mark, &mut self.name_bytes_remaining);
            }
            table.functions.push(Function {
                start,
                size: size(claims).min(room),
                sources: claims.iter().fold(Sources::default(), |all, claim| all | claim.source),
                is_resolver: claims.iter().any(|claim| claim.kind == ClaimKind::Resolver),
                // Names of parts rank last: where the best is one, all are.
                is_cold_part: ranks.first().is_some_and(|best| is_cold_part(best.name)),
                first_name,
                name_count: table.names.len() as u32 - first_name,
            });
        }
        table
    }
}

/// Symbols know best how long a function is; hand-written ones often do not say.
fn size(claims: &[Claim<'_>]) -> u64 {
    let largest = |unwind: bool| {
        let sizes = claims.iter().filter(|claim| (claim.kind == ClaimKind::Unwind) == unwind).map(|claim| claim.size);
        sizes.max().filter(|&size| size != 0)
    };
    largest(false).or_else(|| largest(true)).unwrap_or(0)
}

/// Fills `ranks` with the different names among the claims, the best first.
fn rank_names<'d>(claims: &[Claim<'d>], ranks: &mut Vec<NameRank<'d>>) {
    ranks.clear();
    for claim in claims.iter().filter(|claim| !claim.name.is_empty()) {
        ranks.push(NameRank::new(claim.name, claim.kind == ClaimKind::Label, claim.is_local));
    }
    if ranks.len() > 1 {
        // Two tables with the same symbol may disagree on who can use it: the best rank of each name stays.
        ranks.sort_unstable_by(|a, b| a.name.cmp(b.name).then(a.cmp(b)));
        ranks.dedup_by_key(|rank| rank.name);
        ranks.sort_unstable();
    }
}

fn push_name(table: &mut FunctionTable, name: &[u8], mark: &str, bytes_remaining: &mut usize) {
    let name = String::from_utf8_lossy(name);
    let bytes = name.len() + mark.len();
    let (Ok(start), Ok(length), Some(remaining)) =
        (u32::try_from(table.text.len()), u32::try_from(bytes), bytes_remaining.checked_sub(bytes))
    else {
        return;
    };
    *bytes_remaining = remaining;
    table.text.push_str(&name);
    table.text.push_str(mark);
    table.names.push(NameRange { start, length });
}

/// Whether code starts as a linker's stub does: `jmp *[rip+x]`, perhaps after `endbr64`, perhaps with a `bnd` prefix.
fn is_jump_stub(code: &[u8]) -> bool {
    let code = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(code);
    let code = code.strip_prefix(&[0xf2]).unwrap_or(code);
    code.starts_with(&[0xff, 0x25])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(name: &str, kind: ClaimKind, size: u64) -> Claim<'_> {
        let (name, address) = (name.as_bytes(), ImageOffset(16));
        Claim { address, size, name, kind, is_local: false, source: Sources::SYMTAB }
    }

    #[test]
    fn the_same_name_from_two_tables_is_one() {
        let local = Claim { is_local: true, ..claim("write", ClaimKind::Function, 3) };
        let claims = [local, claim("__write", ClaimKind::Function, 3), claim("write", ClaimKind::Function, 3)];
        let mut ranks = Vec::new();
        rank_names(&claims, &mut ranks);
        assert_eq!(ranks.iter().map(|rank| rank.name).collect::<Vec<_>>(), [&b"write"[..], b"__write"]);
    }

    #[test]
    fn a_symbol_knows_the_size_better_than_the_unwind_table() {
        let unwind = claim("", ClaimKind::Unwind, 40);
        assert_eq!(size(&[unwind, claim("f", ClaimKind::Function, 30)]), 30);
        assert_eq!(size(&[claim("f", ClaimKind::Function, 0), unwind]), 40);
        assert_eq!(size(&[claim("f", ClaimKind::Function, 0)]), 0);
    }

    #[test]
    fn stubs_are_known_by_their_bytes() {
        assert!(is_jump_stub(&[0xff, 0x25, 1, 2, 3, 4]));
        assert!(is_jump_stub(&[0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0, 0, 0, 0]));
        assert!(!is_jump_stub(&[0xf3, 0x0f, 0x1e, 0xfa, 0x55]));
        assert!(!is_jump_stub(&[]));
    }
}
