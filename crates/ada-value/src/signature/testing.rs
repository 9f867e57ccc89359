//! Signatures, values and words for tests.

use super::Signature;
use crate::{Value, notation};

pub(super) fn signature(line: &str) -> Signature {
    Signature::of(notation::parse(line).unwrap())
}

pub(super) fn shown(values: &[Value]) -> Vec<String> {
    values.iter().map(|value| value.shown(&|_| None)).collect()
}

pub(super) fn packed(text: &[u8], words: usize) -> Vec<u64> {
    let mut bytes = text.to_vec();
    bytes.resize(8 * (words - 1), 0);
    let words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    std::iter::once(text.len() as u64).chain(words).collect()
}
