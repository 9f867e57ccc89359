//! What is captured of a call, and what it says.

use std::ops::Range;

use ada_ring::probe::{Base, Failed, GOES_ON, PROBE_WORDS, READS, Read, UNREADABLE as UNREADABLE_WORD};

use crate::extended_float::extended;
use crate::place::{Place, REGISTERS, VECTORS, places};
use crate::printf_format::{FormatArguments, format_arguments};
use crate::socket_address::socket_address;
use crate::value::{NOT_RECORDED, OPTIMIZED_AWAY, UNREADABLE};
use crate::{Condition, Failure, Field, Length, NotationError, Parameter, Prototype, Type, Value, notation, structure};

/// A prototype with its capture program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    prototype: Prototype,
    places: Vec<Place>,
    call: Vec<(Subject, Read)>,
    back: Vec<(Subject, Read)>,
}

/// What a read is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// What the parameter of this number points at, or the parameter itself where it is on the stack.
    Parameter(usize),
    /// What a field points at, of the structure that a parameter points at.
    Field(usize, usize),
    /// What the argument in this integer register points at, which a format may ask for.
    Variadic(usize),
    /// The argument in this vector register, likewise.
    VariadicVector(usize),
    /// What the result points at.
    Result,
    /// Why the function has failed.
    Errno,
}

/// Registers, and words that were read from memory.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// The integer registers of arguments, or of results.
    pub registers: &'a [u64],
    /// The vector registers, as far as they were recorded.
    pub vectors: &'a [u128],
    /// What the capture program has read; nothing where none ran.
    pub words: &'a [u64],
}

/// What a call gave back.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The result; none where there is no such thing.
    pub value: Option<Value>,
    /// Why it has failed, if it has and that is known: a number and its name.
    pub error: Option<(i64, String)>,
    /// What was written where parameters point, by their numbers.
    pub written: Vec<(usize, Value)>,
}

