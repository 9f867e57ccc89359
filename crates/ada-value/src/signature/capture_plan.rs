//! What is read of a call: capture programs, made from prototypes.

use ada_ring::probe::{Base, ElementsEnd, Failed, GO_WORDS, PROBE_WORDS, READS, Read};

use super::format_parameter::{format_parameter, integer_registers};
use super::{Holder, Signature, Subject};
use crate::followed::{Followed, To, followed};
use crate::place::{Place, REGISTERS, VECTORS, places};
use crate::{
    Content, Convention, Elements, Failure, Length, Passing, Prototype, Sequence, SequenceEnd, Type, structure,
};

/// Words of a text, where it has all the room for itself, and of a value behind a pointer.
pub(super) const TEXT_WORDS: usize = 17;
const WORDS_OF_VALUE: usize = 1;
/// Descriptors of a list for `poll`, a word each, and words of a set for `select`, of which there are three.
const POLLED: usize = 16;
const SET_WORDS: usize = 4;
/// Words of the address of who sent something, and of whom a message is for.
const ADDRESS_WORDS: usize = 6;
/// Where a message has the length of its address, behind a pointer to that.
const NAME_LENGTH: i16 = 8;
/// Of what a format may ask for, so many texts are captured, each with so many words, and so many numbers with fractions.
const VARIADIC_TEXTS: usize = 3;
const SHORT_TEXT_WORDS: usize = 4;
const VARIADIC_VECTORS: usize = 2;

