//! Where calling conventions put arguments: System V's, and Go's.

pub(crate) mod go;

use ada_ring::probe::Base;

use crate::{Convention, Parameter, Part, Passing, Prototype, Type};

/// Where an argument is when a function is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the integer register of this number.
    Register(usize),
    /// In the vector register of this number.
    Vector(usize),
    /// In the integer register of this number, and in the next one.
    Pair(usize),
    /// So many bytes above the return slot.
    Stack(i16),
    /// A structure in several registers: from these of the integer and of the vector registers on.
    Registers(usize, usize),
    /// Nowhere that is known.
    Elsewhere,
}

pub(crate) const REGISTERS: usize = 6;
pub(crate) const VECTORS: usize = 8;
const WORD: i16 = 8;

/// The places of parameters, in their order.
pub(crate) fn places(prototype: &Prototype) -> Vec<Place> {
    match prototype.convention {
        Convention::SystemV => system_v(&prototype.parameters, &prototype.result),
        Convention::Go => go::places(&prototype.parameters),
    }
}

/// A result that is returned in memory takes the first register.
fn system_v(parameters: &[Parameter], result: &Type) -> Vec<Place> {
    let is_in_memory = matches!(result, Type::Aggregate { passing: Passing::Memory, .. });
    let (mut registers, mut vectors, mut above) = (usize::from(is_in_memory), 0, WORD);
    let mut is_lost = *result == Type::Unknown;
    let mut stack_is_lost = false;
    let mut place = |ty: &Type| {
        let ty = if let Type::OptimizedAway(ty) = ty { ty } else { ty };
        is_lost |= *ty == Type::Unknown;
        if is_lost {
            return Place::Elsewhere;
        }
        if let Type::Integer { bytes: 16, .. } = ty {
            // Languages differ in what they do where only one register is left.
            is_lost = registers + 2 > REGISTERS;
            registers += 2;
            return if is_lost { Place::Elsewhere } else { Place::Pair(registers - 2) };
        }
        if let Type::Aggregate { bytes, passing, .. } = ty {
            let (integers, others) = passing.counts();
            let fits = registers + integers <= REGISTERS && vectors + others <= VECTORS;
            if fits && *passing != Passing::Memory {
                let first = Place::Registers(registers, vectors);
                (registers, vectors) = (registers + integers, vectors + others);
                return first;
            }
            // What is passed in parts may have one on the stack.
            is_lost |= matches!(passing, Passing::Apart(_));
            if is_lost {
                return Place::Elsewhere;
            }
            // One of 16 bytes or more may be at a multiple of them, or not.
            stack_is_lost |= bytes % 16 == 0 && (above - WORD) % 16 != 0;
            let at = above;
            above = above.saturating_add(i16::try_from(bytes.next_multiple_of(8)).unwrap_or(i16::MAX));
            return if stack_is_lost { Place::Elsewhere } else { Place::Stack(at) };
        }
        if ty.is_in_vector() && vectors < VECTORS {
            vectors += 1;
            return Place::Vector(vectors - 1);
        }
        let bytes = if let Type::Float(16) = ty { 16 } else { WORD };
        if !matches!(ty, Type::Float(_)) && registers < REGISTERS {
            registers += 1;
            return Place::Register(registers - 1);
        }
        // Behind the return address, what has 16 bytes is at a multiple of them.
        if bytes == 16 && (above - WORD) % 16 != 0 {
            above = above.saturating_add(WORD);
        }
        let at = above;
        above = above.saturating_add(bytes);
        if stack_is_lost { Place::Elsewhere } else { Place::Stack(at) }
    };
    parameters.iter().map(|parameter| place(&parameter.ty)).collect()
}

impl Prototype {
    /// The vector register that holds a parameter's argument when the function is entered, if one does, by its number.
    pub fn vector_of(&self, parameter: usize) -> Option<usize> {
        match places(self).get(parameter) {
            Some(Place::Vector(number)) => Some(*number),
            _ => None,
        }
    }

    /// The integer register that holds a parameter's argument when the function is entered, if one does, by its number.
    pub fn register_of(&self, parameter: usize) -> Option<usize> {
        match places(self).get(parameter) {
            Some(Place::Register(number)) => Some(*number),
            _ => None,
        }
    }
}

/// A register that has a part of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartRegister {
    /// How many bytes into the argument the part begins.
    pub offset: u32,
    /// Whether it is a vector register.
    pub is_vector: bool,
    /// The number of the register, of its kind.
    pub number: usize,
}

