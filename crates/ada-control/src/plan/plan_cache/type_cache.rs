//! Keeps what the functions of an image take and give between starts, so that debug information is read once.
//!
//! ```text
//! 0    "ADATYPE\n"
//! 8    CRC-32 of all that follows
//! 12   the key, behind its length (8 bytes)
//!      a line for each function: its address in hexadecimal, a tab, and its prototype in `ada-value`'s notation
//! ```

use std::path::PathBuf;

use ada_event::ImageOffset;
use ada_value::{Prototype, notation};

use super::folder::Folder;
use super::key::PlanKey;

const MAGIC: [u8; 8] = *b"ADATYPE\n";
const CHECKED_FROM: usize = MAGIC.len() + 4;

/// Prototypes of earlier starts.
pub(crate) struct TypeCache {
    folder: Option<Folder>,
}

impl TypeCache {
    /// The cache in this folder; without one, nothing is found and nothing kept.
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder: folder.map(Folder::new) }
    }

    /// The prototypes of the wanted functions, by their addresses, of those that were kept under this key.
    pub(crate) fn load(
        &self,
        key: &PlanKey,
        is_wanted: &dyn Fn(ImageOffset) -> bool,
    ) -> Option<Vec<(ImageOffset, Prototype)>> {
        let stored = self.folder.as_ref()?.read(&key.file_name())?;
        decode(&stored, key.bytes(), is_wanted)
    }

    /// Keeps the prototypes of all functions of an image.
    pub(crate) fn keep(&self, key: &PlanKey, prototypes: &[(ImageOffset, Prototype)]) {
        if let Some(folder) = &self.folder {
            // What cannot be written is read again.
            let _ = folder.write(&key.file_name(), &encode(prototypes, key.bytes()));
            folder.make_room();
        }
    }
}

fn encode(prototypes: &[(ImageOffset, Prototype)], key: &[u8]) -> Vec<u8> {
    let mut stored = [&MAGIC[..], &[0; 4], &(key.len() as u64).to_le_bytes(), key].concat();
    for (start, prototype) in prototypes {
        stored.extend_from_slice(format!("{:x}\t{prototype}\n", start.0).as_bytes());
    }
    let checksum = crc32fast::hash(&stored[CHECKED_FROM..]);
    stored[MAGIC.len()..CHECKED_FROM].copy_from_slice(&checksum.to_le_bytes());
    stored
}

fn decode(stored: &[u8], key: &[u8], is_wanted: &dyn Fn(ImageOffset) -> bool) -> Option<Vec<(ImageOffset, Prototype)>> {
    let (checksum, checked) = stored.strip_prefix(&MAGIC)?.split_first_chunk()?;
    let (length, rest) = checked.split_first_chunk()?;
    let (found, lines) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    if found != key || crc32fast::hash(checked) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let mut prototypes = Vec::new();
    for line in std::str::from_utf8(lines).ok()?.lines() {
        let (start, prototype) = line.split_once('\t')?;
        let start = ImageOffset(u64::from_str_radix(start, 16).ok()?);
        if is_wanted(start) {
            prototypes.push((start, notation::parse(prototype).ok()?));
        }
    }
    Some(prototypes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prototypes_come_back_or_nothing_does() {
        let lines = ["f(x: i32, s: *struct{16;II;next:pointer@0;value:i32@8}) -> text", "f(a: gone f64) -> void"];
        let kept: Vec<(ImageOffset, Prototype)> = (0..)
            .map(|at| ImageOffset(0x1000 + 16 * at))
            .zip(lines.map(|line| notation::parse(line).unwrap()))
            .collect();
        let mut stored = encode(&kept, b"key");
        assert_eq!(decode(&stored, b"key", &|_| true), Some(kept.clone()));
        assert_eq!(decode(&stored, b"key", &|start| start.0 > 0x1000), Some(kept[1..].to_vec()));
        assert_eq!(decode(&stored, b"kex", &|_| true), None);
        for at in 0..stored.len() {
            stored[at] ^= 0x10;
            assert_eq!(decode(&stored, b"key", &|_| true), None, "byte {at}");
            stored[at] ^= 0x10;
            assert_eq!(decode(&stored[..at], b"key", &|_| true), None, "{at} bytes");
        }
    }
}
