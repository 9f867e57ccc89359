//! Signatures as sessions keep them.

use ada_ring::probe::{READS, Read};

use super::{Signature, Subject};
use crate::place::places;
use crate::{NotationError, notation};

impl Signature {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::Captured;
    use crate::signature::testing::{shown, signature};

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
