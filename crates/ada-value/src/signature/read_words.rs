//! Words from registers and memory, and the values that they are.

use std::ops::Range;

use ada_ring::probe::{GOES_ON, Read, UNREADABLE as UNREADABLE_WORD};

use super::Subject;
use crate::socket_address::socket_address;
use crate::value::{NOT_RECORDED, UNREADABLE};
use crate::{Type, Value, structure};

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
pub(super) fn in_registers(ty: &Type, registers: &[u64], vectors: &[u128], read: &[u64]) -> Value {
    let Type::Aggregate { words, fields, .. } = ty else { return Value::Unknown(NOT_RECORDED) };
    let (mut integers, mut recorded, mut captured) = (registers.iter(), vectors.iter(), read.iter());
    let mut word = |kind: char| match kind {
        'I' => integers.next().copied(),
        _ => {
            let captured = captured.next().copied().filter(|word| *word != UNREADABLE_WORD);
            recorded.next().map(|vector| *vector as u64).or(captured)
        }
    };
    let words: Option<Vec<u64>> = words.chars().map(&mut word).collect();
    match words {
        Some(words) if !fields.is_empty() => structure::structure(fields, &words, &|_| None),
        _ => Value::Unknown(NOT_RECORDED),
    }
}

/// A structure whose first words were read.
pub(super) fn in_memory(ty: &Type, words: &[u64]) -> Value {
    match ty {
        Type::Aggregate { fields, .. } if !fields.is_empty() && words.iter().any(|word| *word != UNREADABLE_WORD) => {
            structure::structure(fields, words, &|_| None)
        }
        _ => Value::Unknown(NOT_RECORDED),
    }
}

/// The value of a word, with what it points at where that was read.
pub(super) fn pointed_at(ty: &Type, word: u64, read: Option<&[u64]>, behind: &dyn Fn(usize) -> Option<Value>) -> Value {
    match read.filter(|_| ty.is_captured() && word != 0) {
        None => Value::of_word(ty, word),
        Some(words) => match read_value(ty, words, behind) {
            Some(value @ (Value::Text(..) | Value::Bytes(..) | Value::Structure(_, Some(_)))) => value,
            Some(value) => Value::Reference(Some(word), Box::new(value)),
            None => Value::Pointer(word),
        },
    }
}

/// What a field points at, of the structure that a parameter points at, where that was read.
pub(super) fn behind(
    reads: &[(Subject, Read)],
    (number, field): (usize, usize),
    ty: &Type,
    words: &[u64],
) -> Option<Value> {
    let Type::Reference { to, .. } = ty else { return None };
    let Type::Aggregate { fields, .. } = &**to else { return None };
    let read = words_of(reads, Subject::Field(number, field), words)?;
    let field = fields.get(field)?;
    // What could not be read is the pointer that it is.
    let value = read_value(&field.ty, read, &|_| None).filter(|value| !matches!(value, Value::Unknown(_)))?;
    let is_plain = matches!(value, Value::Text(..) | Value::Bytes(..));
    Some(if is_plain { value } else { Value::Reference(None, Box::new(value)) })
}

/// What a pointer's read words are. None where there is nothing to be said.
pub(super) fn read_value(ty: &Type, words: &[u64], behind: &dyn Fn(usize) -> Option<Value>) -> Option<Value> {
    let (&first, rest) = words.split_first()?;
    if let Type::Reference { to, .. } = ty
        && let Type::Aggregate { fields, .. } = &**to
    {
        let is_there = words.iter().any(|word| *word != UNREADABLE_WORD);
        return is_there.then(|| structure::structure(fields, words, behind));
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
    let bytes: Vec<u8> = rest.iter().flat_map(|word| word.to_le_bytes()).collect();
    let bytes = bytes[..bytes.len().min((first & !GOES_ON) as usize)].to_vec();
    let goes_on = first & GOES_ON != 0;
    match ty {
        Type::Text | Type::StringReference => Some(Value::Text(bytes, goes_on)),
        Type::Bytes(_) | Type::Slice { .. } => {
            let is_text = std::str::from_utf8(&bytes).is_ok_and(|text| !text.contains('\0'));
            Some(if is_text { Value::Text(bytes, goes_on) } else { Value::Bytes(bytes, goes_on) })
        }
        Type::Address(_) => Some(socket_address(&bytes)),
        _ => None,
    }
}
