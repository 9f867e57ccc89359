//! Debug information as entries that refer to each other.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use gimli::{AttributeValue, Dwarf, EndianSlice, LittleEndian, Section, Unit, UnitHeader, UnitOffset};
use gimli::{DW_AT_abstract_origin, DW_AT_name, DW_AT_specification, DW_AT_type};

pub(crate) type Bytes<'d> = EndianSlice<'d, LittleEndian>;

/// How many entries lead from a function or parameter to what it is made from; more would be a circle.
const MOST_HOPS: usize = 4;

/// All units, each parsed when it is needed.
pub(crate) struct DebugInfo<'d> {
    pub(crate) dwarf: &'d Dwarf<Bytes<'d>>,
    pub(crate) headers: Vec<UnitHeader<Bytes<'d>>>,
    pub(crate) units: RefCell<HashMap<usize, Rc<Unit<Bytes<'d>>>>>,
    /// How many more entries are looked at: those of a sound file are looked at a few times each.
    patience: Cell<u64>,
}

/// An entry: its unit's number, and where it is there.
pub(crate) type EntryAt = (usize, UnitOffset);

impl<'d> DebugInfo<'d> {
    pub(crate) fn new(dwarf: &'d Dwarf<Bytes<'d>>) -> Self {
        let mut headers = Vec::new();
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            headers.push(header);
        }
        let patience = Cell::new((1 << 16) + 4 * dwarf.debug_info.reader().len() as u64);
        Self { dwarf, headers, units: RefCell::default(), patience }
    }

    /// Counts an entry that is looked at. None once a hostile file has had enough of them looked at.
    pub(crate) fn spend(&self) -> Option<()> {
        self.patience.set(self.patience.get().checked_sub(1)?);
        Some(())
    }

    pub(crate) fn unit(&self, number: usize) -> Option<Rc<Unit<Bytes<'d>>>> {
        if let Some(unit) = self.units.borrow().get(&number) {
            return Some(unit.clone());
        }
        let unit = Rc::new(self.dwarf.unit(*self.headers.get(number)?).ok()?);
        self.units.borrow_mut().insert(number, unit.clone());
        Some(unit)
    }

    /// The entry that an attribute of a unit's entry refers to.
    pub(crate) fn refers_to(&self, unit: usize, value: Option<AttributeValue<Bytes<'d>>>) -> Option<EntryAt> {
        match value? {
            AttributeValue::UnitRef(offset) => Some((unit, offset)),
            AttributeValue::DebugInfoRef(offset) => {
                let begins_before =
                    |header: &UnitHeader<Bytes<'d>>| header.debug_info_offset().is_some_and(|at| at <= offset);
                let number = self.headers.partition_point(begins_before).checked_sub(1)?;
                Some((number, offset.to_unit_offset(&self.headers[number])?))
            }
            _ => None,
        }
    }

    /// An attribute of an entry, or of what the entry is made from; with the unit that has it.
    pub(crate) fn attribute(
        &self,
        (mut number, mut at): EntryAt,
        name: gimli::DwAt,
    ) -> Option<(usize, AttributeValue<Bytes<'d>>)> {
        for _ in 0..MOST_HOPS {
            self.spend()?;
            let unit = self.unit(number)?;
            let entry = unit.entry(at).ok()?;
            if let Some(value) = entry.attr_value(name) {
                return Some((number, value));
            }
            let origin = entry.attr_value(DW_AT_abstract_origin).or_else(|| entry.attr_value(DW_AT_specification));
            (number, at) = self.refers_to(number, origin)?;
        }
        None
    }

    pub(crate) fn name(&self, at: EntryAt) -> Option<String> {
        let (unit, value) = self.attribute(at, DW_AT_name)?;
        let name = self.dwarf.attr_string(&*self.unit(unit)?, value).ok()?;
        Some(name.to_string_lossy().into_owned())
    }

    /// The type that an entry has, or what it is made from.
    pub(crate) fn type_of(&self, at: EntryAt) -> Option<EntryAt> {
        let (unit, value) = self.attribute(at, DW_AT_type)?;
        self.refers_to(unit, Some(value))
    }
}
