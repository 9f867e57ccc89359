//! Signatures as sessions keep them.

use ada_ring::probe::{Extent, READS, Read};

use super::{Holder, Signature, Subject};
use crate::followed::followed;
use crate::place::places;
use crate::{NotationError, Prototype, Type, notation};

impl Signature {
    /// As a session keeps it: the prototype, and the reads at a call and at a return, each with what it is about.
    pub fn stored(&self) -> String {
        let reads = |reads: &[(Subject, Read)]| {
            let read = |(subject, read): &(Subject, Read)| match subject {
                Subject::Registers => format!("registers={:x}", read.packed()),
                Subject::Parameter(number) => format!("{number}={:x}", read.packed()),
                Subject::Behind(Holder::Parameter(number), pointer) => {
                    format!("{number}/{pointer}={:x}", read.packed())
                }
                Subject::Behind(Holder::Result, pointer) => format!("result/{pointer}={:x}", read.packed()),
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
                    "registers" => Subject::Registers,
                    "result" => Subject::Result,
                    "errno" => Subject::Errno,
                    _ if about.starts_with("variadic") => Subject::Variadic(about["variadic".len()..].parse().ok()?),
                    _ if about.starts_with("vector") => Subject::VariadicVector(about["vector".len()..].parse().ok()?),
                    about => match (about.split_once('/'), about.split_once('.')) {
                        (Some(("result", pointer)), _) => Subject::Behind(Holder::Result, pointer.parse().ok()?),
                        (Some((number, pointer)), _) => {
                            Subject::Behind(Holder::Parameter(number.parse().ok()?), pointer.parse().ok()?)
                        }
                        (None, Some((number, field))) => {
                            behind_field(&prototype, number.parse().ok()?, field.parse().ok()?)?
                        }
                        (None, None) => Subject::Parameter(about.parse().ok()?),
                    },
                };
                let read = Read::from_packed(u64::from_str_radix(read, 16).ok()?)?;
                Some((of_text(&prototype, subject, read), read))
            };
            // The words of all that follow one that is not understood are not where they seem.
            parts.next().unwrap_or_default().split(' ').take(READS).map_while(read).collect()
        };
        let (call, back) = (reads(), reads());
        let places = places(&prototype);
        Ok(Self { places, call, back, prototype })
    }
}

/// What a field of this number points at, as older sessions kept it.
fn behind_field(prototype: &Prototype, number: usize, field: usize) -> Option<Subject> {
    let structure = prototype.parameters.get(number)?.ty.structure()?;
    let Type::Aggregate { content, .. } = structure else { return None };
    let offset = content.fields().nth(field)?.offset;
    let pointer = followed(structure).iter().position(|pointer| pointer.offset == offset)?;
    Some(Subject::Behind(Holder::Parameter(number), pointer))
}

