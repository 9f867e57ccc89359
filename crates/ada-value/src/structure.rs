//! Structures, as their bytes lie in memory.

use crate::Value;
use crate::extended_float::extended;
use crate::ty::{Field, Type};
use crate::value::{NOT_RECORDED, OPTIMIZED_AWAY};

/// The most words of a structure that are captured.
pub(crate) const MOST_WORDS: usize = 8;

/// How many words of a structure are captured.
pub(crate) fn words_of(bytes: u32) -> usize {
    (bytes.div_ceil(8) as usize).clamp(1, MOST_WORDS)
}

/// The value of a structure, by its first words. `behind` gives what the field of this number points at, where that was captured.
pub(crate) fn structure(fields: &[Field], words: &[u64], behind: &dyn Fn(usize) -> Option<Value>) -> Value {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    of_bytes(fields, &bytes, behind)
}

fn of_bytes(fields: &[Field], bytes: &[u8], behind: &dyn Fn(usize) -> Option<Value>) -> Value {
    let value = |(number, field): (usize, &Field)| {
        let value = behind(number).unwrap_or_else(|| field_value(&field.ty, field.offset, bytes));
        (field.name.clone(), value)
    };
    Value::Structure(fields.iter().enumerate().map(value).collect(), None)
}

fn field_value(ty: &Type, offset: u32, bytes: &[u8]) -> Value {
    if let Type::OptimizedAway(_) = ty {
        return Value::Unknown(OPTIMIZED_AWAY);
    }
    let unknown = Value::Unknown(NOT_RECORDED);
    let Some(length) = ty.bytes() else { return unknown };
    let start = offset as usize;
    let Some(own) = bytes.get(start..).filter(|own| !own.is_empty() || length == 0) else { return unknown };
    let whole = own.get(..length as usize);
    let word = |at: usize| {
        let mut word = [0; 8];
        let part = whole.and_then(|whole| whole.get(at..)).unwrap_or_default();
        part.iter().zip(&mut word).for_each(|(from, to)| *to = *from);
        u64::from_le_bytes(word)
    };
    match ty {
        Type::Aggregate { fields, .. } if !fields.is_empty() => of_bytes(fields, own, &|_| None),
        Type::Characters(_) => {
            let own = &own[..own.len().min(length as usize)];
            match own.iter().position(|byte| *byte == 0) {
                Some(end) => Value::Text(own[..end].to_vec(), false),
                None => Value::Text(own.to_vec(), whole.is_none()),
            }
        }
        _ if whole.is_none() => unknown,
        Type::Float(16) => Value::Float(extended(word(0), word(8))),
        Type::Aggregate { .. } => unknown,
        ty if ty.is_captured() => Value::Pointer(word(0)),
        ty => Value::of_word(ty, word(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation;

    fn shown(line: &str, words: &[u64]) -> String {
        let prototype = notation::parse(line).unwrap();
        let Type::Reference { to, .. } = &prototype.parameters[0].ty else { panic!("a pointer") };
        let Type::Aggregate { fields, .. } = &**to else { panic!("a structure") };
        structure(fields, words, &|_| None).shown(&|_| None)
    }

    #[test]
    fn fields_are_read_where_they_lie() {
        let line = "f(p: *struct{24;;n:i32@0;is_on:bool@4;name:chars3@5;x:f64@8;next:pointer@16})";
        let words = [0x0061_6101_ffff_fffb, 1.5_f64.to_bits(), 0];
        assert_eq!(shown(line, &words), "{n: -5, is_on: true, name: \"aa\", x: 1.5, next: null}");
        assert_eq!(shown(line, &words[..1]), "{n: -5, is_on: true, name: \"aa\", x: ?, next: ?}");
    }

    #[test]
    fn structures_lie_within_structures() {
        let line = "f(p: *struct{16;;at:struct{12;;x:i32@0;y:i16@4;z:i32@8}@4})";
        assert_eq!(shown(line, &[7 << 32, 9 << 32 | 8]), "{at: {x: 7, y: 8, z: 9}}");
        assert_eq!(shown(line, &[7 << 32]), "{at: {x: 7, y: ?, z: ?}}");
    }
}
