//! A thread's file from one form to the other, in place.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::convert::{Comparison, ConvertError, pack_detail, pack_index, unpack_detail, unpack_index};
use crate::atf::Store;
use crate::atf::map::Mapping;
use crate::private::Replacement;

/// How large a file was, and is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes that it had.
    pub before: u64,
    /// Bytes that it has.
    pub after: u64,
}

/// Gives a thread's file, which has one of the names that sessions have for them, another form and the name for it.
/// None if it has that form already. Whatever happens, the file is there whole in one of the two: the old one goes when
/// the new one is complete, and after a raw file was read back from the packed one and compared.
pub fn convert_file(path: &Path, to: Store) -> Result<Option<Sizes>, ConvertError> {
    let from = match to {
        Store::Packed => Store::Raw,
        Store::Raw => Store::Packed,
        Store::Nothing => return Ok(None),
    };
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let (is_detail, new_name) = match name {
        name if name == from.index_file() => (false, to.index_file()),
        name if name == from.detail_file() => (true, to.detail_file()),
        _ => return Ok(None),
    };
    let (replacement, file) = Replacement::begin(&path.with_file_name(new_name))?;
    let sizes = convert(path, replacement.path(), file, is_detail, to)?;
    replacement.finish()?;
    fs::remove_file(path)?;
    Ok(Some(sizes))
}

fn convert(path: &Path, unfinished: &Path, file: File, is_detail: bool, to: Store) -> Result<Sizes, ConvertError> {
    let old = Mapping::open(path)?;
    match (to == Store::Packed, is_detail) {
        (true, false) => drop(pack_index(old.bytes(), file, |read| old.release(0..read))?),
        (true, true) => drop(pack_detail(old.bytes(), file, |read| old.release(0..read))?),
        (false, false) => drop(unpack_index(old.bytes(), file)?),
        (false, true) => drop(unpack_detail(old.bytes(), file)?),
    }
    let after = fs::metadata(unfinished)?.len();
    if to == Store::Packed {
        let new = Mapping::open(unfinished)?;
        let comparison = Comparison::with(old.bytes());
        let comparison =
            if is_detail { unpack_detail(new.bytes(), comparison)? } else { unpack_index(new.bytes(), comparison)? };
        if !comparison.is_equal() {
            return Err(io::Error::other("what was packed reads back differently").into());
        }
    }
    let before = old.bytes().len() as u64;
    if fs::metadata(path)?.len() != before {
        return Err(io::Error::other("it is still being written").into());
    }
    Ok(Sizes { before, after })
}