impl Prototype {
    /// The registers that hold a parameter's argument, a structure, when the function is entered.
    pub fn registers_of(&self, parameter: usize) -> Vec<PartRegister> {
        let place = places(self).get(parameter).copied();
        let ty = self.parameters.get(parameter).map(|parameter| &parameter.ty);
        let (Some(Place::Registers(mut integer, mut vector)), Some(Type::Aggregate { passing, .. })) = (place, ty)
        else {
            return Vec::new();
        };
        let register = |part: &Part| {
            let next = if part.is_vector { &mut vector } else { &mut integer };
            *next += 1;
            PartRegister { offset: part.offset, is_vector: part.is_vector, number: *next - 1 }
        };
        passing.parts().iter().map(register).collect()
    }
}

impl Place {
    /// What memory reads that start from it start from.
    pub(crate) fn base(self, convention: Convention) -> Option<Base> {
        match self {
            Self::Register(number) => convention.base(number),
            Self::Pair(_) | Self::Vector(_) | Self::Stack(_) | Self::Registers(..) | Self::Elsewhere => None,
        }
    }
}

impl Convention {
    /// The integer register of a number that has an argument, as what reads start from.
    pub(crate) fn base(self, register: usize) -> Option<Base> {
        match self {
            Self::SystemV => Base::from_number(register).filter(|_| register < REGISTERS),
            Self::Go => go::base(register),
        }
    }

    /// The same of one that has a result.
    pub(crate) fn base_of_result(self, register: usize) -> Option<Base> {
        match self {
            Self::SystemV => [Base::Result, Base::SecondResult].get(register).copied(),
            Self::Go => go::base(register),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Content;

    fn places_of(types: &[Type]) -> Vec<Place> {
        let parameter = |ty: &Type| Parameter { name: String::new(), ty: ty.clone(), condition: None };
        system_v(&types.iter().map(parameter).collect::<Vec<_>>(), &Type::Void)
    }

    #[test]
    fn registers_are_used_up_before_the_stack() {
        let integer = Type::integer(true, 4);
        let mut types = vec![integer.clone(); 8];
        types.insert(3, Type::Float(8));
        let places = places_of(&types);
        assert_eq!(places[3], Place::Vector(0));
        assert_eq!(places[4], Place::Register(3));
        assert_eq!(places[7..], [Place::Stack(8), Place::Stack(16)]);
    }

    #[test]
    fn structures_take_as_many_registers_as_they_have_words() {
        let integer = Type::integer(true, 8);
        let aggregate = |bytes: u32, words: &str| {
            let part = |(number, kind): (u32, char)| Part { offset: 8 * number, is_vector: kind == 'V' };
            let parts: Vec<Part> = (0..).zip(words.chars()).map(part).collect();
            let passing = if parts.is_empty() { Passing::Memory } else { Passing::Registers(parts) };
            Type::Aggregate { bytes, passing, content: Content::UNKNOWN }
        };
        let types = [aggregate(16, "II"), integer.clone(), aggregate(24, ""), aggregate(16, "IV"), integer.clone()];
        assert_eq!(
            places_of(&types)[1..],
            [Place::Register(2), Place::Stack(8), Place::Registers(3, 0), Place::Register(4)]
        );
        let parameter = Parameter { name: String::new(), ty: integer.clone(), condition: None };
        assert_eq!(system_v(&[parameter], &aggregate(24, "")), [Place::Register(1)]);
        let slice = Type::slice(false);
        assert_eq!(places_of(&[slice.clone(), integer.clone()]), [Place::Registers(0, 0), Place::Register(2)]);
        let mut many = vec![integer.clone(); 5];
        many.extend([slice, integer.clone()]);
        assert_eq!(places_of(&many)[5..], [Place::Elsewhere; 2]);
        assert_eq!(places_of(&[Type::Unknown, integer]), [Place::Elsewhere; 2]);
    }

    #[test]
    fn parts_of_structures_are_in_the_next_registers_of_their_kinds() {
        let prototype =
            crate::notation::parse("f(a: i32, b: f64, c: struct{16;IV}, d: struct{8;+II4}) -> struct{24;}").unwrap();
        let of = |number| {
            prototype.registers_of(number).iter().map(|it| (it.offset, it.is_vector, it.number)).collect::<Vec<_>>()
        };
        assert_eq!(of(2), [(0, false, 2), (8, true, 1)]);
        assert_eq!(of(3), [(0, false, 3), (4, false, 4)]);
        assert_eq!(of(0), []);
    }

    #[test]
    fn long_doubles_are_on_the_stack_and_aligned() {
        let mut types = vec![Type::integer(true, 8); 7];
        types.extend([Type::Float(16), Type::integer(true, 8)]);
        assert_eq!(places_of(&types)[6..], [Place::Stack(8), Place::Stack(24), Place::Stack(40)]);
    }
}
