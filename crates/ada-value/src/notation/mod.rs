//! Prototypes in writing: `open(path: text, flags: open_flags, mode: octal32) -> fd?`.
//!
//! | type | |
//! | --- | --- |
//! | `void` `bool` `char` | |
//! | `i8` … `i128`, `u8` … `u128` | integers |
//! | `hex8` … `hex64`, `octal32`, `fd` | integers that are written otherwise |
//! | `f32` `f64` `f80` | |
//! | `pointer` `code` | to whatever it is; to a function |
//! | `text` | a pointer to characters up to a zero |
//! | `bytes(count)` `address(count)` | a pointer to so many bytes, or to a socket's address, as the parameter *count*, or the `result`, says |
//! | `*i32` `out i32` | a pointer to a value; to one that the function writes |
//! | `open_flags` `signal` … | numbers with names |
//! | `enum{4;RED=0;BLUE=1}` | an enumeration of so many bytes; `-4` where its numbers have a sign |
//! | `slice` `view` `string` | the `&str` of Rust and the `string` of Go; C++'s `std::string_view`, and a reference to a `std::string` |
//! | `interface` | an interface of Go's |
//! | `struct{16;IV;x:f64@0;n:i32@8}` | a structure of so many bytes, in these kinds of registers; without any, in memory; and its fields, with their offsets |
//! | `struct{8;+II4}` | in registers each of which is an argument of its own, the second of which has what begins at this offset |
//! | `text{24;;8;16}` | a structure that has a pointer to a text, and its length, at these offsets |
//! | `list{24;;8;16;4;i32}` `list{24;;0;>8;4;i32}` | a pointer to elements of so many bytes each, and how many there are; or a pointer behind the last |
//! | `variants{8;;Shape;0:4;Circle=0{r:u32@4};None{}}` | one of several variants, by a number of so many bytes at this offset, if there is one; the last variant stands for all other numbers |
//! | `within{8;I;*i32@0}` | a structure in which people see nothing but this |
//! | `copy struct{24;}` | a pointer to a copy of what is passed |
//! | `source(length)` | a pointer to where the address of who sent something is left; the parameter *length* points at its length |
//! | `message` `received_message` | a pointer to a message, of which the address is read |
//! | `poll_list` `fd_set` | a pointer to descriptors that are asked after, and to what of them is ready when the function returns |
//! | `chars16` | so many characters in a row |
//! | `redacted` | a pointer that was not followed, as the user wished |
//! | `gone` `gone f64` `unknown` | optimised away, of a kind that is passed as a pointer is, or as this type; of an unknown kind |
//!
//! `mode: octal32 when flags&64` and `x: i32 when command=1|4` are there only when the other parameter has one of these bits, or is
//! one of these numbers. `go ` before the name says that the function is called as Go's are. `...` at the end stands for more arguments. Behind the result, `?` says that -1 or a null pointer is a failure, and `errno` its
//! reason; `!` that the result is an error's number.

mod structures;

use std::fmt;

use crate::name_set::NameSet;
use crate::notation::structures::{parse_structure, structure};
use crate::{Condition, Convention, Failure, Length, Parameter, Prototype, Style, Type, Values};

/// Why a prototype cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a prototype: {0}")]
pub struct NotationError(String);

/// The most parameters that a prototype has.
const MOST_PARAMETERS: usize = 64;
/// How many pointers one behind the other, and structures within one another, a type has at most.
const MOST_POINTERS: usize = 32;
/// How functions of Go are marked.
const GO: &str = "go ";

