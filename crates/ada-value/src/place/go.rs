//! Where functions of Go take their arguments and give their results, since Go 1.17: <https://go.dev/s/regabi>.

use ada_ring::probe::{Base, GO_WORDS, VECTORS};

use super::Place;
use crate::{Parameter, Passing, Type, Value};

/// How many vector registers have arguments.
const ALL_VECTORS: usize = 15;

/// What reads start from that start from the integer register of a number, of arguments or of results.
pub(crate) fn base(register: usize) -> Option<Base> {
    Base::from_number(Base::GoWord1 as usize + register).filter(|_| register < GO_WORDS)
}

/// The places of parameters, in their order. What does not fit into what remains of the registers is on the stack, and what
/// follows may be in registers again.
pub(crate) fn places(parameters: &[Parameter]) -> Vec<Place> {
    let (mut registers, mut vectors, mut is_lost) = (0, 0, false);
    let mut place = |ty: &Type| {
        let ty = if let Type::OptimizedAway(ty) = ty { ty } else { ty };
        is_lost |= *ty == Type::Unknown;
        let (integers, others) = words_of(ty);
        if is_lost || registers + integers > GO_WORDS || vectors + others > ALL_VECTORS {
            return Place::Elsewhere;
        }
        let (first, first_vector) = (registers, vectors);
        (registers, vectors) = (registers + integers, vectors + others);
        match ty {
            // Not all of these are captured.
            _ if vectors > VECTORS && others > 0 => Place::Elsewhere,
            Type::Aggregate { passing: Passing::Memory, .. } => Place::Elsewhere,
            Type::Aggregate { .. } => Place::Registers(first, first_vector),
            ty if ty.is_in_vector() => Place::Vector(first_vector),
            _ => Place::Register(first),
        }
    };
    parameters.iter().map(|parameter| place(&parameter.ty)).collect()
}

/// How many integer registers, and how many vector registers, a value takes.
fn words_of(ty: &Type) -> (usize, usize) {
    match ty {
        Type::Aggregate { passing, .. } => passing.counts(),
        ty if ty.is_in_vector() => (0, 1),
        _ => (1, 0),
    }
}

/// A value as people who write Go read it.
pub(crate) fn in_words_of_go(value: Value) -> Value {
    match value {
        Value::Pointer(0) => Value::Number(0, "nil".to_owned()),
        Value::Structure(fields, written) => {
            let field = |(name, value): (String, Value)| (name, in_words_of_go(value));
            Value::Structure(fields.into_iter().map(field).collect(), written)
        }
        Value::List(elements, length) => Value::List(elements.into_iter().map(in_words_of_go).collect(), length),
        Value::Reference(at, value) => Value::Reference(at, Box::new(in_words_of_go(*value))),
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, Part};

    #[test]
    fn what_fits_is_in_registers_and_what_does_not_is_passed_over() {
        let aggregate = |kinds: &str| {
            let part = |(number, kind): (u32, char)| Part { offset: 8 * number, is_vector: kind == 'V' };
            let parts: Vec<Part> = (0..).zip(kinds.chars()).map(part).collect();
            let passing = if parts.is_empty() { Passing::Memory } else { Passing::Registers(parts) };
            Type::Aggregate { bytes: 8 * kinds.len() as u32, passing, content: Content::UNKNOWN }
        };
        let integer = Type::integer(true, 8);
        let types = [
            Type::slice(false),
            aggregate("III"),
            Type::Float(8),
            aggregate(""),
            aggregate("IVI"),
            aggregate("III"),
            integer.clone(),
            Type::interface(),
            integer,
            Type::Unknown,
            Type::Float(8),
        ];
        let parameter = |ty: &Type| Parameter { name: String::new(), ty: ty.clone(), condition: None };
        let places = places(&types.iter().map(parameter).collect::<Vec<_>>());
        let expected = [
            Place::Registers(0, 0),
            Place::Registers(2, 0),
            Place::Vector(0),
            Place::Elsewhere,
            Place::Registers(5, 1),
            Place::Elsewhere,
            Place::Register(7),
            Place::Elsewhere,
            Place::Register(8),
            Place::Elsewhere,
            Place::Elsewhere,
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn nine_registers_have_integers() {
        assert_eq!([base(0), base(8), base(9)], [Some(Base::GoWord1), Some(Base::GoWord9), None]);
    }
}