/// Older sessions kept the text of a string or a slice as what the parameter points at.
fn of_text(prototype: &Prototype, subject: Subject, read: Read) -> Subject {
    let Subject::Parameter(number) = subject else { return subject };
    let structure = prototype.parameters.get(number).and_then(|parameter| parameter.ty.structure());
    match (structure, read.extent()) {
        (Some(_), Extent::Text | Extent::Bytes(_)) => Subject::Behind(Holder::Parameter(number), 0),
        _ => subject,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_ring::probe::{Base, PROBE_WORDS};
    use proptest::prelude::*;

    use crate::signature::Captured;
    use crate::signature::testing::{shown, signature};

    /// Structures with all that can be in them.
    const STRUCTURES: [&str; 6] = [
        "f(a: copy text{24;;8;16}, b: slice, c: struct{8;+II4;a:u32@0;b:u32@4}, d: list{16;+II;0;8;2;u16}) -> slice",
        "f(a: *list{24;;0;>8;8;struct{8;;x:i32@0;y:text@4}}, b: string) -> text{32;;0;8}",
        "f(a: copy variants{32;;Shape;0:8;Circle=0{r:u32@8};Named{__0:text{24;;8;16}@0;__1:u8@24};Both=2{a:list{24;;8;16;4;i32}@0;b:text@24}})",
        "f(a: within{8;+I;*within{24;;u32@16}@0}, b: variants{16;IV;;0:1;nullopt=0{};=1{value:f64@8}}) -> variants{16;+II;;0:8;None=0{};Some{__0:text{16;;0;8}@0}}",
        "f(a: copy struct{64;;name:text{32;;0;8}@0;sizes:list{24;;0;>8;2;i16}@32;limit:variants{8;;;4:1;nullopt=0{};=1{value:i32@0}}@56})",
        "go f(a: struct{32;IIIV;s:list{24;;0;8;2;u16}@0;x:f32@24}, b: slice, e: interface) -> struct{72;IIIIIIIII;s:slice@0;last:pointer@64}",
    ];

    proptest! {
        #[test]
        fn any_words_are_shown(line in 0..STRUCTURES.len(), words in prop::collection::vec(prop_oneof![any::<u64>(), 0..64_u64, Just(1 << 60), Just(u64::MAX), Just(1 << 32 | 8)], 0..48)) {
            let signature = signature(STRUCTURES[line]);
            prop_assert_eq!(Signature::from_stored(&signature.stored()), Ok(signature.clone()));
            prop_assert!(signature.reads(false).count() <= READS && signature.reads(true).count() <= READS);
            let taken = |is_return| signature.reads(is_return).map(|read| read.count()).sum::<usize>();
            prop_assert!(taken(false) <= PROBE_WORDS && taken(true) <= PROBE_WORDS);
            let captured = Captured { registers: &words[..words.len().min(6)], vectors: &[], words: &words };
            let values = signature.arguments(&captured);
            prop_assert_eq!(values.len(), signature.prototype().parameters.len());
            for value in values.iter().chain(signature.outcome(&captured).value.as_ref()) {
                prop_assert!(value.shown(&|_| None).len() < 4096);
            }
        }
    }

    #[test]
    fn what_older_sessions_kept_is_read() {
        let text = |words: &[u64], stored: &str| {
            let signature = Signature::from_stored(stored).unwrap();
            shown(&signature.arguments(&Captured { registers: &[0x1000, 2], vectors: &[], words }))
        };
        let slice = Read::bytes(Base::Argument1, Base::Argument2, 2).packed();
        assert_eq!(text(&[2, 0x6b6f], &format!("f(x: slice) | 0={slice:x} | ")), ["\"ok\""]);
        let string = Read::text_behind(Base::Argument1, 2).packed();
        assert_eq!(text(&[2, 0x6b6f], &format!("f(x: string) | 0={string:x} | ")), ["\"ok\""]);
        let fields =
            [Read::words(Base::Argument1, 0, 2), Read::text_behind_at(Base::Argument1, 8, 2)].map(Read::packed);
        let line = format!("f(x: *struct{{16;;n:i32@0;name:text@8}}) | 0={:x} 0.1={:x} | ", fields[0], fields[1]);
        assert_eq!(text(&[7, 0x2000, 2, 0x6b6f], &line), ["&{n: 7, name: \"ok\"}"]);
    }

    #[test]
    fn what_a_session_keeps_comes_back() {
        for line in [
            "bind(fd: fd, to: address(length), length: u32) -> i32?",
            "strdup(text: text) -> text?",
            "go f(s: slice) -> struct{24;III;s:slice@0;n:i64@16}",
        ] {
            let signature = signature(line);
            assert_eq!(Signature::from_stored(&signature.stored()), Ok(signature));
        }
        let hostile = Signature::from_stored("f(x: text) | 0=ffffffffffffffff").unwrap();
        let captured = Captured { registers: &[0x10], vectors: &[], words: &[u64::MAX; 3] };
        assert_eq!(shown(&hostile.arguments(&captured)), ["0x10"]);
    }
}
