//! Prototypes of functions of Go as their debug information declares them.

use ada_image::{GoFunctionType, GoParameter, GoPlace, GoType, ValueType};
use ada_value::{Content, Convention, Failure, Field, Parameter, Part, Passing, Prototype, Type};

use crate::plan::declared_types::{parameter_type, sequence};

/// DWARF's numbers of the integer registers of arguments, in their order.
const INTEGERS: [u16; 9] = [0, 3, 2, 5, 4, 8, 9, 10, 11];
/// DWARF's number of the first vector register, and how many of them have arguments.
const FIRST_VECTOR: u16 = 17;
const VECTORS: usize = 15;
/// The most registers that one value is in.
const MOST_WORDS: usize = 24;
/// The most fields of a structure that are shown.
const MOST_FIELDS: usize = 12;

/// The prototype of a declared function.
pub(super) fn prototype(function: &GoFunctionType) -> Prototype {
    let mut registers = Registers::default();
    let parameter = |(number, it): (usize, &GoParameter)| Parameter {
        name: name_of(&it.name, &format!("argument{number}")),
        ty: registers.parameter(it),
        condition: None,
    };
    Prototype {
        name: "f".to_owned(),
        convention: Convention::Go,
        parameters: function.parameters.iter().enumerate().map(parameter).collect(),
        is_variadic: false,
        result: result(&function.results),
        failure: Failure::None,
    }
}

/// What of the registers has been given to parameters.
#[derive(Default)]
struct Registers {
    integers: usize,
    vectors: usize,
    /// From here on nothing is certain: a parameter without a name came before.
    are_lost: bool,
}

impl Registers {
    /// The type of the next parameter; of what is not where it would have to be it is unknown.
    fn parameter(&mut self, parameter: &GoParameter) -> Type {
        let Some((ty, words)) = passed(&parameter.ty).filter(|_| !self.are_lost) else {
            self.are_lost = true;
            return Type::Unknown;
        };
        let Some(expected) = self.take(&words) else { return on_stack() };
        match &parameter.place {
            GoPlace::Registers(found) if is_where(found, &expected) => ty,
            // It is in its registers all the same, unless something without a name came before.
            GoPlace::Unsaid => Type::OptimizedAway(Box::new(ty)),
            GoPlace::Registers(found) if found.len() < expected.len() => in_words(&words, Content::UNKNOWN),
            GoPlace::Registers(_) | GoPlace::Elsewhere => {
                self.are_lost = true;
                Type::Unknown
            }
        }
    }

    /// The registers for these words; none where a value goes to the stack.
    fn take(&mut self, words: &str) -> Option<Vec<u16>> {
        let (mut integers, mut vectors) = (self.integers, self.vectors);
        let mut register = |kind: char| {
            let (next, numbers) = if kind == 'I' { (&mut integers, 9) } else { (&mut vectors, VECTORS) };
            *next += 1;
            let number = *next - 1;
            (number < numbers).then(|| if kind == 'I' { INTEGERS[number] } else { FIRST_VECTOR + number as u16 })
        };
        let taken = words.chars().map(&mut register).collect::<Option<Vec<u16>>>().filter(|taken| !taken.is_empty())?;
        (self.integers, self.vectors) = (integers, vectors);
        Some(taken)
    }
}

/// Whether parts are in these registers, as far as it is said where they are.
fn is_where(found: &[Option<u16>], expected: &[u16]) -> bool {
    let is_there = |(found, expected): (&Option<u16>, &u16)| found.is_none_or(|found| found == *expected);
    found.len() == expected.len() && found.iter().zip(expected).all(is_there)
}

/// Something on the stack, which is not captured.
fn on_stack() -> Type {
    Type::Aggregate { bytes: 8, passing: Passing::Memory, content: Content::UNKNOWN }
}

/// Something in registers, a letter for each, which lies there as if it had a word for each.
fn in_words(words: &str, content: Content) -> Type {
    let part = |(number, kind): (u32, char)| Part { offset: 8 * number, is_vector: kind == 'V' };
    let parts = (0..).zip(words.chars()).map(part).collect();
    Type::Aggregate { bytes: offset_of(words), passing: Passing::Registers(parts), content }
}

