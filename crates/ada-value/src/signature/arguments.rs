//! The arguments of a call, from what was captured.

use ada_ring::probe::Read;

use super::format_parameter::{format_parameter, integer_registers};
use super::read_words::{in_memory, in_registers, in_vector, pointed_at, wide, words_behind, words_of};
use super::{Captured, Holder, Signature, Subject};
use crate::extended_float::extended;
use crate::place::{Place, REGISTERS, VECTORS, go};
use crate::printf_format::{FormatArguments, format_arguments};
use crate::structure::nothing;
use crate::value::{NOT_RECORDED, OPTIMIZED_AWAY};
use crate::{Condition, Convention, Parameter, Type, Value};

impl Signature {
    /// The arguments of a call, in the order of the parameters; then those that a format asks for.
    pub fn arguments(&self, captured: &Captured<'_>) -> Vec<Value> {
        let mut arguments = self.declared_arguments(captured);
        let (mut registers, mut vectors) = (integer_registers(&self.places).., 0..);
        for ty in self.asked_for(&arguments).types {
            let value = match &ty {
                // On the stack, and so are all that the registers have no room for: these are not captured.
                Type::Float(16) => None,
                Type::Float(_) => vectors.next().and_then(|number| {
                    let read = words_of(&self.call, Subject::VariadicVector(number), captured.words);
                    Some(in_vector(&ty, captured.vectors.get(number), read)).filter(|_| number < VECTORS)
                }),
                _ => registers.next().and_then(|number| {
                    let read = words_of(&self.call, Subject::Variadic(number), captured.words);
                    let word = captured.registers.get(number).filter(|_| number < REGISTERS)?;
                    Some(pointed_at(&ty, *word, read, &nothing))
                }),
            };
            arguments.push(value.unwrap_or(Value::Unknown(NOT_RECORDED)));
        }
        arguments
    }

    /// The types of the arguments behind the parameters, as far as a format among these tells them.
    pub fn further_types(&self, arguments: &[Value]) -> Vec<Type> {
        self.asked_for(arguments).types
    }

    /// Whether there may be more arguments.
    pub fn may_have_more(&self, arguments: &[Value]) -> bool {
        self.prototype.is_variadic && !self.asked_for(arguments).are_all
    }

    fn asked_for(&self, arguments: &[Value]) -> FormatArguments {
        let format = format_parameter(&self.prototype).and_then(|number| arguments.get(number));
        match format {
            Some(Value::Text(format, goes_on)) => {
                let asked_for = format_arguments(format);
                FormatArguments { are_all: asked_for.are_all && !goes_on, ..asked_for }
            }
            _ => FormatArguments { types: Vec::new(), are_all: false },
        }
    }

    fn declared_arguments(&self, captured: &Captured<'_>) -> Vec<Value> {
        let captured = &self.with_registers(captured, &self.call);
        let argument = |(number, place): (usize, &Place)| {
            let Parameter { ty, condition, .. } = &self.prototype.parameters[number];
            let is_there = |condition: &Condition| match self.places.get(condition.parameter) {
                Some(Place::Register(register)) => {
                    captured.registers.get(*register).is_some_and(|it| condition.holds(*it))
                }
                _ => false,
            };
            if !condition.as_ref().is_none_or(is_there) {
                return Value::Absent;
            }
            if let Type::OptimizedAway(_) = ty {
                return Value::Unknown(OPTIMIZED_AWAY);
            }
            let read = words_of(&self.call, Subject::Parameter(number), captured.words);
            let behind = words_behind(&self.call, Holder::Parameter(number), ty, captured.words);
            match *place {
                Place::Register(register) => match captured.registers.get(register) {
                    Some(&word) => pointed_at(ty, word, read, &behind),
                    None => Value::Unknown(NOT_RECORDED),
                },
                Place::Vector(register) => in_vector(ty, captured.vectors.get(register), read),
                Place::Pair(first) => {
                    let is_signed = matches!(ty, Type::Integer { is_signed: true, .. });
                    match captured.registers.get(first..first + 2) {
                        Some(&[low, high]) => wide(is_signed, low, high),
                        _ => Value::Unknown(NOT_RECORDED),
                    }
                }
                Place::Registers(register, vector) => {
                    let registers = captured.registers.get(register..).unwrap_or_default();
                    let vectors = captured.vectors.get(vector..).unwrap_or_default();
                    in_registers(ty, registers, vectors, read.unwrap_or_default(), &behind)
                }
                Place::Elsewhere => Value::Unknown(NOT_RECORDED),
                Place::Stack(_) => match read {
                    Some(words) if matches!(ty, Type::Aggregate { .. }) => in_memory(ty, words, &behind),
                    Some(&[low, high]) if *ty == Type::Float(16) => Value::Float(extended(low, high)),
                    Some(&[word, ..]) if *ty != Type::Float(16) => Value::of_word(ty, word),
                    _ => Value::Unknown(NOT_RECORDED),
                },
            }
        };
        let arguments = self.places.iter().enumerate().map(argument);
        match self.prototype.convention {
            Convention::SystemV => arguments.collect(),
            Convention::Go => arguments.map(go::in_words_of_go).collect(),
        }
    }

