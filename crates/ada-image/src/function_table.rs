//! The functions of an image, and their names.

use std::fmt;

use ada_event::ImageOffset;

use crate::{ImageError, Sources};

/// A function: one address at which calls arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Where calls arrive.
    pub start: ImageOffset,
    /// Bytes of code, as symbols or else the unwind table state them; 0 where nobody does. Never past its code range.
    pub size: u64,
    /// Who knows of the function.
    pub sources: Sources,
    pub(crate) is_resolver: bool,
    pub(crate) is_cold_part: bool,
    pub(crate) first_name: u32,
    pub(crate) name_count: u32,
}

impl Function {
    /// Whether this is a part that a compiler split off because it hardly ever runs. It has a symbol like a function,
    /// but is jumped into from the middle of another frame.
    pub fn is_cold_part(&self) -> bool {
        self.is_cold_part
    }

    /// Whether the loader calls this function to learn which implementation its name stands for: a call of `memcpy`
    /// never comes here, although this is what the symbol `memcpy` points to.
    pub fn is_resolver(&self) -> bool {
        self.is_resolver
    }
}

/// A range of the text of all names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameRange {
    pub(crate) start: u32,
    pub(crate) length: u32,
}

/// All functions of an image, sorted by address, each address once. A function's index is stable for the same image
/// and the same debug files.
#[derive(Clone, Default)]
pub struct FunctionTable {
    pub(crate) functions: Vec<Function>,
    /// The names of one function lie together, the best first.
    pub(crate) names: Vec<NameRange>,
    pub(crate) text: String,
    pub(crate) problem: Option<ImageError>,
}

impl FunctionTable {
    /// The functions, sorted by address.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// How many functions there are.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The raw, mangled name of the function at `index`. One without a name is shown by callers as `module+0x1234`.
    pub fn name(&self, index: usize) -> Option<&str> {
        self.names(index).next()
    }

    /// All names of the function at `index`, the most specific first.
    pub fn names(&self, index: usize) -> impl Iterator<Item = &str> {
        let ranges = self.functions.get(index).map_or(&[][..], |function| {
            let first = function.first_name as usize;
            &self.names[first..first + function.name_count as usize]
        });
        ranges.iter().map(|range| &self.text[range.start as usize..][..range.length as usize])
    }

    /// Whether `name` is one of the names of the function at `index`.
    pub fn has_name(&self, index: usize, name: &str) -> bool {
        self.names(index).any(|known| known == name)
    }

    /// The index of a function that has this name. Private names need not be unique; the first address wins.
    pub fn find(&self, name: &str) -> Option<usize> {
        (0..self.functions.len()).find(|&index| self.has_name(index, name))
    }

    /// The index of the function that starts at this address.
    pub fn index_at(&self, start: ImageOffset) -> Option<usize> {
        self.functions.binary_search_by_key(&start, |function| function.start).ok()
    }

    /// The index of the function that an address belongs to: the last that starts before it, or there.
    pub fn index_containing(&self, address: ImageOffset) -> Option<usize> {
        self.functions.partition_point(|function| function.start <= address).checked_sub(1)
    }

    /// The table's [hash](function_table_hash), with the best name of each function.
    pub fn hash(&self) -> u64 {
        let functions = self.functions.iter().enumerate();
        function_table_hash(functions.map(|(index, function)| (function.start, function.size, self.name(index))))
    }

    /// Why the image's mini debug info could not be read, if it has some.
    pub fn problem(&self) -> Option<&ImageError> {
        self.problem.as_ref()
    }
}

impl fmt::Debug for FunctionTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FunctionTable({} functions, {} names)", self.functions.len(), self.names.len())
    }
}

/// A hash of functions' addresses, sizes and names, in their order: FNV-1a of 64 bits. The same table has the same hash
/// on any machine and in any version of ada.
pub fn function_table_hash<'n>(functions: impl Iterator<Item = (ImageOffset, u64, Option<&'n str>)>) -> u64 {
    let mut hash = Fnv::default();
    for (start, size, name) in functions {
        hash.write(&start.0.to_le_bytes());
        hash.write(&size.to_le_bytes());
        hash.write(name.unwrap_or("").as_bytes());
        // No name has this byte, so names cannot run into what follows.
        hash.write(&[0xff]);
    }
    hash.0
}

struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        let mut hash = Fnv::default();
        hash.write(b"foobar");
        assert_eq!(hash.0, 0x8594_4171_f739_67e8);
    }

    #[test]
    fn an_empty_table_answers() {
        let table = FunctionTable::default();
        assert!(table.is_empty());
        assert_eq!((table.name(0), table.find("main"), table.index_at(ImageOffset(0))), (None, None, None));
        assert_eq!(table.hash(), 0xcbf2_9ce4_8422_2325);
    }
}