impl Signature {
    /// Plans what is captured of a function.
    pub fn of(prototype: Prototype) -> Self {
        let places = places(&prototype);
        let convention = prototype.convention;
        let mut call = Vec::new();
        let mut back = Vec::new();
        if convention == Convention::Go {
            // The registers of other functions are recorded anyhow.
            let registers = (Subject::Registers, Wanted::Registers);
            call.extend((!prototype.parameters.is_empty()).then_some(registers));
            back.extend((prototype.result != Type::Void).then_some(registers));
        }
        for (number, (parameter, place)) in prototype.parameters.iter().zip(&places).enumerate() {
            let subject = Subject::Parameter(number);
            if let Type::OptimizedAway(_) = parameter.ty {
                continue;
            }
            if let Place::Stack(at) = *place {
                let words = match &parameter.ty {
                    Type::Float(16) => 2,
                    Type::Aggregate { bytes, .. } => structure::words_of(*bytes),
                    _ => 1,
                };
                call.push((subject, Wanted::Words(Base::Slot, at, words)));
            }
            if let (Place::Registers(register, vector), Type::Aggregate { passing, .. }) = (*place, &parameter.ty) {
                let (_, vectors) = passing.counts();
                call.extend((vector..vector + vectors).map(|number| (subject, Wanted::Vector(number))));
                let home = Home::in_registers(passing, (register..).map_while(|number| convention.base(number)));
                call.extend(home.behind(&parameter.ty, Holder::Parameter(number)));
            }
            if let (Place::Stack(at), Type::Aggregate { .. }) = (*place, &parameter.ty) {
                call.extend(Home::Memory(Base::Slot, at).behind(&parameter.ty, Holder::Parameter(number)));
            }
            if let Place::Vector(number) = *place {
                call.push((subject, Wanted::Vector(number)));
            }
            let Some(base) = place.base(convention) else { continue };
            match &parameter.ty {
                Type::Text => call.push((subject, Wanted::Text(base))),
                // Both have a length first, as bytes have.
                Type::Source(Length::Parameter(length)) => {
                    if let Some(length) = places.get(*length).and_then(|place| place.base(convention)) {
                        back.push((subject, Wanted::Words(length, 0, 1)));
                        back.push((subject, Wanted::Words(base, 0, ADDRESS_WORDS)));
                    }
                }
                Type::Message { is_out } => {
                    let reads = if *is_out { &mut back } else { &mut call };
                    reads.push((subject, Wanted::Words(base, NAME_LENGTH, 1)));
                    reads.push((subject, Wanted::WordsBehind(base, 0, ADDRESS_WORDS)));
                }
                Type::PollList => {
                    call.push((subject, Wanted::Words(base, 0, WORDS_OF_VALUE)));
                    back.push((subject, Wanted::Words(base, 0, POLLED)));
                }
                Type::DescriptorSet => back.push((subject, Wanted::Words(base, 0, SET_WORDS))),
                Type::Bytes(Length::Result) => back.push((subject, Wanted::Bytes(base, Base::Result))),
                Type::Bytes(Length::Parameter(length)) | Type::Address(Length::Parameter(length)) => {
                    if let Some(length) = places.get(*length).and_then(|place| place.base(convention)) {
                        call.push((subject, Wanted::Bytes(base, length)));
                    }
                }
                Type::Reference { is_out: true, to } => back.extend(Wanted::value(base, to, subject)),
                Type::Reference { is_out: false, to } | Type::Copy(to) => {
                    call.extend(Wanted::value(base, to, subject));
                }
                _ => {}
            }
        }
        if format_parameter(&prototype).is_some() {
            let first = integer_registers(&places);
            let texts = (first..REGISTERS).filter_map(|it| Some((it, Base::from_number(it)?))).take(VARIADIC_TEXTS);
            call.extend((0..VARIADIC_VECTORS).map(|it| (Subject::VariadicVector(it), Wanted::Vector(it))));
            call.extend(texts.map(|(it, base)| (Subject::Variadic(it), Wanted::ShortText(base))));
        }
        if prototype.result == Type::Text {
            back.push((Subject::Result, Wanted::Text(Base::Result)));
        }
        match &prototype.result {
            result if result.is_in_vector() => back.push((Subject::Result, Wanted::Vector(0))),
            Type::Float(_) => back.push((Subject::Result, Wanted::Extended)),
            Type::Aggregate { content, .. } if *content == Content::UNKNOWN => {}
            result @ Type::Aggregate { passing: Passing::Memory, .. } => {
                // Where the caller said: LLVM does not give this back in functions that nobody else calls.
                back.extend(Wanted::value(Base::Argument1, result, Subject::Result));
            }
            result @ Type::Aggregate { passing, .. } => {
                let (_, vectors) = passing.counts();
                back.extend((0..vectors.min(VECTORS)).map(|number| (Subject::Result, Wanted::Vector(number))));
                let bases = (0..).map_while(|number| convention.base_of_result(number));
                let home = Home::in_registers(passing, bases);
                back.extend(home.behind(result, Holder::Result));
            }
            _ => {}
        }
        if prototype.failure == Failure::Errno {
            let failed = match &prototype.result {
                Type::Integer { bytes: 8, .. } => Failed::MinusOne64,
                result if result.is_passed_as_pointer() => Failed::NoPointer,
                _ => Failed::MinusOne32,
            };
            back.push((Subject::Errno, Wanted::Errno(failed)));
        }
        // Addresses of sockets are the first to be read, so that whoever wants nothing else knows where they are.
        let is_other = |(subject, _): &(Subject, Wanted)| match subject {
            Subject::Parameter(number) => !prototype.parameters[*number].ty.is_address(),
            _ => true,
        };
        call.sort_by_key(is_other);
        back.sort_by_key(is_other);
        Self { places, call: with_room(call), back: with_room(back), prototype }
    }
}

/// A read whose room is not known yet.
#[derive(Clone, Copy)]
enum Wanted {
    Text(Base),
    /// The beginning of one.
    ShortText(Base),
    Bytes(Base, Base),
    /// As many elements of so many bytes.
    Elements(Base, Base, u8),
    /// Elements of so many bytes that a word so many bytes behind the base points at.
    ElementsBehind(Base, i16, ElementsEnd, u8),
    Words(Base, i16, usize),
    /// The text that a word so many bytes behind the base points at.
    TextBehindAt(Base, i16),
    /// So many words that it points at.
    WordsBehind(Base, i16, usize),
    /// The vector register of this number.
    Vector(usize),
    /// What x87 has newest.
    Extended,
    /// The integer registers of Go.
    Registers,
    /// `errno`, where the function has failed so.
    Errno(Failed),
}

