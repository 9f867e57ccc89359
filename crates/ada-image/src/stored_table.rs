//! A function table as flat bytes, so that it need not be discovered again.
//!
//! The bytes are not trusted when they come back: whatever would make a table misbehave makes it no table.

use ada_event::ImageOffset;

use crate::function_table::NameRange;
use crate::{Function, FunctionTable, Sources};

const FUNCTION_BYTES: usize = 32;
const NAME_BYTES: usize = 8;
const RESOLVER: u8 = 1;
const COLD_PART: u8 = 2;

/// The three lists that make up a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredTable<B> {
    /// A record per function.
    pub functions: B,
    /// A record per name.
    pub names: B,
    /// What the names consist of.
    pub text: B,
}

impl FunctionTable {
    /// The table's lists; what could not be read of the image is not among them.
    pub fn store(&self) -> StoredTable<Vec<u8>> {
        let mut functions = Vec::with_capacity(self.functions.len() * FUNCTION_BYTES);
        for function in &self.functions {
            functions.extend_from_slice(&function_record(function));
        }
        let mut names = Vec::with_capacity(self.names.len() * NAME_BYTES);
        for name in &self.names {
            names.extend_from_slice(&name.start.to_le_bytes());
            names.extend_from_slice(&name.length.to_le_bytes());
        }
        StoredTable { functions, names, text: self.text.as_bytes().to_vec() }
    }

    /// The table that was stored, or nothing where the lists cannot be those of a table.
    pub fn restore(stored: StoredTable<&[u8]>) -> Option<Self> {
        let text = str::from_utf8(stored.text).ok()?;
        let (names, rest) = stored.names.as_chunks::<NAME_BYTES>();
        if !rest.is_empty() {
            return None;
        }
        let names: Vec<NameRange> = names
            .iter()
            .map(|&[a, b, c, d, e, f, g, h]| NameRange {
                start: u32::from_le_bytes([a, b, c, d]),
                length: u32::from_le_bytes([e, f, g, h]),
            })
            .collect();
        let is_in_text = |name: &NameRange| {
            let start = name.start as usize;
            text.get(start..start + name.length as usize).is_some()
        };
        let (functions, rest) = stored.functions.as_chunks::<FUNCTION_BYTES>();
        if !rest.is_empty() || !names.iter().all(is_in_text) {
            return None;
        }
        let functions: Vec<Function> = functions.iter().map(function).collect();
        let is_sorted = functions.is_sorted_by(|a, b| a.start < b.start);
        let has_names =
            |function: &Function| u64::from(function.first_name) + u64::from(function.name_count) <= names.len() as u64;
        (is_sorted && functions.iter().all(has_names)).then(|| Self {
            functions,
            names,
            text: text.to_owned(),
            problem: None,
        })
    }
}

fn function_record(function: &Function) -> [u8; FUNCTION_BYTES] {
    let mut record = [0; FUNCTION_BYTES];
    record[..8].copy_from_slice(&function.start.0.to_le_bytes());
    record[8..16].copy_from_slice(&function.size.to_le_bytes());
    record[16..20].copy_from_slice(&function.first_name.to_le_bytes());
    record[20..24].copy_from_slice(&function.name_count.to_le_bytes());
    record[24] = function.sources.bits();
    record[25] = if function.is_resolver { RESOLVER } else { 0 } | if function.is_cold_part { COLD_PART } else { 0 };
    record
}

fn function(record: &[u8; FUNCTION_BYTES]) -> Function {
    let (words, _) = record.as_chunks::<4>();
    let half = |word: usize| u32::from_le_bytes(words[word]);
    let whole = |word: usize| u64::from(half(word)) | u64::from(half(word + 1)) << 32;
    Function {
        start: ImageOffset(whole(0)),
        size: whole(2),
        first_name: half(4),
        name_count: half(5),
        sources: Sources::from_bits(record[24]),
        is_resolver: record[25] & RESOLVER != 0,
        is_cold_part: record[25] & COLD_PART != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> FunctionTable {
        let function = |start, first_name, name_count| Function {
            start: ImageOffset(start),
            size: 7,
            sources: Sources::SYMTAB | Sources::UNWIND,
            is_resolver: start == 0x10,
            is_cold_part: start == 0x20,
            first_name,
            name_count,
        };
        FunctionTable {
            functions: vec![function(0x10, 0, 2), function(0x20, 2, 0), function(u64::MAX, 2, 1)],
            names: vec![
                NameRange { start: 0, length: 2 },
                NameRange { start: 2, length: 1 },
                NameRange { start: 0, length: 3 },
            ],
            text: "é!".into(),
            problem: None,
        }
    }

    fn restore(stored: &StoredTable<Vec<u8>>) -> Option<FunctionTable> {
        let StoredTable { functions, names, text } = stored;
        FunctionTable::restore(StoredTable { functions, names, text })
    }

    #[test]
    fn a_table_comes_back_as_it_was() {
        let (table, again) = (table(), restore(&table().store()).unwrap());
        assert_eq!(again.functions(), table.functions());
        assert_eq!(again.names(0).collect::<Vec<_>>(), ["é", "!"]);
        assert_eq!((again.name(1), again.name(2)), (None, Some("é!")));
        assert_eq!(again.hash(), table.hash());
    }

    #[test]
    fn lists_that_cannot_be_a_tables_are_refused() {
        let good = table().store();
        let refused = |change: fn(&mut StoredTable<Vec<u8>>)| {
            let mut stored = good.clone();
            change(&mut stored);
            restore(&stored).is_none()
        };
        assert!(refused(|stored| stored.text[0] = 0xff), "not UTF-8");
        assert!(refused(|stored| stored.text.truncate(2)), "a name past the end of the text");
        assert!(refused(|stored| stored.names[4] = 1), "a name that ends within a character");
        assert!(refused(|stored| stored.names[0..8].fill(0xff)), "a name at the end of the world");
        assert!(refused(|stored| stored.functions[0] = 0x20), "two functions at one address");
        assert!(refused(|stored| stored.functions[20..24].fill(0xff)), "more names than there are");
        assert!(refused(|stored| stored.functions.truncate(33)), "half a function");
        assert!(refused(|stored| stored.names.push(0)), "half a name");
    }
}