/// Reads a prototype.
pub fn parse(line: &str) -> Result<Prototype, NotationError> {
    let error = |what: &str| NotationError(format!("{what} in {:?}", line.chars().take(80).collect::<String>()));
    let (convention, written) = match line.strip_prefix(GO) {
        Some(written) => (Convention::Go, written),
        None => (Convention::SystemV, line),
    };
    let (name, rest) = written.split_once('(').ok_or_else(|| error("no parameters"))?;
    let (inside, result) =
        rest.rsplit_once(") -> ").or_else(|| Some((rest.strip_suffix(')')?, "void"))).ok_or_else(|| error("no end"))?;
    let (result, failure) = match (result.strip_suffix('?'), result.strip_suffix('!')) {
        (Some(result), _) => (result, Failure::Errno),
        (_, Some(result)) => (result, Failure::Number),
        _ => (result, Failure::None),
    };
    let mut written: Vec<(&str, &str)> = Vec::new();
    let mut is_variadic = false;
    for parameter in inside.split(", ").filter(|parameter| !parameter.is_empty()) {
        match parameter.split_once(": ") {
            Some(parameter) if !is_variadic => written.push(parameter),
            None if parameter == "..." => is_variadic = true,
            _ => return Err(error("a wrong parameter")),
        }
    }
    if written.len() > MOST_PARAMETERS || !is_name(name) || !written.iter().all(|(name, _)| is_name(name)) {
        return Err(error("too much or too little"));
    }
    let length = |name: &str| match name {
        "result" => Some(Length::Result),
        name => written.iter().position(|(known, _)| *known == name).map(Length::Parameter),
    };
    let parameter = |(name, ty): &(&str, &str)| {
        let (ty, condition) = ty.split_once(" when ").map_or((*ty, None), |(ty, condition)| (ty, Some(condition)));
        let parse = |condition| parse_condition(condition, &length).ok_or_else(|| error("an unknown condition"));
        let ty = parse_type(ty, &length, MOST_POINTERS).ok_or_else(|| error("an unknown type"))?;
        Ok(Parameter { name: (*name).to_owned(), ty, condition: condition.map(parse).transpose()? })
    };
    Ok(Prototype {
        name: name.to_owned(),
        convention,
        parameters: written.iter().map(parameter).collect::<Result<_, _>>()?,
        is_variadic,
        result: parse_type(result, &length, MOST_POINTERS).ok_or_else(|| error("an unknown result"))?,
        failure,
    })
}

/// Whether nothing in a name can be taken for something else.
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '.' | '$' | ':'))
}

fn parse_condition(written: &str, length: &dyn Fn(&str) -> Option<Length>) -> Option<Condition> {
    let parameter = |name| match length(name)? {
        Length::Parameter(number) => Some(number),
        Length::Result => None,
    };
    let (name, values) = match written.split_once('&') {
        Some((name, bits)) => (name, Values::WithBits(bits.parse().ok()?)),
        None => {
            let (name, values) = written.split_once('=')?;
            (name, Values::Among(values.split('|').map(|value| value.parse().ok()).collect::<Option<_>>()?))
        }
    };
    Some(Condition { parameter: parameter(name)?, values })
}

fn parse_type(written: &str, length: &dyn Fn(&str) -> Option<Length>, pointers: usize) -> Option<Type> {
    let to = |rest: &str| Some(Box::new(parse_type(rest, length, pointers.checked_sub(1)?)?));
    if let Some(rest) = written.strip_prefix('*') {
        return Some(Type::Reference { to: to(rest)?, is_out: false });
    }
    if let Some(rest) = written.strip_prefix("out ") {
        return Some(Type::Reference { to: to(rest)?, is_out: true });
    }
    if let Some(inside) = written.strip_prefix("enum{").and_then(|rest| rest.strip_suffix('}')) {
        return parse_enum(inside);
    }
    if let Some(rest) = written.strip_prefix("copy ") {
        return Some(Type::Copy(to(rest)?));
    }
    if let Some((name, argument)) = written.strip_suffix(')').and_then(|written| written.split_once('(')) {
        return match name {
            "bytes" => Some(Type::Bytes(length(argument)?)),
            "address" => Some(Type::Address(length(argument)?)),
            "source" => Some(Type::Source(length(argument)?)),
            _ => None,
        };
    }
    if written == "gone" {
        return Some(Type::OptimizedAway(Box::new(Type::Pointer)));
    }
    if let Some(rest) = written.strip_prefix("gone ") {
        return Some(Type::OptimizedAway(to(rest)?));
    }
    if written.ends_with('}') {
        let inside = pointers.checked_sub(1)?;
        return parse_structure(written, &|ty| parse_type(ty, length, inside));
    }
    if let Some(count) = written.strip_prefix("chars") {
        return Some(Type::Characters(count.parse().ok()?));
    }
    let plain = PLAIN.iter().find(|(name, _)| *name == written).map(|(_, ty)| ty.clone());
    let structure = || WITH_NAMES.iter().find(|(name, _)| *name == written).map(|(_, ty)| ty());
    plain.or_else(structure).or_else(|| NameSet::find(written).map(Type::Named))
}

