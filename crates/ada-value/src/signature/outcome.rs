//! What a call gave back, from what was captured.

use ada_ring::probe::UNREADABLE as UNREADABLE_WORD;

use super::read_words::{in_memory, in_registers, in_vector, pointed_at, read_value, wide, words_behind, words_of};
use super::{Captured, Holder, Outcome, Signature, Subject};
use crate::extended_float::extended;
use crate::name_set::NameSet;
use crate::place::go;
use crate::value::NOT_RECORDED;
use crate::{Convention, Failure, Passing, Type, Value};

impl Signature {
    /// What a call gave back.
    pub fn outcome(&self, captured: &Captured<'_>) -> Outcome {
        let captured = &self.with_registers(captured, &self.back);
        let ty = &self.prototype.result;
        let word = captured.registers.first().copied();
        let behind = words_behind(&self.back, Holder::Result, ty, captured.words);
        let value = match (ty, word) {
            (Type::Void, _) => None,
            (Type::Aggregate { passing, .. }, _) => {
                let read = words_of(&self.back, Subject::Result, captured.words).unwrap_or_default();
                Some(match passing {
                    Passing::Memory => in_memory(ty, read, &behind),
                    _ => in_registers(ty, captured.registers, captured.vectors, read, &behind),
                })
            }
            (Type::Unknown, _) => Some(Value::Unknown(NOT_RECORDED)),
            (Type::Float(4 | 8), _) => {
                let read = words_of(&self.back, Subject::Result, captured.words);
                Some(in_vector(ty, captured.vectors.first(), read))
            }
            (Type::Float(_), _) => Some(match words_of(&self.back, Subject::Result, captured.words) {
                Some(&[mantissa, exponent]) if exponent != UNREADABLE_WORD => {
                    Value::Float(extended(mantissa, exponent))
                }
                _ => Value::Unknown(NOT_RECORDED),
            }),
            (Type::Integer { is_signed, bytes: 16, .. }, _) => match captured.registers {
                &[low, high, ..] => Some(wide(*is_signed, low, high)),
                _ => Some(Value::Unknown(NOT_RECORDED)),
            },
            (_, Some(word)) => {
                Some(pointed_at(ty, word, words_of(&self.back, Subject::Result, captured.words), &behind))
            }
            (_, None) => Some(Value::Unknown(NOT_RECORDED)),
        };
        let value = match self.prototype.convention {
            Convention::SystemV => value,
            Convention::Go => value.map(go::in_words_of_go),
        };
        let errno = || match words_of(&self.back, Subject::Errno, captured.words)? {
            &[UNREADABLE_WORD, ..] | [] => None,
            &[word, ..] => Some(i64::from(word as i32)),
        };
        let number = value.as_ref().and_then(Value::number);
        let is_pointer = matches!(ty, Type::Pointer | Type::Code | Type::Text | Type::Reference { .. });
        let has_failed =
            if is_pointer { word.is_some_and(|word| word == 0 || word == u64::MAX) } else { number == Some(-1) };
        let error = match self.prototype.failure {
            Failure::Errno if has_failed => errno(),
            Failure::Number => number.filter(|number| *number != 0).and_then(|number| i64::try_from(number).ok()),
            Failure::Errno | Failure::None => None,
        };
        let name = |error: i64| (error, error_name(error));
        let written = self.prototype.parameters.iter().enumerate().filter_map(|(number, parameter)| {
            let words = words_of(&self.back, Subject::Parameter(number), captured.words)?;
            let behind = words_behind(&self.back, Holder::Parameter(number), &parameter.ty, captured.words);
            let value = read_value(&parameter.ty, words, &behind)?;
            let is_reference = matches!(parameter.ty, Type::Reference { .. });
            Some((number, if is_reference { Value::Reference(None, Box::new(value)) } else { value }))
        });
        Outcome { value, error: error.map(name), written: written.collect() }
    }
}

/// The name of an error's number.
fn error_name(error: i64) -> String {
    NameSet::find("error").map_or_else(|| error.to_string(), |names| names.words(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::capture_plan::TEXT_WORDS;
    use crate::signature::testing::{packed, shown, signature};

    #[test]
    fn what_a_function_writes_is_read_when_it_returns() {
        let read = signature("read(fd: fd, buffer: bytes(result), count: u64) -> i64?");
        assert_eq!(read.reads(false).count(), 0);
        let mut words = packed(b"hello", TEXT_WORDS);
        words.push(0);
        let outcome = read.outcome(&Captured { registers: &[5, 0], vectors: &[], words: &words });
        assert_eq!(outcome.written, [(1, Value::Text(b"hello".to_vec(), false))]);
        let pipe = signature("pipe(ends: out u64) -> i32?");
        let outcome = pipe.outcome(&Captured { registers: &[0, 0], vectors: &[], words: &[7, 0] });
        assert_eq!(shown(&[outcome.written[0].1.clone()]), ["[7]"]);
    }
}