/// One result is itself, and several are like the fields of one.
fn result(results: &[GoParameter]) -> Type {
    let mut registers = Registers::default();
    match results {
        [] => Type::Void,
        [one] => match passed(&one.ty) {
            Some((ty, words)) if registers.take(&words).is_some() => ty,
            _ => Type::Unknown,
        },
        several => {
            let (mut all, mut fields) = (String::new(), Vec::new());
            for (number, result) in several.iter().enumerate() {
                let name = name_of(&result.name, &format!("result{number}"));
                let Some((ty, words)) = passed(&result.ty) else {
                    // Neither is it known where the others are.
                    fields.push(Field { name, offset: offset_of(&all), ty: Type::Unknown });
                    break;
                };
                let is_in_registers = registers.take(&words).is_some();
                let ty = if is_in_registers { in_structure(ty) } else { Type::Unknown };
                fields.push(Field { name, offset: offset_of(&all), ty });
                all.push_str(if is_in_registers { &words } else { "" });
            }
            fields.truncate(MOST_FIELDS);
            if all.is_empty() { Type::Unknown } else { in_words(&all, Content::Fields(fields)) }
        }
    }
}

/// A name as prototypes have it.
fn name_of(name: &str, otherwise: &str) -> String {
    let name: String = name.chars().filter(|it| it.is_alphanumeric() || *it == '_').collect();
    if name.is_empty() { otherwise.to_owned() } else { name }
}

/// How a value is passed: its type, and a letter for each register that it takes, if it is passed in registers. None where that is
/// not known.
fn passed(ty: &GoType) -> Option<(Type, String)> {
    let structure = |words: &str, fields| (in_words(words, Content::Fields(fields)), words.to_owned());
    let field = |name: &str, offset, ty| Field { name: name.to_owned(), offset, ty };
    Some(match ty {
        &GoType::Integer { is_signed, bytes } => (Type::integer(is_signed, bytes), "I".to_owned()),
        GoType::Bool => (Type::Bool, "I".to_owned()),
        GoType::Float(bytes) => (Type::Float(*bytes), "V".to_owned()),
        GoType::Complex(bytes) => {
            let part = Type::Float(*bytes);
            structure("VV", vec![field("real", 0, part.clone()), field("imag", 8, part)])
        }
        GoType::Word => (Type::Pointer, "I".to_owned()),
        GoType::Pointer(to) => (parameter_type(&ValueType::Pointer(to.clone())), "I".to_owned()),
        GoType::String => (Type::slice(false), "II".to_owned()),
        GoType::Interface => (Type::interface(), "II".to_owned()),
        GoType::Slice(slice) => {
            let content = sequence(slice).map_or(Content::UNKNOWN, Content::Sequence);
            (in_words("III", content), "III".to_owned())
        }
        GoType::Struct(parts) => {
            let (mut words, mut fields) = (String::new(), Vec::new());
            for (name, part) in parts {
                let (ty, part_words) = passed(part)?;
                // What is on the stack by itself takes all of the structure there.
                let is_nothing = part_words.is_empty();
                if is_nothing && !is_empty(part) {
                    return Some((on_stack(), String::new()));
                }
                if !is_nothing {
                    fields.push(field(&name_of(name, "field"), offset_of(&words), in_structure(ty)));
                }
                words.push_str(&part_words);
                (words.len() <= MOST_WORDS).then_some(())?;
            }
            fields.truncate(MOST_FIELDS);
            structure(&words, fields)
        }
        GoType::Array(_, 0) => (on_stack(), String::new()),
        GoType::Array(element, 1) => {
            let (ty, words) = passed(element)?;
            structure(&words, vec![field("0", 0, in_structure(ty))])
        }
        GoType::Array(..) => (on_stack(), String::new()),
        GoType::Unknown => return None,
    })
}