/// Words of a text, where it has all the room for itself, and of a value behind a pointer.
const TEXT_WORDS: usize = 17;
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

    /// The prototype.
    pub fn prototype(&self) -> &Prototype {
        &self.prototype
    }

    /// The reads at one end of a call.
    pub fn reads(&self, is_return: bool) -> impl Iterator<Item = Read> + '_ {
        if is_return { &self.back } else { &self.call }.iter().map(|(_, read)| *read)
    }

    /// As a session keeps it: the prototype, and the reads at a call and at a return, each with what it is about.
    pub fn stored(&self) -> String {
        let reads = |reads: &[(Subject, Read)]| {
            let read = |(subject, read): &(Subject, Read)| match subject {
                Subject::Parameter(number) => format!("{number}={:x}", read.packed()),
                Subject::Field(number, field) => format!("{number}.{field}={:x}", read.packed()),
                Subject::Variadic(number) => format!("variadic{number}={:x}", read.packed()),
                Subject::VariadicVector(number) => format!("vector{number}={:x}", read.packed()),
                Subject::Result => format!("result={:x}", read.packed()),
                Subject::Errno => format!("errno={:x}", read.packed()),
            };
            reads.iter().map(read).collect::<Vec<_>>().join(" ")
        };
        format!("{} | {} | {}", self.prototype, reads(&self.call), reads(&self.back))
    }

    /// From what a session has kept.
    pub fn from_stored(stored: &str) -> Result<Self, NotationError> {
        let mut parts = stored.split(" | ");
        let prototype = notation::parse(parts.next().unwrap_or_default())?;
        let mut reads = || -> Vec<(Subject, Read)> {
            let read = |written: &str| {
                let (about, read) = written.split_once('=')?;
                let subject = match about {
                    "result" => Subject::Result,
                    "errno" => Subject::Errno,
                    _ if about.starts_with("variadic") => Subject::Variadic(about["variadic".len()..].parse().ok()?),
                    _ if about.starts_with("vector") => Subject::VariadicVector(about["vector".len()..].parse().ok()?),
                    number => match number.split_once('.') {
                        Some((number, field)) => Subject::Field(number.parse().ok()?, field.parse().ok()?),
                        None => Subject::Parameter(number.parse().ok()?),
                    },
                };
                Some((subject, Read::from_packed(u64::from_str_radix(read, 16).ok()?)?))
            };
            // The words of all that follow one that is not understood are not where they seem.
            parts.next().unwrap_or_default().split(' ').take(READS).map_while(read).collect()
        };
        let (call, back) = (reads(), reads());
        let places = places(&prototype.parameters, &prototype.result);
        Ok(Self { places, call, back, prototype })
    }

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
                    Some(pointed_at(&ty, *word, read, &|_| None))
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
            match *place {
                Place::Register(register) => match captured.registers.get(register) {
                    Some(&word) => {
                        let behind = |field: usize| self.behind(&self.call, (number, field), ty, captured.words);
                        pointed_at(ty, word, read, &behind)
                    }
                    None => Value::Unknown(NOT_RECORDED),
                },
                Place::Vector(register) => in_vector(ty, captured.vectors.get(register), read),
                Place::Pair(first) if matches!(ty, Type::Integer { .. }) => {
                    let is_signed = matches!(ty, Type::Integer { is_signed: true, .. });
                    match captured.registers.get(first..first + 2) {
                        Some(&[low, high]) => wide(is_signed, low, high),
                        _ => Value::Unknown(NOT_RECORDED),
                    }
                }
                Place::Pair(first) => {
                    let start = first + usize::from(matches!(ty, Type::Slice { is_length_first: true }));
                    let start = captured.registers.get(start).copied();
                    let value = read.and_then(|words| read_value(ty, words, &|_| None));
                    value.or(start.map(Value::Pointer)).unwrap_or(Value::Unknown(NOT_RECORDED))
                }
                Place::Registers(register, vector) => {
                    let registers = captured.registers.get(register..).unwrap_or_default();
                    let vectors = captured.vectors.get(vector..).unwrap_or_default();
                    in_registers(ty, registers, vectors, read.unwrap_or_default())
                }
                Place::Elsewhere => Value::Unknown(NOT_RECORDED),
                Place::Stack(_) => match read {
                    Some(words) if matches!(ty, Type::Aggregate { .. }) => in_memory(ty, words),
                    Some(&[low, high]) if *ty == Type::Float(16) => Value::Float(extended(low, high)),
                    Some(&[word, ..]) if *ty != Type::Float(16) => Value::of_word(ty, word),
                    _ => Value::Unknown(NOT_RECORDED),
                },
            }
        };
        self.places.iter().enumerate().map(argument).collect()
    }

    /// What a call gave back.
    pub fn outcome(&self, captured: &Captured<'_>) -> Outcome {
        let ty = &self.prototype.result;
        let word = captured.registers.first().copied();
        let value = match (ty, word) {
            (Type::Void, _) => None,
            (Type::Aggregate { words, .. }, _) => {
                let read = words_of(&self.back, Subject::Result, captured.words).unwrap_or_default();
                Some(match words.is_empty() {
                    true => in_memory(ty, read),
                    false => in_registers(ty, captured.registers, captured.vectors, read),
                })
            }
            (Type::Slice { .. } | Type::Unknown, _) => Some(Value::Unknown(NOT_RECORDED)),
            (Type::Float(4 | 8), _) => {
                let read = words_of(&self.back, Subject::Result, captured.words);
                Some(in_vector(ty, captured.vectors.first(), read))
            }
            // x87's are in a register that is not kept.
            (Type::Float(_), _) => Some(Value::Unknown(NOT_RECORDED)),
            (Type::Integer { is_signed, bytes: 16, .. }, _) => match captured.registers {
                &[low, high, ..] => Some(wide(*is_signed, low, high)),
                _ => Some(Value::Unknown(NOT_RECORDED)),
            },
            (_, Some(word)) => {
                Some(pointed_at(ty, word, words_of(&self.back, Subject::Result, captured.words), &|_| None))
            }
            (_, None) => Some(Value::Unknown(NOT_RECORDED)),
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
            let behind = |field: usize| self.behind(&self.back, (number, field), &parameter.ty, captured.words);
            let value = read_value(&parameter.ty, words, &behind)?;
            let is_reference = matches!(parameter.ty, Type::Reference { .. });
            Some((number, if is_reference { Value::Reference(None, Box::new(value)) } else { value }))
        });
        Outcome { value, error: error.map(name), written: written.collect() }
    }

    /// What a field points at, of the structure that a parameter points at, where that was read.
    fn behind(
        &self,
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
}

/// The name of an error's number.
fn error_name(error: i64) -> String {
    crate::name_set::NameSet::find("error").map_or_else(|| error.to_string(), |names| names.words(error))
}

/// The parameter that is a format of printf, if the function has one.
fn format_parameter(prototype: &Prototype) -> Option<usize> {
    const FUNCTIONS: [&str; 11] = [
        "printf",
        "fprintf",
        "dprintf",
        "sprintf",
        "snprintf",
        "syslog",
        "__printf_chk",
        "__fprintf_chk",
        "__sprintf_chk",
        "__snprintf_chk",
        "__syslog_chk",
    ];
    let is_format = |parameter: &Parameter| parameter.name == "format" && parameter.ty == Type::Text;
    let is_known = prototype.is_variadic && FUNCTIONS.contains(&prototype.name.as_str());
    prototype.parameters.iter().position(is_format).filter(|_| is_known)
}