impl Wanted {
    /// What a pointer points at: the value, and what is behind the pointers in it.
    fn value(base: Base, to: &Type, subject: Subject) -> Vec<(Subject, Self)> {
        let words = match to {
            Type::Aggregate { bytes, .. } => structure::words_of(*bytes),
            _ => WORDS_OF_VALUE,
        };
        let holder = match subject {
            Subject::Parameter(number) => Some(Holder::Parameter(number)),
            Subject::Result => Some(Holder::Result),
            _ => None,
        };
        let behind = holder.into_iter().flat_map(|holder| Home::Memory(base, 0).behind(to, holder));
        std::iter::once((subject, Self::Words(base, 0, words))).chain(behind).collect()
    }
}

/// Where a structure is.
enum Home {
    /// So many bytes behind where this points.
    Memory(Base, i16),
    /// In integer registers: how many bytes into it their parts begin.
    Registers(Vec<(u32, Base)>),
}

impl Home {
    /// The registers that a structure is passed in, by the integer registers that there are for it.
    fn in_registers(passing: &Passing, bases: impl Iterator<Item = Base>) -> Self {
        let integers = passing.parts().iter().filter(|part| !part.is_vector);
        Self::Registers(integers.map(|part| part.offset).zip(bases).collect())
    }

    /// What is behind the pointers in the structure.
    fn behind(&self, structure: &Type, holder: Holder) -> Vec<(Subject, Wanted)> {
        let of =
            |(number, pointer): (usize, Followed<'_>)| Some((Subject::Behind(holder, number), self.wanted(pointer)?));
        match structure {
            Type::Aggregate { .. } => followed(structure).into_iter().enumerate().filter_map(of).collect(),
            _ => Vec::new(),
        }
    }

    fn wanted(&self, pointer: Followed<'_>) -> Option<Wanted> {
        let words = |to: &Type| to.bytes().map(structure::words_of);
        match self {
            Self::Memory(base, start) => {
                let place = |offset: u32| start.checked_add(i16::try_from(offset).ok()?);
                let at = place(pointer.offset)?;
                Some(match pointer.to {
                    To::Text => Wanted::TextBehindAt(*base, at),
                    To::Value(to) => Wanted::WordsBehind(*base, at, words(to)?),
                    To::Elements(sequence) => {
                        let place = |offset: u32| place(pointer.offset.checked_add(offset)?);
                        let bytes = u8::try_from(sequence.element_bytes()).ok().filter(|bytes| *bytes > 0)?;
                        let end = match sequence.end {
                            SequenceEnd::Count(end) => ElementsEnd::Count(place(end)?),
                            SequenceEnd::Pointer(end) => ElementsEnd::Pointer(place(end)?),
                        };
                        Wanted::ElementsBehind(*base, place(sequence.start)?, end, bytes)
                    }
                })
            }
            Self::Registers(parts) => {
                let base = |at: u32| parts.iter().find(|(offset, _)| *offset == at).map(|(_, base)| *base);
                Some(match pointer.to {
                    To::Text => Wanted::Text(base(pointer.offset)?),
                    To::Value(to) => Wanted::Words(base(pointer.offset)?, 0, words(to)?),
                    To::Elements(Sequence { start, end: SequenceEnd::Count(end), elements }) => {
                        let start = base(pointer.offset.checked_add(*start)?)?;
                        let length = base(pointer.offset.checked_add(*end)?)?;
                        match elements {
                            Elements::Text | Elements::Of(1, _) => Wanted::Bytes(start, length),
                            Elements::Of(bytes, _) => {
                                let bytes = u8::try_from(*bytes).ok().filter(|bytes| *bytes > 0)?;
                                Wanted::Elements(start, length, bytes)
                            }
                        }
                    }
                    To::Elements(_) => return None,
                })
            }
        }
    }
}

/// Gives the reads the room that there is: those of one word have it, and texts share the rest. Reads that find no room are not
/// made.
fn with_room(mut wanted: Vec<(Subject, Wanted)>) -> Vec<(Subject, Read)> {
    if wanted.len() > READS {
        // What a parameter is says more than what a pointer in another one leads to.
        wanted.sort_by_key(|(subject, _)| matches!(subject, Subject::Behind(..)));
        wanted.truncate(READS);
    }
    let fixed = |wanted: &Wanted| match wanted {
        Wanted::Words(_, _, words) | Wanted::WordsBehind(_, _, words) => *words,
        Wanted::Vector(_) | Wanted::Errno(_) => 1,
        Wanted::Extended => 2,
        Wanted::Registers => GO_WORDS,
        Wanted::ShortText(_) => SHORT_TEXT_WORDS,
        Wanted::Text(_)
        | Wanted::TextBehindAt(..)
        | Wanted::Bytes(..)
        | Wanted::Elements(..)
        | Wanted::ElementsBehind(..) => 0,
    };
    let mut room = PROBE_WORDS - 1;
    wanted.retain(|(_, wanted)| {
        let fits = fixed(wanted) <= room;
        room -= if fits { fixed(wanted) } else { 0 };
        fits
    });
    let taken: usize = wanted.iter().map(|(_, wanted)| fixed(wanted)).sum();
    let texts = wanted.iter().filter(|(_, wanted)| fixed(wanted) == 0).count();
    let each = (PROBE_WORDS.saturating_sub(taken) / texts.max(1)).min(TEXT_WORDS) as u8;
    let read = |(subject, wanted): (Subject, Wanted)| {
        let read = match wanted {
            Wanted::Words(base, at, words) => Read::words(base, at, words as u8),
            Wanted::WordsBehind(base, at, words) => Read::through(base, at, 0, words as u8),
            Wanted::TextBehindAt(base, at) if each > 1 => Read::text_behind_at(base, at, each),
            Wanted::Vector(number) => Read::vector(number),
            Wanted::Extended => Read::extended(),
            Wanted::Registers => Read::values(Base::GoWord1, GO_WORDS as u8),
            Wanted::Errno(failed) => Read::errno(failed),
            Wanted::ShortText(base) => Read::text(base, SHORT_TEXT_WORDS as u8),
            Wanted::Text(base) if each > 1 => Read::text(base, each),
            Wanted::Bytes(base, length) if each > 1 => Read::bytes(base, length, each),
            Wanted::Elements(base, length, bytes) if each > 1 => Read::elements(base, length, bytes, each),
            Wanted::ElementsBehind(base, start, end, bytes) if each > 1 => {
                Read::elements_behind(base, start, end, bytes, each)
            }
            Wanted::Text(_)
            | Wanted::TextBehindAt(..)
            | Wanted::Bytes(..)
            | Wanted::Elements(..)
            | Wanted::ElementsBehind(..) => return None,
        };
        Some((subject, read))
    };
    wanted.into_iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation;
    use crate::signature::Captured;
    use crate::signature::testing::{packed, shown, signature};

    #[test]
    fn what_is_redacted_is_not_read() {
        let of = |line: &str| notation::parse(line).unwrap().redacted(&|name| name == "secret");
        let login = Signature::of(of("login(user: text, secret: text) -> i32").unwrap());
        assert_eq!(login.reads(false).count(), 1);
        let words = packed(b"ada", TEXT_WORDS);
        let captured = Captured { registers: &[0x1000, 0x2000], vectors: &[], words: &words };
        assert_eq!(shown(&login.arguments(&captured)), ["\"ada\"", "<redacted>"]);
        assert_eq!(of("unlock(secret: i32)"), None);
    }

    #[test]
    fn slices_have_a_start_and_a_length() {
        for (line, lengths) in [("f(x: slice)", (0, 1)), ("f(x: view)", (1, 0))] {
            let signature = signature(line);
            let read = signature.reads(false).next().unwrap();
            assert_eq!((read.base(), read.extent()), (lengths.0, ada_ring::probe::Extent::Bytes(lengths.1)));
            let words = packed(b"abc", TEXT_WORDS);
            let captured = Captured { registers: &[0x1000, 3], vectors: &[], words: &words };
            assert_eq!(shown(&signature.arguments(&captured)), ["\"abc\""]);
        }
    }
}