/// Parts with semicolons between them, as far as these are in no brackets.
fn parts_of(written: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, letter) in written.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => {
                parts.push(&written[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&written[start..]);
    parts
}

fn parse_enum(written: &str) -> Option<Type> {
    let mut parts = written.split(';');
    let bytes: i8 = parts.next()?.parse().ok().filter(|bytes: &i8| matches!(bytes.unsigned_abs(), 1 | 2 | 4 | 8))?;
    let name = |part: &str| {
        let (name, number) = part.rsplit_once('=').filter(|(name, _)| is_name(name))?;
        Some((number.parse().ok()?, name.to_owned()))
    };
    let names = parts.map(name).collect::<Option<_>>()?;
    Some(Type::Enum { is_signed: bytes < 0, bytes: bytes.unsigned_abs(), names })
}

const fn integer(is_signed: bool, bytes: u8, style: Style) -> Type {
    Type::Integer { is_signed, bytes, style }
}

static PLAIN: &[(&str, Type)] = &[
    ("void", Type::Void),
    ("bool", Type::Bool),
    ("char", Type::Char),
    ("i8", integer(true, 1, Style::Decimal)),
    ("i16", integer(true, 2, Style::Decimal)),
    ("i32", integer(true, 4, Style::Decimal)),
    ("i64", integer(true, 8, Style::Decimal)),
    ("u8", integer(false, 1, Style::Decimal)),
    ("u16", integer(false, 2, Style::Decimal)),
    ("u32", integer(false, 4, Style::Decimal)),
    ("u64", integer(false, 8, Style::Decimal)),
    ("i128", integer(true, 16, Style::Decimal)),
    ("u128", integer(false, 16, Style::Decimal)),
    ("hex8", integer(false, 1, Style::Hex)),
    ("hex16", integer(false, 2, Style::Hex)),
    ("hex32", integer(false, 4, Style::Hex)),
    ("hex64", integer(false, 8, Style::Hex)),
    ("octal32", integer(false, 4, Style::Octal)),
    ("fd", integer(true, 4, Style::Descriptor)),
    ("f32", Type::Float(4)),
    ("f64", Type::Float(8)),
    ("f80", Type::Float(16)),
    ("pointer", Type::Pointer),
    ("code", Type::Code),
    ("text", Type::Text),
    ("message", Type::Message { is_out: false }),
    ("received_message", Type::Message { is_out: true }),
    ("poll_list", Type::PollList),
    ("fd_set", Type::DescriptorSet),
    ("redacted", Type::Redacted),
    ("unknown", Type::Unknown),
];

/// A structure that has a name of its own.
type NamedStructure = (&'static str, fn() -> Type);

static WITH_NAMES: [NamedStructure; 4] = [
    ("slice", || Type::slice(false)),
    ("view", || Type::slice(true)),
    ("string", Type::string),
    ("interface", Type::interface),
];

fn own_name(ty: &Type) -> Option<&'static str> {
    WITH_NAMES.iter().find(|(_, known)| known() == *ty).map(|(name, _)| *name)
}

impl fmt::Display for Prototype {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parameters: Vec<String> = self
            .parameters
            .iter()
            .map(|it| format!("{}: {}{}", it.name, self.written(&it.ty), self.when(it)))
            .collect();
        if self.is_variadic {
            parameters.push("...".to_owned());
        }
        let failure = match self.failure {
            Failure::None => "",
            Failure::Errno => "?",
            Failure::Number => "!",
        };
        let mark = if self.convention == Convention::Go { GO } else { "" };
        write!(out, "{mark}{}({}) -> {}{failure}", self.name, parameters.join(", "), self.written(&self.result))
    }
}