    /// The same with the registers that the convention uses.
    pub(super) fn with_registers<'w>(&self, captured: &Captured<'w>, reads: &[(Subject, Read)]) -> Captured<'w> {
        match self.prototype.convention {
            Convention::SystemV => *captured,
            Convention::Go => {
                let registers = words_of(reads, Subject::Registers, captured.words).unwrap_or_default();
                Captured { registers, ..*captured }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::capture_plan::TEXT_WORDS;
    use crate::signature::testing::{packed, shown, signature};
    use ada_ring::probe::UNREADABLE as UNREADABLE_WORD;

    #[test]
    fn a_format_tells_what_follows_it() {
        let printf = signature("fprintf(stream: pointer, format: text, ...) -> i32");
        let packed_reads: Vec<usize> = printf.reads(false).map(|read| read.count()).collect();
        assert_eq!(packed_reads, [10, 1, 1, 4, 4, 4]);
        assert_eq!(Signature::from_stored(&printf.stored()).unwrap(), printf);
        let unread = [UNREADABLE_WORD; 4];
        let words: Vec<u64> = [
            &packed(b"%s: %d of %.1f, %p %d %d\n", 10)[..],
            &[2.5_f64.to_bits(), 0],
            &packed(b"name", 4),
            &unread,
            &unread,
        ]
        .concat();
        let registers = [0x1000, 0x2000, 0x3000, 7, 0x4000, 9];
        let captured = Captured { registers: &registers, vectors: &[], words: &words };
        let values = printf.arguments(&captured);
        let expected = ["0x1000", "\"%s: %d of %.1f, %p %d %d\\n\"", "\"name\"", "7", "2.5", "0x4000", "9", "?"];
        assert_eq!(shown(&values), expected);
        assert_eq!((printf.further_types(&values).len(), printf.may_have_more(&values)), (6, false));
        // Without a format nothing is known.
        let nothing = printf.arguments(&Captured { words: &[], ..captured });
        assert_eq!((nothing.len(), printf.may_have_more(&nothing)), (2, true));
    }

    #[test]
    fn a_call_says_what_it_was_called_with() {
        let open = signature("open(path: text, flags: open_flags, mode: octal32 when flags&64) -> fd?");
        let [read] = open.reads(false).collect::<Vec<_>>()[..] else { panic!("one read") };
        assert_eq!(read.count(), TEXT_WORDS);
        let words = packed(b"/etc/passwd", TEXT_WORDS);
        let captured = Captured { registers: &[0x1000, 0o2000000, 0o644, 0, 0, 0], vectors: &[], words: &words };
        assert_eq!(shown(&open.arguments(&captured)), ["\"/etc/passwd\"", "O_RDONLY|O_CLOEXEC", ""]);
        let created = Captured { registers: &[0x1000, 0o101, 0o644, 0, 0, 0], ..captured };
        assert_eq!(shown(&open.arguments(&created))[1..], ["O_WRONLY|O_CREAT", "0644"]);
        let failed = Captured { registers: &[u64::from(u32::MAX), 0], vectors: &[], words: &[2] };
        let outcome = open.outcome(&failed);
        assert_eq!(outcome.value.map(|value| value.number()), Some(Some(-1)));
        assert_eq!(outcome.error, Some((2, "ENOENT".to_owned())));
        let good = Captured { registers: &[3, 0], vectors: &[], words: &[2] };
        assert_eq!(open.outcome(&good).error, None, "errno of a call that has not failed says nothing");
    }

    #[test]
    fn arguments_on_the_stack_and_in_vectors_are_captured() {
        let many = signature("many(a: i32, b: i32, c: i32, d: i32, e: i32, f: i32, g: i32, x: f64, h: text) -> f64");
        assert_eq!(many.reads(false).count(), 3);
        let missing = Captured { registers: &[1, 2, 3, 4, 5, 6], vectors: &[], words: &[] };
        assert_eq!(shown(&many.arguments(&missing))[6..], ["?", "?", "?"]);
        let half = 0.5_f64.to_bits();
        let taken = Captured { words: &[7, half, 8], ..missing };
        assert_eq!(shown(&many.arguments(&taken))[6..], ["7", "0.5", "0x8"]);
        assert_eq!(many.outcome(&Captured { words: &[half], ..missing }).value, Some(Value::Float(0.5)));
        let captured = Captured { words: &[7, u64::MAX, 8], ..missing };
        assert_eq!(shown(&many.arguments(&captured)), ["1", "2", "3", "4", "5", "6", "7", "?", "0x8"]);
        assert_eq!(many.outcome(&missing).value, Some(Value::Unknown(NOT_RECORDED)));
        let vector = 1.5_f64.to_bits().into();
        assert_eq!(many.outcome(&Captured { vectors: &[vector], ..captured }).value, Some(Value::Float(1.5)));
    }

    #[test]
    fn numbers_of_sixteen_bytes_are_read() {
        let wide = signature("wide(a: i128, b: u128, x: f80) -> i128");
        let one_and_a_half = [0xc000_0000_0000_0000, 0x3fff];
        let registers = [u64::MAX, u64::MAX, 5, 1];
        let captured = Captured { registers: &registers, vectors: &[], words: &one_and_a_half };
        assert_eq!(shown(&wide.arguments(&captured)), ["-1", "18446744073709551621", "1.5"]);
        assert_eq!(wide.outcome(&captured).value.and_then(|it| it.number()), Some(-1));
    }

    #[test]
    fn structures_have_their_fields() {
        let line = "f(p: *struct{24;;n:i32@0;name:text@8;next:*struct{8;;n:i32@0}@16}, q: struct{16;IV;a:i32@0;b:f64@8}, \
                    r: struct{24;;z:i64@16}) -> struct{16;VI;x:f64@0;y:u8@8}";
        let f = signature(line);
        let half = 0.5_f64.to_bits();
        let reads: Vec<usize> = f.reads(false).map(|read| read.count()).collect();
        assert_eq!(reads, [3, 16, 1, 1, 3]);
        let mut words = vec![7, 0x2000, 0x3000];
        words.extend(packed(b"ada", 16));
        words.extend([9, half, 0, 0, 4]);
        let captured = Captured { registers: &[0x1000, 5, 6], vectors: &[], words: &words };
        let expected = ["&{n: 7, name: \"ada\", next: &{n: 9}}", "{a: 5, b: 0.5}", "{z: 4}"];
        assert_eq!(shown(&f.arguments(&captured)), expected);
        let back = Captured { registers: &[0x1ff, 0], vectors: &[], words: &[half] };
        assert_eq!(f.outcome(&back).value.map(|it| it.shown(&|_| None)).as_deref(), Some("{x: 0.5, y: 255}"));
        let unreadable = Captured { words: &[u64::MAX; 24], ..captured };
        assert_eq!(shown(&f.arguments(&unreadable))[..2], ["0x1000", "?"]);
        assert_eq!(Signature::from_stored(&f.stored()), Ok(f));
    }

    #[test]
    fn functions_of_go_have_their_own_registers() {
        let line = "go f(s: slice, p: struct{24;IVI;n:i8@0;x:f64@8;ok:bool@16}, e: interface, q: *i64, y: f64) \
                    -> struct{40;IIIII;text:slice@0;n:i32@16;err:interface@24}";
        let f = signature(line);
        let reads: Vec<usize> = f.reads(false).map(|read| read.count()).collect();
        assert_eq!(reads, [9, 12, 1, 1, 1]);
        let half = 0.5_f64.to_bits();
        let mut words = vec![0x1000, 3, 0x1ff, 0x101, 0, 0x2000, 0x3000, 0, 0];
        words.extend(packed(b"abc", 12));
        words.extend([half, 7, half]);
        // The registers of other conventions say nothing.
        let captured = Captured { registers: &[1, 2, 3, 4, 5, 6], vectors: &[], words: &words };
        assert_eq!(shown(&f.arguments(&captured)), ["\"abc\"", "{n: -1, x: 0.5, ok: true}", "nil", "[7]", "0.5"]);
        let mut words = vec![0x1000, 2, 0x5_0000_0007, 0x4000, 0x5000, 0, 0, 0, 0];
        words.extend(packed(b"ok", 15));
        let back = f.outcome(&Captured { registers: &[9, 9], vectors: &[], words: &words });
        let written = back.value.map(|value| value.shown(&|_| None));
        assert_eq!(written.as_deref(), Some("{text: \"ok\", n: 7, err: 0x4000}"));
        let nothing = f.arguments(&Captured { words: &[], ..captured });
        assert_eq!(shown(&nothing), ["?", "?", "?", "?", "?"]);
    }

    #[test]
    fn structures_of_go_are_as_large_as_their_registers_are_many() {
        let f = signature("go f(p: struct{72;IIIIIIIII;s:list{24;;0;8;2;i16}@0;last:pointer@64})");
        let mut words = vec![0x1000, 3, 4, 0, 0, 0, 0, 0, 0];
        words.extend([6, 3 << 32 | 2 << 16 | 1]);
        words.extend([0; 13]);
        let captured = Captured { registers: &[], vectors: &[], words: &words };
        assert_eq!(shown(&f.arguments(&captured)), ["{s: [1, 2, 3], last: nil}"]);
    }

    #[test]
    fn what_has_no_place_of_its_own_is_told_to_be_unknown() {
        let odd = signature("odd(a: struct{16;II}, b: i32, c: gone, d: unknown, e: i32) -> struct{24;}");
        let captured = Captured { registers: &[1, 2, 3, 4, 5, 6], vectors: &[], words: &[] };
        assert_eq!(shown(&odd.arguments(&captured)), ["?", "4", "<optimized away>", "?", "?"]);
        assert_eq!(odd.outcome(&captured).value, Some(Value::Unknown(NOT_RECORDED)));
    }
}
