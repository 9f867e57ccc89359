//! Words from registers and memory, and the values that they are.

use std::ops::Range;

use ada_ring::probe::{Read, UNREADABLE as UNREADABLE_WORD};

use super::{Holder, Subject};
use crate::followed::{Followed, followed};
use crate::socket_address::socket_address;
use crate::structure::{Behind, Structure, captured_bytes};
use crate::value::{NOT_RECORDED, UNREADABLE};
use crate::{Type, Value};

/// The words that were read about something; none where nothing was.
pub(super) fn words_of<'w>(reads: &[(Subject, Read)], about: Subject, words: &'w [u64]) -> Option<&'w [u64]> {
    let mut at = 0_usize;
    let mut found: Option<Range<usize>> = None;
    for (subject, read) in reads {
        let end = at.checked_add(read.count())?;
        match &mut found {
            // Several registers that follow each other.
            Some(range) if *subject == about && range.end == at => range.end = end,
            None if *subject == about => found = Some(at..end),
            _ => {}
        }
        at = end;
    }
    words.get(found?)
}

/// A number in a vector register: as that was recorded, or as it was captured.
pub(super) fn in_vector(ty: &Type, recorded: Option<&u128>, read: Option<&[u64]>) -> Value {
    match (recorded, read) {
        (Some(&vector), _) => Value::of_word(ty, vector as u64),
        (None, Some(&[word])) if word != UNREADABLE_WORD => Value::of_word(ty, word),
        _ => Value::Unknown(NOT_RECORDED),
    }
}

/// A number of 128 bits.
pub(super) fn wide(is_signed: bool, low: u64, high: u64) -> Value {
    let number = u128::from(high) << 64 | u128::from(low);
    match i128::try_from(number) {
        Ok(number) => Value::Number(number, number.to_string()),
        Err(_) if is_signed => Value::Number(number as i128, (number as i128).to_string()),
        // Too large for what numbers are kept in; its digits are right.
        Err(_) => Value::Number(i128::MAX, number.to_string()),
    }
}

/// A structure in registers, whose vector registers were recorded, or captured in `read`.
pub(super) fn in_registers(
    ty: &Type,
    registers: &[u64],
    vectors: &[u128],
    read: &[u64],
    behind: Behind<'_, '_>,
) -> Value {
    let Type::Aggregate { bytes, passing, .. } = ty else { return Value::Unknown(NOT_RECORDED) };
    let (mut integers, mut recorded, mut captured) = (registers.iter(), vectors.iter(), read.iter());
    let mut word = |is_vector: bool| {
        if !is_vector {
            return integers.next().copied();
        }
        let captured = captured.next().copied().filter(|word| *word != UNREADABLE_WORD);
        recorded.next().map(|vector| *vector as u64).or(captured)
    };
    let parts: Option<Vec<(u32, u64)>> =
        passing.parts().iter().map(|part| Some((part.offset, word(part.is_vector)?))).collect();
    match parts {
        Some(parts) => Structure::of_parts(&parts, *bytes, behind).value(ty, 0),
        None => Value::Unknown(NOT_RECORDED),
    }
}

/// A structure whose first words were read.
pub(super) fn in_memory(ty: &Type, words: &[u64], behind: Behind<'_, '_>) -> Value {
    let is_there = words.iter().any(|word| *word != UNREADABLE_WORD);
    if is_there { Structure::of_words(words, behind).value(ty, 0) } else { Value::Unknown(NOT_RECORDED) }
}

/// The value of a word, with what it points at where that was read.
pub(super) fn pointed_at(ty: &Type, word: u64, read: Option<&[u64]>, behind: Behind<'_, '_>) -> Value {
    match read.filter(|_| ty.is_captured() && word != 0) {
        None => match ty.structure().map(|structure| Structure::of_words(&[], behind).value(structure, 0)) {
            // Older sessions kept of a string its text alone.
            Some(text @ Value::Text(..)) => text,
            _ => Value::of_word(ty, word),
        },
        Some(words) => match read_value(ty, words, behind) {
            Some(value) if matches!(ty, Type::Copy(_)) => value,
            Some(value @ (Value::Text(..) | Value::Bytes(..) | Value::Structure(_, Some(_)))) => value,
            Some(value) => Value::Reference(Some(word), Box::new(value)),
            None => Value::Pointer(word),
        },
    }
}

/// The words that were read about what the pointers in a structure lead to: of the one that a parameter or the result of this type
/// is, or points at.
pub(super) fn words_behind<'a>(
    reads: &'a [(Subject, Read)],
    holder: Holder,
    ty: &'a Type,
    words: &'a [u64],
) -> impl Fn(Followed<'_>) -> Option<&'a [u64]> + 'a {
    let pointers = ty.structure().map(followed).unwrap_or_default();
    move |pointer| {
        let number = pointers.iter().position(|known| *known == pointer)?;
        words_of(reads, Subject::Behind(holder, number), words)
    }
}

/// What a pointer's read words are. None where there is nothing to be said.
pub(super) fn read_value(ty: &Type, words: &[u64], behind: Behind<'_, '_>) -> Option<Value> {
    let (&first, rest) = words.split_first()?;
    if let (Some(structure), Type::Reference { .. } | Type::Copy(_)) = (ty.structure(), ty) {
        let is_there = words.iter().any(|word| *word != UNREADABLE_WORD);
        return is_there.then(|| Structure::of_words(words, behind).value(structure, 0));
    }
    if let Type::Reference { to, .. } = ty {
        return Some(if first == UNREADABLE_WORD { Value::Unknown(UNREADABLE) } else { Value::of_word(to, first) });
    }
    if first == UNREADABLE_WORD {
        return None;
    }
    if let (Type::Source(_) | Type::Message { .. }, [length, bytes @ ..]) = (ty, words) {
        let bytes: Vec<u8> = bytes.iter().flat_map(|word| word.to_le_bytes()).collect();
        return bytes.get(..*length as u32 as usize).filter(|it| !it.is_empty()).map(socket_address);
    }
    if let (Type::PollList, [first]) = (ty, words) {
        return Some(Value::Number(i128::from(*first), format!("{first:#x}")));
    }
    let (bytes, goes_on) = captured_bytes(first, rest)?;
    match ty {
        Type::Text => Some(Value::Text(bytes, goes_on)),
        Type::Bytes(_) => {
            let is_text = std::str::from_utf8(&bytes).is_ok_and(|text| !text.contains('\0'));
            Some(if is_text { Value::Text(bytes, goes_on) } else { Value::Bytes(bytes, goes_on) })
        }
        Type::Address(_) => Some(socket_address(&bytes)),
        _ => None,
    }
}
