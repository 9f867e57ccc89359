//! Where debug information says that an argument is when its function is entered.

use ada_event::ImageOffset;
use gimli::{AttributeValue, Expression, LocationListEntry, Operation, Unit};

use crate::debug_info::{Bytes, DebugInfo};

/// Where an argument is when a function is entered, as far as the debug information says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryPlace {
    /// It says nothing, or nothing that is understood.
    Unsaid,
    /// In this register.
    Register(u16),
    /// In memory that a pointer leads to, which is in this register, where that is said.
    Behind(Option<u16>),
    /// Somewhere in the frame of the function or of its caller: later, if not on entry.
    Frame,
    /// Nowhere. Callers may pass anything in its place: clang leaves out what a function never looks at.
    Nowhere,
    /// In parts.
    Parts(Vec<EntryPart>),
}

/// A part of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryPart {
    /// How many bytes it has.
    pub bytes: u64,
    /// Where it is.
    pub place: PartPlace,
}

/// Where a part of an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartPlace {
    /// Nowhere.
    Nowhere,
    /// In this register.
    Register(u16),
    /// Somewhere else.
    Elsewhere,
}

/// DWARF's numbers of the frame and stack pointers.
const FRAME_REGISTERS: [u16; 2] = [6, 7];

/// Where a location says that a value is at an address. A location that is the same in the whole function is looked at as closely
/// only if it `is_trusted` to be true on entry: some compilers mean behind the first instructions.
pub(crate) fn place_at<'d>(
    info: &DebugInfo<'d>,
    unit: &Unit<Bytes<'d>>,
    location: AttributeValue<Bytes<'d>>,
    start: ImageOffset,
    is_trusted: bool,
) -> Option<EntryPlace> {
    if let AttributeValue::Exprloc(expression) = location {
        return Some(match place(info, unit, expression)? {
            place @ (EntryPlace::Behind(_) | EntryPlace::Frame) => place,
            place if is_trusted => place,
            _ => EntryPlace::Unsaid,
        });
    }
    let mut list = info.dwarf.attr_locations(unit, location).ok()??;
    let mut later = EntryPlace::Unsaid;
    while let Some(LocationListEntry { range, data }) = list.next().ok()? {
        let is_at_entry = (range.begin..range.end).contains(&start.0);
        match place(info, unit, data)? {
            place if is_at_entry => return Some(place),
            EntryPlace::Behind(_) => later = EntryPlace::Behind(None),
            EntryPlace::Frame if later == EntryPlace::Unsaid => later = EntryPlace::Frame,
            _ => {}
        }
    }
    Some(later)
}

fn place<'d>(info: &DebugInfo<'d>, unit: &Unit<Bytes<'d>>, expression: Expression<Bytes<'d>>) -> Option<EntryPlace> {
    let mut operations = expression.operations(unit.encoding());
    let (mut parts, mut newest) = (Vec::new(), Vec::new());
    while let Some(operation) = operations.next().ok()? {
        info.spend()?;
        let Operation::Piece { size_in_bits, .. } = operation else {
            newest.push(operation);
            continue;
        };
        let place = match &newest[..] {
            [] => PartPlace::Nowhere,
            [Operation::Register { register }] => PartPlace::Register(register.0),
            _ => PartPlace::Elsewhere,
        };
        newest.clear();
        parts.push(EntryPart { bytes: size_in_bits / 8, place });
    }
    let is_frames = |register: u16| FRAME_REGISTERS.contains(&register);
    Some(match &newest[..] {
        _ if !parts.is_empty() => EntryPlace::Parts(parts),
        [Operation::Register { register }] => EntryPlace::Register(register.0),
        [Operation::FrameOffset { .. }] => EntryPlace::Frame,
        [Operation::RegisterOffset { register, .. }] if is_frames(register.0) => EntryPlace::Frame,
        [Operation::RegisterOffset { register, offset: 0, .. }] => EntryPlace::Behind(Some(register.0)),
        [Operation::FrameOffset { .. } | Operation::RegisterOffset { .. }, Operation::Deref { .. }] => {
            EntryPlace::Behind(None)
        }
        _ => EntryPlace::Unsaid,
    })
}
