//! What is read of a call: capture programs, made from prototypes.

use ada_ring::probe::{Base, Failed, PROBE_WORDS, READS, Read};

use super::format_parameter::{format_parameter, integer_registers};
use super::{Signature, Subject};
use crate::place::{Place, REGISTERS, places};
use crate::{Failure, Field, Length, Prototype, Type, structure};

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
        let places = places(&prototype.parameters, &prototype.result);
        let mut call = Vec::new();
        let mut back = Vec::new();
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
            if let (Place::Registers(_, first), Type::Aggregate { words, .. }) = (*place, &parameter.ty) {
                let vectors = words.chars().filter(|kind| *kind == 'V').count();
                call.extend((first..first + vectors).map(|number| (subject, Wanted::Vector(number))));
            }
            if let Place::Vector(number) = *place {
                call.push((subject, Wanted::Vector(number)));
            }
            if let (Place::Pair(first), Type::Slice { is_length_first }) = (*place, &parameter.ty) {
                let words = [first, first + 1].map(Base::from_number);
                let (start, length) = if *is_length_first { (words[1], words[0]) } else { (words[0], words[1]) };
                call.extend(start.zip(length).map(|(start, length)| (subject, Wanted::Bytes(start, length))));
            }
            let Some(base) = place.base() else { continue };
            match &parameter.ty {
                Type::Text => call.push((subject, Wanted::Text(base))),
                Type::StringReference => call.push((subject, Wanted::TextBehind(base))),
                // Both have a length first, as bytes have.
                Type::Source(Length::Parameter(length)) => {
                    if let Some(length) = places.get(*length).and_then(|place| place.base()) {
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
                    if let Some(length) = places.get(*length).and_then(|place| place.base()) {
                        call.push((subject, Wanted::Bytes(base, length)));
                    }
                }
                Type::Reference { is_out, to } => {
                    let reads = if *is_out { &mut back } else { &mut call };
                    match &**to {
                        Type::Aggregate { bytes, fields, .. } => {
                            reads.push((subject, Wanted::Words(base, 0, structure::words_of(*bytes))));
                            let behind = fields.iter().enumerate().filter_map(|(field, it)| {
                                Some((Subject::Field(number, field), Wanted::behind(base, it)?))
                            });
                            reads.extend(behind);
                        }
                        _ => reads.push((subject, Wanted::Words(base, 0, WORDS_OF_VALUE))),
                    }
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
            Type::Aggregate { bytes, words, fields } if words.is_empty() && !fields.is_empty() => {
                back.push((Subject::Result, Wanted::Words(Base::Result, 0, structure::words_of(*bytes))));
            }
            Type::Aggregate { words, .. } => {
                let vectors = words.chars().filter(|kind| *kind == 'V').count();
                back.extend((0..vectors).map(|number| (Subject::Result, Wanted::Vector(number))));
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
    /// That a word points at.
    TextBehind(Base),
    Bytes(Base, Base),
    Words(Base, i16, usize),
    /// The text that a word so many bytes behind the base points at.
    TextBehindAt(Base, i16),
    /// So many words that it points at.
    WordsBehind(Base, i16, usize),
    /// The vector register of this number.
    Vector(usize),
    /// `errno`, where the function has failed so.
    Errno(Failed),
}

impl Wanted {
    /// What a field of a structure at `base` points at.
    fn behind(base: Base, field: &Field) -> Option<Self> {
        let offset = i16::try_from(field.offset).ok()?;
        match &field.ty {
            Type::Text => Some(Self::TextBehindAt(base, offset)),
            Type::Reference { to, .. } => match &**to {
                Type::Aggregate { bytes, fields, .. } if !fields.is_empty() => {
                    Some(Self::WordsBehind(base, offset, structure::words_of(*bytes)))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// Gives the reads the room that there is: those of one word have it, and texts share the rest. Reads that find no room are not
/// made.
fn with_room(mut wanted: Vec<(Subject, Wanted)>) -> Vec<(Subject, Read)> {
    wanted.truncate(READS);
    let fixed = |wanted: &Wanted| match wanted {
        Wanted::Words(_, _, words) | Wanted::WordsBehind(_, _, words) => *words,
        Wanted::Vector(_) | Wanted::Errno(_) => 1,
        Wanted::ShortText(_) => SHORT_TEXT_WORDS,
        Wanted::Text(_) | Wanted::TextBehind(_) | Wanted::TextBehindAt(..) | Wanted::Bytes(..) => 0,
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
            Wanted::Errno(failed) => Read::errno(failed),
            Wanted::ShortText(base) => Read::text(base, SHORT_TEXT_WORDS as u8),
            Wanted::Text(base) if each > 1 => Read::text(base, each),
            Wanted::TextBehind(base) if each > 1 => Read::text_behind(base, each),
            Wanted::Bytes(base, length) if each > 1 => Read::bytes(base, length, each),
            Wanted::Text(_) | Wanted::TextBehind(_) | Wanted::TextBehindAt(..) | Wanted::Bytes(..) => return None,
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