/// How many integer registers have arguments.
fn integer_registers(places: &[Place]) -> usize {
    let register = |place: &Place| if let Place::Register(number) = place { number + 1 } else { 0 };
    places.iter().map(register).max().unwrap_or(0)
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

/// A number in a vector register: as that was recorded, or as it was captured.
fn in_vector(ty: &Type, recorded: Option<&u128>, read: Option<&[u64]>) -> Value {
    match (recorded, read) {
        (Some(&vector), _) => Value::of_word(ty, vector as u64),
        (None, Some(&[word])) if word != UNREADABLE_WORD => Value::of_word(ty, word),
        _ => Value::Unknown(NOT_RECORDED),
    }
}

/// A number of 128 bits.
fn wide(is_signed: bool, low: u64, high: u64) -> Value {
    let number = u128::from(high) << 64 | u128::from(low);
    match i128::try_from(number) {
        Ok(number) => Value::Number(number, number.to_string()),
        Err(_) if is_signed => Value::Number(number as i128, (number as i128).to_string()),
        // Too large for what numbers are kept in; its digits are right.
        Err(_) => Value::Number(i128::MAX, number.to_string()),
    }
}

/// The words that were read about something; none where nothing was.
fn words_of<'w>(reads: &[(Subject, Read)], about: Subject, words: &'w [u64]) -> Option<&'w [u64]> {
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

/// A structure in registers, whose vector registers were recorded, or captured in `read`.
fn in_registers(ty: &Type, registers: &[u64], vectors: &[u128], read: &[u64]) -> Value {
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
fn in_memory(ty: &Type, words: &[u64]) -> Value {
    match ty {
        Type::Aggregate { fields, .. } if !fields.is_empty() && words.iter().any(|word| *word != UNREADABLE_WORD) => {
            structure::structure(fields, words, &|_| None)
        }
        _ => Value::Unknown(NOT_RECORDED),
    }
}

/// The value of a word, with what it points at where that was read.
fn pointed_at(ty: &Type, word: u64, read: Option<&[u64]>, behind: &dyn Fn(usize) -> Option<Value>) -> Value {
    match read.filter(|_| ty.is_captured() && word != 0) {
        None => Value::of_word(ty, word),
        Some(words) => match read_value(ty, words, behind) {
            Some(value @ (Value::Text(..) | Value::Bytes(..) | Value::Structure(_, Some(_)))) => value,
            Some(value) => Value::Reference(Some(word), Box::new(value)),
            None => Value::Pointer(word),
        },
    }
}

/// What a pointer's read words are. None where there is nothing to be said.
fn read_value(ty: &Type, words: &[u64], behind: &dyn Fn(usize) -> Option<Value>) -> Option<Value> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(line: &str) -> Signature {
        Signature::of(notation::parse(line).unwrap())
    }

    fn shown(values: &[Value]) -> Vec<String> {
        values.iter().map(|value| value.shown(&|_| None)).collect()
    }

    fn packed(text: &[u8], words: usize) -> Vec<u64> {
        let mut bytes = text.to_vec();
        bytes.resize(8 * (words - 1), 0);
        let words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        std::iter::once(text.len() as u64).chain(words).collect()
    }

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
    fn what_has_no_place_of_its_own_is_told_to_be_unknown() {
        let odd = signature("odd(a: struct{16;II}, b: i32, c: gone, d: unknown, e: i32) -> struct{24;}");
        let captured = Captured { registers: &[1, 2, 3, 4, 5, 6], vectors: &[], words: &[] };
        assert_eq!(shown(&odd.arguments(&captured)), ["?", "4", "<optimized away>", "?", "?"]);
        assert_eq!(odd.outcome(&captured).value, Some(Value::Unknown(NOT_RECORDED)));
    }

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

    #[test]
    fn what_a_session_keeps_comes_back() {
        for line in ["bind(fd: fd, to: address(length), length: u32) -> i32?", "strdup(text: text) -> text?"] {
            let signature = signature(line);
            assert_eq!(Signature::from_stored(&signature.stored()), Ok(signature));
        }
        let hostile = Signature::from_stored("f(x: text) | 0=ffffffffffffffff").unwrap();
        let captured = Captured { registers: &[0x10], vectors: &[], words: &[u64::MAX; 3] };
        assert_eq!(shown(&hostile.arguments(&captured)), ["0x10"]);
    }
}
