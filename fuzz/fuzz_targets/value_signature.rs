//! Any text as a function's captured values: read or refused, and written the same again; values of any words are shown.
#![no_main]
use ada_value::{Captured, Signature};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (written, words) = bytes.split_at(bytes.len() / 2);
    let Ok(written) = std::str::from_utf8(written) else { return };
    let Ok(signature) = Signature::from_stored(written) else { return };
    assert_eq!(Signature::from_stored(&signature.stored()), Ok(signature.clone()));
    let words: Vec<u64> = words.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let captured = Captured { registers: &words[..words.len().min(6)], vectors: &[], words: &words };
    let arguments = signature.arguments(&captured);
    assert_eq!(arguments.len(), signature.prototype().parameters.len());
    arguments.iter().chain(signature.outcome(&captured).value.as_ref()).for_each(|value| drop(value.shown(&|_| None)));
});
