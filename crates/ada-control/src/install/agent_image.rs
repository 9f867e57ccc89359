//! The agent as bytes: laid out for an address in the target, with its table filled in.

use std::collections::HashMap;

use ada_agent::config::{ITEMS, Item};
use ada_event::{ImageOffset, RuntimeAddr};
use ada_ring::agent_entries::{AGENT_ENTRIES, AgentEntries};
use ada_ring::lasting::LASTING;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Object, ObjectSymbol, RelocationFlags, elf};

use crate::arch::platform::RELATIVE_RELOCATION;
use crate::error::ControlError;
use crate::install::lasting_memory::LastingMemory;

static SHARED_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libada_agent.so"));

/// The agent at an address.
pub(crate) struct AgentImage {
    /// What to map there, readable and executable.
    pub(crate) bytes: Vec<u8>,
    /// Its entry points.
    pub(crate) entries: AgentEntries,
    /// The handler of fatal signals.
    pub(crate) crash: CrashEntries,
}

/// What the kernel calls on a fatal signal, and what the handler returns to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CrashEntries {
    pub(crate) handler: RuntimeAddr,
    pub(crate) restorer: RuntimeAddr,
}

impl AgentImage {
    /// Lays the agent out at `base`, with `config` as its table.
    pub(crate) fn at(
        base: RuntimeAddr,
        config: &[(Item, u64); ITEMS],
        lasting: &LastingMemory,
    ) -> Result<Self, ControlError> {
        let file = ElfFile64::<object::LittleEndian>::parse(SHARED_OBJECT).map_err(ControlError::Agent)?;
        let endian = object::LittleEndian;
        let mut bytes = Vec::new();
        for header in file.elf_program_headers() {
            if header.p_type(endian) != elf::PT_LOAD {
                continue;
            }
            let start = header.p_vaddr(endian) as usize;
            bytes.resize(bytes.len().max(start + header.p_memsz(endian) as usize), 0);
            let data = header.data(endian, SHARED_OBJECT).map_err(|()| ControlError::AgentLayout("segment"))?;
            bytes[start..start + data.len()].copy_from_slice(data);
        }
        for (at, relocation) in file.dynamic_relocations().into_iter().flatten() {
            // The only other kind names the unwinder's personality, which nothing here calls.
            if relocation.flags() == (RelocationFlags::Elf { r_type: RELATIVE_RELOCATION }) {
                let value = base.wrapping_add(relocation.addend() as u64);
                put(&mut bytes, ImageOffset(at), value.0)?;
            }
        }
        let symbols: HashMap<&str, ImageOffset> = file
            .dynamic_symbols()
            .filter_map(|symbol| Some((symbol.name().ok()?, ImageOffset(symbol.address()))))
            .collect();
        let find = |name| symbols.get(name).copied().ok_or(ControlError::AgentLayout(name));
        let table = find("ADA_CONFIG")?;
        for (item, value) in config {
            put(&mut bytes, ImageOffset(table.0 + 8 * *item as u64), *value)?;
        }
        let list = find(LASTING)?;
        for (number, word) in lasting.words().enumerate() {
            put(&mut bytes, ImageOffset(list.0 + 8 * number as u64), word)?;
        }
        let entry = |name| find(name).map(|offset| offset.at_bias(base.0));
        let entries = entries(&bytes, find(AGENT_ENTRIES)?)?;
        let crash = CrashEntries { handler: entry("ada_crash")?, restorer: entry("ada_crash_restorer")? };
        bytes.resize(bytes.len().next_multiple_of(4096), 0);
        Ok(Self { bytes, entries, crash })
    }
}

/// The table of entry points that lies at an address, by now with those of the target.
fn entries(bytes: &[u8], at: ImageOffset) -> Result<AgentEntries, ControlError> {
    let (words, _) = bytes.get(at.0 as usize..).unwrap_or_default().as_chunks();
    let words = words.first_chunk().ok_or(ControlError::AgentLayout(AGENT_ENTRIES))?;
    Ok(AgentEntries::from_words(words.map(u64::from_le_bytes)))
}

fn put(bytes: &mut [u8], at: ImageOffset, value: u64) -> Result<(), ControlError> {
    let at = at.0 as usize;
    let word = bytes.get_mut(at..at + 8).ok_or(ControlError::AgentLayout("relocation"))?;
    word.copy_from_slice(&value.to_le_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_has_all_entry_points_and_needs_no_library() {
        let config = [
            (Item::Pool, 1),
            (Item::Orders, 2),
            (Item::Private, 3),
            (Item::LoaderDebug, 4),
            (Item::MaxDepth, 5),
            (Item::OwnerByWord, 6),
            (Item::StackWindow, 7),
            (Item::DetailStride, 8),
            (Item::DetailVectorsAt, 9),
            (Item::ProbeWindow, 10),
            (Item::ProbeStride, 11),
            (Item::ProbeVectorsAt, 12),
            (Item::Program, 13),
            (Item::OwnStacks, 14),
            (Item::StackEnd, 15),
        ];
        let image = AgentImage::at(RuntimeAddr(0x10_0000), &config, &LastingMemory::at_start(&[])).unwrap();
        let end = 0x10_0000 + image.bytes.len() as u64;
        for entry in image.entries.to_words() {
            assert!((0x10_0000..end).contains(&entry));
        }
        assert!(
            image
                .bytes
                .windows(8 * config.len())
                .any(|words| { words.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).eq(1..=15) })
        );
    }
}