impl Prototype {
    fn when(&self, parameter: &Parameter) -> String {
        let Some(condition) = &parameter.condition else { return String::new() };
        let name = self.parameters.get(condition.parameter).map_or("?", |it| it.name.as_str());
        match &condition.values {
            Values::WithBits(bits) => format!(" when {name}&{bits}"),
            Values::Among(values) => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                format!(" when {name}={}", values.join("|"))
            }
        }
    }

    /// A type as it is written in this prototype.
    pub fn written(&self, ty: &Type) -> String {
        let length = |length: &Length| match length {
            Length::Result => "result",
            Length::Parameter(number) => self.parameters.get(*number).map_or("?", |parameter| parameter.name.as_str()),
        };
        let is_structure = matches!(ty, Type::Aggregate { .. } | Type::Reference { .. });
        if let Some(name) = is_structure.then(|| own_name(ty)).flatten() {
            return name.to_owned();
        }
        match ty {
            Type::Bytes(of) => format!("bytes({})", length(of)),
            Type::Address(of) => format!("address({})", length(of)),
            Type::Source(of) => format!("source({})", length(of)),
            Type::Reference { to, is_out: false } => format!("*{}", self.written(to)),
            Type::Reference { to, is_out: true } => format!("out {}", self.written(to)),
            Type::Named(set) => set.name.to_owned(),
            Type::Enum { is_signed, bytes, names } => {
                let names: String = names.iter().map(|(number, name)| format!(";{name}={number}")).collect();
                format!("enum{{{}{bytes}{names}}}", if *is_signed { "-" } else { "" })
            }
            Type::Copy(to) => format!("copy {}", self.written(to)),
            Type::Aggregate { bytes, passing, content } => structure(*bytes, passing, content, &|ty| self.written(ty)),
            Type::OptimizedAway(ty) if **ty == Type::Pointer => "gone".to_owned(),
            Type::OptimizedAway(ty) => format!("gone {}", self.written(ty)),
            Type::Characters(count) => format!("chars{count}"),
            plain => PLAIN.iter().find(|(_, known)| known == plain).map_or("?", |(name, _)| name).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_read_is_written_the_same() {
        for line in [
            "open(path: text, flags: open_flags, mode: octal32 when flags&4194368) -> fd?",
            "fcntl(fd: fd, command: fcntl_command, argument: i64 when command=0|2|4) -> i32?",
            "read(fd: fd, buffer: bytes(result), count: u64) -> i64?",
            "bind(fd: fd, address: address(length), length: u32) -> i32?",
            "pthread_create(thread: out hex64, attributes: pointer, start: code, argument: pointer) -> i32!",
            "printf(format: text, ...) -> i32",
            "frexp(x: f64, exponent: out i32) -> f64",
            "abort() -> void",
            "paint(what: slice, colour: enum{-4;RED=-1;BLUE=7}, where: struct{16;IV}, by: string) -> struct{24;}",
            "walk(list: *struct{24;;name:text@0;next:*struct{8;;n:enum{4;A=1}@0}@8;tag:chars4@16}) -> struct{8;V;x:f32@0}",
            "wait(list: poll_list, set: fd_set) -> i32?",
            "get(from: source(length), length: pointer, of: message, to: received_message) -> i64?",
            "hold(a: struct{8;+II4;a:u32@0;b:u32@4}, b: struct{0;+}, c: struct{8;+V}, d: copy text{24;;8;16}) -> list{24;;8;16;4;i32}",
            "keep(a: *list{24;;0;>8;8;struct{8;;x:i32@0}}, b: within{8;+I;*within{24;;u32@16}@0}) -> text{16;II;0;8}",
            "draw(a: variants{8;+II4;Shape;0:4;Circle=0{radius:u32@4};Empty=1{}}, b: variants{8;+I;;0:8;None=0{};Some{__0:*i32@0}}) \
             -> copy variants{24;;;-;Only{x:i32@0;y:text{16;;0;8}@8}}",
            "go f(s: slice, e: interface, p: struct{72;IIIVIIIII;x:f64@24;s:slice@56}) -> struct{24;III;n:i64@0;err:interface@8}",
            "odd(x: gone, v: gone f64, y: unknown, z: view, secret: redacted) -> enum{1}",
        ] {
            assert_eq!(parse(line).unwrap().to_string(), line);
        }
    }

    #[test]
    fn what_is_wrong_is_an_error() {
        for line in [
            "",
            "f",
            "f(",
            "f(x)",
            "f(x: what)",
            "f(x: bytes(y))",
            "(x: i32)",
            "f(x: *********************************i32)",
            "f(x: struct{8;III})",
            "f(x: list{8;;0})",
            "f(x: text{8;;0;8;9})",
            "f(x: variants{8;;;0:3})",
            "f(..., x: i32)",
        ] {
            parse(line).unwrap_err();
        }
    }

    proptest! {
        #[test]
        fn any_structure_is_read_or_an_error(inside in "(struct|text|list|variants|within)[{](8;[+]?I?V?4?;|;|0|8|16|>8|:|=1|[{]|[}]|@|x|i32|-){0,14}[}]") {
            if let Ok(prototype) = parse(&format!("f(x: {inside})")) {
                prop_assert_eq!(parse(&prototype.to_string()), Ok(prototype));
            }
        }

        #[test]
        fn anything_is_read_or_an_error(line in "[a-z(),:*? >!.-]{0,60}") {
            if let Ok(prototype) = parse(&line) {
                prop_assert_eq!(parse(&prototype.to_string()), Ok(prototype));
            }
        }
    }
}