/// Whether values of a type have no bytes.
fn is_empty(ty: &GoType) -> bool {
    match ty {
        GoType::Struct(parts) => parts.iter().all(|(_, part)| is_empty(part)),
        GoType::Array(element, count) => *count == 0 || is_empty(element),
        _ => false,
    }
}

/// How far into a structure what follows these registers begins.
fn offset_of(words: &str) -> u32 {
    8 * words.len() as u32
}

/// A type within a structure, which alone says in which registers it is.
fn in_structure(ty: Type) -> Type {
    match ty {
        Type::Aggregate { bytes, content, .. } => Type::Aggregate { bytes, passing: Passing::Memory, content },
        // What lies so deep is not read.
        Type::Reference { .. } | Type::Text => Type::Pointer,
        ty => ty,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_image::{ElementType, SequenceEnd, SequenceType};

    fn slice(elements: ElementType) -> GoType {
        GoType::Slice(SequenceType { start: 0, end: SequenceEnd::Count(8), elements })
    }

    fn int() -> GoType {
        GoType::Integer { is_signed: true, bytes: 8 }
    }

    /// In these registers; 99 for none.
    fn parameter(name: &str, ty: GoType, registers: &[u16]) -> GoParameter {
        let parts = registers.iter().map(|&register| (register != 99).then_some(register)).collect();
        let place = if registers.is_empty() { GoPlace::Unsaid } else { GoPlace::Registers(parts) };
        GoParameter { name: name.to_owned(), ty, place }
    }

    fn written(parameters: Vec<GoParameter>, results: Vec<GoParameter>) -> String {
        prototype(&GoFunctionType { parameters, results }).to_string()
    }

    #[test]
    fn declarations_become_prototypes() {
        let point = GoType::Struct(vec![
            ("X".to_owned(), GoType::Integer { is_signed: true, bytes: 1 }),
            ("name".to_owned(), GoType::String),
            ("none".to_owned(), GoType::Struct(Vec::new())),
            ("at".to_owned(), GoType::Array(Box::new(GoType::Float(8)), 1)),
        ]);
        let parameters = vec![
            parameter("s", GoType::String, &[0, 3]),
            parameter("p", point, &[2, 5, 4, 17]),
            parameter("many", GoType::Array(Box::new(int()), 2), &[]),
            parameter(
                "unused",
                slice(ElementType::Elements(8, Box::new(ValueType::Integer { is_signed: true, bytes: 8 }))),
                &[],
            ),
            parameter("data", slice(ElementType::Text), &[]),
            parameter("n", int(), &[11]),
        ];
        let results = vec![
            parameter("~r0", GoType::Integer { is_signed: true, bytes: 4 }, &[]),
            parameter("data", slice(ElementType::Text), &[]),
            parameter("err", GoType::Interface, &[]),
        ];
        assert_eq!(
            written(parameters, results),
            "go f(s: slice, p: struct{32;IIIV;X:i8@0;name:text{16;;0;8}@8;at:struct{8;;0:f64@0}@24}, many: struct{8;}, \
             unused: gone list{24;III;0;8;8;i64}, data: struct{8;}, n: i64) -> \
             struct{48;IIIIII;r0:i32@0;data:text{24;;0;8}@8;err:within{16;;pointer@0}@32}"
        );
    }

    #[test]
    fn behind_a_parameter_without_a_name_nothing_is_certain() {
        let parameters =
            vec![parameter("a", int(), &[0]), parameter("s", GoType::String, &[2, 5]), parameter("b", int(), &[3])];
        assert_eq!(written(parameters, Vec::new()), "go f(a: i64, s: unknown, b: unknown) -> void");
        // Some of its parts are enough, if it is sure which ones these are.
        let parameters = vec![
            parameter("s", GoType::String, &[99, 3]),
            parameter("t", GoType::String, &[5]),
            parameter("u", GoType::String, &[99, 2]),
        ];
        let unknown = vec![parameter("~r0", GoType::Unknown, &[])];
        assert_eq!(written(parameters, unknown), "go f(s: slice, t: struct{16;II}, u: unknown) -> unknown");
    }
}
