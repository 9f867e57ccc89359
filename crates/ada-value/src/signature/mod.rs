//! What is captured of a call, and what it says.

mod arguments;
mod capture_plan;
mod format_parameter;
mod outcome;
mod read_words;
mod stored;
#[cfg(test)]
mod testing;

use ada_ring::probe::Read;

use crate::place::Place;
use crate::{Prototype, Value};

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
    /// What a pointer leads to that lies in a structure: the pointer of this number, as [`followed`](crate::followed::followed)
    /// counts them.
    Behind(Holder, usize),
    /// What the argument in this integer register points at, which a format may ask for.
    Variadic(usize),
    /// The argument in this vector register, likewise.
    VariadicVector(usize),
    /// What the result points at.
    Result,
    /// The integer registers themselves, in their order.
    Registers,
    /// Why the function has failed.
    Errno,
}

/// What holds a structure, or is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    /// The parameter of this number, or where it points.
    Parameter(usize),
    /// The result, likewise.
    Result,
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

impl Signature {
    /// The prototype.
    pub fn prototype(&self) -> &Prototype {
        &self.prototype
    }

    /// The reads at one end of a call.
    pub fn reads(&self, is_return: bool) -> impl Iterator<Item = Read> + '_ {
        if is_return { &self.back } else { &self.call }.iter().map(|(_, read)| *read)
    }
}
