//! Formats of printf, and where what they ask for begins.

use crate::place::Place;
use crate::{Parameter, Prototype, Type};

/// The parameter that is a format of printf, if the function has one.
pub(super) fn format_parameter(prototype: &Prototype) -> Option<usize> {
    const FUNCTIONS: [&str; 14] = [
        "printf",
        "fprintf",
        "dprintf",
        "sprintf",
        "snprintf",
        "asprintf",
        "syslog",
        "__printf_chk",
        "__fprintf_chk",
        "__sprintf_chk",
        "__snprintf_chk",
        "__asprintf_chk",
        "__syslog_chk",
        "_ZSt24__throw_out_of_range_fmtPKcz",
    ];
    let is_format = |parameter: &Parameter| parameter.name == "format" && parameter.ty == Type::Text;
    let is_known = prototype.is_variadic && FUNCTIONS.contains(&prototype.name.as_str());
    prototype.parameters.iter().position(is_format).filter(|_| is_known)
}

/// How many integer registers have arguments.
pub(super) fn integer_registers(places: &[Place]) -> usize {
    let register = |place: &Place| if let Place::Register(number) = place { number + 1 } else { 0 };
    places.iter().map(register).max().unwrap_or(0)
}
