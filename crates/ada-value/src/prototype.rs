//! Prototypes.

use crate::Type;

/// What a function takes and gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prototype {
    /// Its name.
    pub name: String,
    /// Where it takes its arguments, and gives its result.
    pub convention: Convention,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Whether more follow, which the others tell of.
    pub is_variadic: bool,
    /// What it gives back.
    pub result: Type,
    /// How it says that it has failed.
    pub failure: Failure,
}

/// Which registers have arguments and results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Convention {
    /// Those of C, and of most others.
    #[default]
    SystemV,
    /// Go's, since 1.17. Each field of a structure has a register of its own, and the parts of a [`Type::Aggregate`] that is passed
    /// are as far apart as these: eight bytes.
    Go,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, or nothing.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// When it is there at all, where that is not always.
    pub condition: Option<Condition>,
}

impl Prototype {
    /// The same without what pointers of redacted parameters point at. None where that cannot be kept back: registers are always
    /// recorded, and nothing else is known of the function then.
    pub fn redacted(mut self, is_redacted: &dyn Fn(&str) -> bool) -> Option<Self> {
        for parameter in self.parameters.iter_mut().filter(|it| is_redacted(&it.name)) {
            if !parameter.ty.is_passed_as_pointer() {
                return None;
            }
            parameter.ty = Type::Redacted;
        }
        Some(self)
    }
}

impl Prototype {
    /// The same without anything that has to be read from memory but for addresses of sockets: pointers are numbers, and a failure has no
    /// reason.
    pub fn registers_only(mut self) -> Self {
        for parameter in self.parameters.iter_mut().filter(|it| it.ty.is_passed_as_pointer() && !it.ty.is_address()) {
            parameter.ty = Type::Pointer;
        }
        self.failure = Failure::None;
        self
    }
}

/// When an argument is there: the function only looks at it then, and what is in its place otherwise means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The parameter that says so.
    pub parameter: usize,
    /// Which of its values do.
    pub values: Values,
}

/// Values of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// Those with one of these bits.
    WithBits(u64),
    /// These.
    Among(Vec<u64>),
}

impl Condition {
    /// Whether it holds for the parameter's value, of 32 bits.
    pub(crate) fn holds(&self, value: u64) -> bool {
        let value = value & 0xffff_ffff;
        match &self.values {
            Values::WithBits(bits) => value & bits != 0,
            Values::Among(values) => values.contains(&value),
        }
    }
}

/// How a function says that it has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Failure {
    /// It does not, or in another way.
    #[default]
    None,
    /// By -1, or by a null pointer where it gives a pointer; `errno` says why.
    Errno,
    /// It gives an error's number, or 0.
    Number,
}
