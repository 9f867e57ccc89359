//! In which namespace a type is declared.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use gimli::UnitOffset;

use crate::debug_info::{DebugInfo, EntryAt};

/// The namespaces of units, each unit's read when it is asked for.
#[derive(Default)]
pub(crate) struct Namespaces {
    units: RefCell<HashMap<usize, Rc<[Namespace]>>>,
}

struct Namespace {
    name: String,
    start: UnitOffset,
    /// Where what is in it ends.
    end: UnitOffset,
    /// The one that it is in.
    outer: Option<usize>,
}

impl Namespaces {
    /// The namespaces that an entry is in, from the outside in.
    pub(crate) fn of(&self, info: &DebugInfo<'_>, at: EntryAt) -> Vec<String> {
        let known = self.units.borrow().get(&at.0).cloned();
        let unit = known.unwrap_or_else(|| {
            let read: Rc<[Namespace]> = read(info, at.0).unwrap_or_default().into();
            self.units.borrow_mut().insert(at.0, read.clone());
            read
        });
        // They are in the order in which they begin: the last one that begins before the entry has it, or one around that has.
        let mut next = unit.partition_point(|it| it.start < at.1).checked_sub(1);
        let mut names = Vec::new();
        while let Some(namespace) = next.and_then(|number| unit.get(number)) {
            names.extend((at.1 < namespace.end).then(|| namespace.name.clone()));
            next = namespace.outer;
        }
        names.reverse();
        names
    }
}

fn read(info: &DebugInfo<'_>, number: usize) -> Option<Vec<Namespace>> {
    let unit = info.unit(number)?;
    let mut found: Vec<Namespace> = Vec::new();
    let mut open: Vec<(isize, usize)> = Vec::new();
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs().ok()? {
        info.spend()?;
        while let Some((_, ended)) = open.pop_if(|(depth, _)| *depth >= entry.depth()) {
            found[ended].end = entry.offset();
        }
        if entry.tag() == gimli::DW_TAG_namespace {
            let outer = open.last().map(|(_, number)| *number);
            open.push((entry.depth(), found.len()));
            let name = info.name((number, entry.offset())).unwrap_or_default();
            found.push(Namespace { name, start: entry.offset(), end: UnitOffset(usize::MAX), outer });
        }
    }
    Some(found)
}
