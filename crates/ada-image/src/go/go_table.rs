//! `.gopclntab`: Go's table of functions, in the three forms that linkers from Go 1.16 on have made.
//!
//! A header with offsets of the parts is followed by names, lists of files, differences ([`PcValues`]) and the functions: a row of
//! addresses first, each with the place of a record that leads to everything else.

use ada_event::ImageOffset;

use super::pc_values::{PcValue, PcValues};
use crate::{ImageError, SourcePlace};

/// Which linker made the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// 1.16 and 1.17: functions by address.
    V116,
    /// 1.18 and 1.19: functions by their distance from the start of the text.
    V118,
    /// 1.20 on: also the line on which a function is declared.
    V120,
}

/// Bytes of a header with all of its words.
pub(super) const HEADER_BYTES: usize = 8 + 8 * 8;

/// The table of a program.
#[derive(Clone, Copy)]
pub struct GoTable<'d> {
    form: Form,
    /// Where the table lies in the image.
    at: ImageOffset,
    text: u64,
    count: usize,
    names: &'d [u8],
    units: &'d [u8],
    files: &'d [u8],
    values: &'d [u8],
    /// Addresses and records.
    functions: &'d [u8],
}

/// A function of the table.
#[derive(Clone, Copy)]
pub struct GoFunction<'d> {
    /// Its first instruction.
    pub start: ImageOffset,
    /// Where the next function begins; padding may lie before it.
    pub end: ImageOffset,
    /// Its name, with that of its package.
    pub name: &'d [u8],
    /// It writes the stack pointer in a way of its own: it changes stacks.
    pub writes_stack_pointer: bool,
    record: &'d [u8],
}

impl<'d> GoTable<'d> {
    /// Reads the header of the table that begins with `bytes`, and lies at an address. `text` is where the code begins if the
    /// header does not say: a position-independent program's is written by the loader.
    pub fn parse(bytes: &'d [u8], at: ImageOffset, text: u64) -> Result<Self, ImageError> {
        let broken = |offset: usize, reason| ImageError::BadGoTable { table: at, offset: offset as u64, reason };
        let (magic, rest) = bytes.split_first_chunk::<4>().ok_or_else(|| broken(0, "it ends in its header"))?;
        let form = match u32::from_le_bytes(*magic) {
            0xffff_fffa => Form::V116,
            0xffff_fff0 => Form::V118,
            0xffff_fff1 => Form::V120,
            _ => return Err(broken(0, "a form that is not known")),
        };
        if !rest.starts_with(&[0, 0, 1, 8]) {
            return Err(broken(4, "not for x86-64"));
        }
        let word = |number: usize| {
            let at = 8 + 8 * number;
            let word = bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map(u64::from_le_bytes);
            word.ok_or_else(|| broken(at, "it ends in its header"))
        };
        let part = |number: usize| {
            let part = usize::try_from(word(number)?).ok().and_then(|from| bytes.get(from..));
            part.ok_or_else(|| broken(8 + 8 * number, "a part lies behind its end"))
        };
        let has_text = form != Form::V116;
        let first = if has_text { 3 } else { 2 };
        let stated = if has_text { word(2)? } else { 0 };
        let table = Self {
            form,
            at,
            text: if stated == 0 { text } else { stated },
            count: usize::try_from(word(0)?).map_err(|_| broken(8, "more functions than bytes"))?,
            names: part(first)?,
            units: part(first + 1)?,
            files: part(first + 2)?,
            values: part(first + 3)?,
            functions: part(first + 4)?,
        };
        let rows = table.count.checked_add(1).and_then(|rows| rows.checked_mul(table.row_bytes()));
        if rows.is_none_or(|rows| rows - table.row_bytes() / 2 > table.functions.len()) {
            return Err(broken(8, "more functions than bytes"));
        }
        Ok(table)
    }

    /// How many functions there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The function with this number; nothing where its bytes make no sense.
    pub fn function(&self, number: usize) -> Option<GoFunction<'d>> {
        let (start, end) = (self.start(number)?, self.start(number.checked_add(1)?)?);
        if number >= self.count || start >= end {
            return None;
        }
        let record = self.functions.get(self.record_at(number)?..)?;
        let name = self.names.get(usize::try_from(half(record, self.fields())?).ok()?..)?;
        let flags = *record.get(self.flags_at())?;
        Some(GoFunction {
            start: ImageOffset(start),
            end: ImageOffset(end),
            name: text(name)?,
            writes_stack_pointer: flags & 2 != 0,
            record,
        })
    }

    /// All functions, in the order of their addresses, but those that make no sense.
    pub fn functions(&self) -> impl Iterator<Item = GoFunction<'d>> {
        let table = *self;
        (0..self.count).filter_map(move |number| table.function(number))
    }

    /// The function that has an address.
    pub fn function_at(&self, address: ImageOffset) -> Option<GoFunction<'d>> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            if self.start(middle)? <= address.0 { low = middle + 1 } else { high = middle }
        }
        self.function(low.checked_sub(1)?).filter(|function| address < function.end)
    }

    /// The line that the instruction at an address belongs to: of code that was inlined, its own.
    pub fn place(&self, address: ImageOffset) -> Option<SourcePlace> {
        let function = self.function_at(address)?;
        let distance = u32::try_from(address.0 - function.start.0).ok()?;
        let line = self.value(&function, 4, distance).filter(|&line| line > 0)?;
        Some(SourcePlace { file: self.file(&function, distance)?, line: line as u32 })
    }

    /// Where the function that starts at an address is declared; before Go 1.20, where its code begins.
    pub fn function_place(&self, start: ImageOffset) -> Option<SourcePlace> {
        let function = self.function_at(start).filter(|function| function.start == start)?;
        if self.form != Form::V120 {
            return self.place(start);
        }
        let line = half(function.record, self.fields() + 32).filter(|&line| line > 0)?;
        Some(SourcePlace { file: self.file(&function, 0)?, line })
    }

    /// How much a function has on the stack beside its return address, and up to which distance from its start.
    pub(crate) fn heights(&self, function: &GoFunction<'d>) -> impl Iterator<Item = (i32, u32)> + use<'d> {
        self.values_of(function, 2).into_iter().flatten().map(|height| (height.value, height.end))
    }

    /// The most of that.
    pub fn frame_bytes(&self, function: &GoFunction<'d>) -> u32 {
        self.heights(function).map(|(height, _)| height.max(0) as u32).max().unwrap_or(0)
    }

    /// Whether Go's compiler or assembler made the function. C code that its linker adds, as that of the race detector, is in the table
    /// too, but nothing is said of its stack: it runs on the thread's own.
    pub fn is_gos_own(&self, function: &GoFunction<'d>) -> bool {
        self.heights(function).next().is_some()
    }

    fn file(&self, function: &GoFunction<'d>, distance: u32) -> Option<String> {
        let number = u32::try_from(self.value(function, 3, distance)?).ok()?;
        let unit = half(function.record, self.fields() + 28)?;
        let entry = usize::try_from(unit.checked_add(number)?).ok()?.checked_mul(4)?;
        let name = usize::try_from(half(self.units, entry)?).ok().and_then(|at| self.files.get(at..))?;
        Some(String::from_utf8_lossy(text(name)?).into_owned())
    }

    /// The value at a distance from the function's start, by the field of the record that leads to the values.
    fn value(&self, function: &GoFunction<'d>, field: usize, distance: u32) -> Option<i32> {
        self.values_of(function, field)?.find(|value| distance < value.end).map(|PcValue { value, .. }| value)
    }

    fn values_of(&self, function: &GoFunction<'d>, field: usize) -> Option<PcValues<'d>> {
        let length = function.end.0 - function.start.0;
        // What is there for nothing is at offset 0.
        let from = half(function.record, self.fields() + 4 + 4 * field).filter(|&from| from != 0)?;
        let bytes = self.values.get(usize::try_from(from).ok()?..)?;
        // A value holds for a byte at least, and takes ten at most.
        let most = usize::try_from(length).ok()?.saturating_mul(10).min(bytes.len());
        Some(PcValues::new(&bytes[..most]))
    }

    fn row_bytes(&self) -> usize {
        if self.form == Form::V116 { 16 } else { 8 }
    }

    fn start(&self, number: usize) -> Option<u64> {
        let row = number.checked_mul(self.row_bytes())?;
        match self.form {
            Form::V116 => Some(u64::from_le_bytes(self.functions.get(row..row + 8)?.try_into().ok()?)),
            Form::V118 | Form::V120 => self.text.checked_add(half(self.functions, row)?.into()),
        }
    }

    fn record_at(&self, number: usize) -> Option<usize> {
        let row = number.checked_mul(self.row_bytes())? + self.row_bytes() / 2;
        usize::try_from(half(self.functions, row)?).ok()
    }

    /// Where in a record the fields of four bytes begin that all forms have.
    fn fields(&self) -> usize {
        if self.form == Form::V116 { 8 } else { 4 }
    }

    fn flags_at(&self) -> usize {
        self.fields() + if self.form == Form::V120 { 37 } else { 33 }
    }
}

impl std::fmt::Debug for GoTable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GoTable({:?} at {}, {} functions)", self.form, self.at, self.count)
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The text at the start of `bytes`, up to its zero. Longer ones are cut.
fn text(bytes: &[u8]) -> Option<&[u8]> {
    const LONGEST: usize = 4096;
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    match bytes.iter().position(|&byte| byte == 0) {
        Some(end) => Some(&bytes[..end]),
        None => (bytes.len() == LONGEST).then_some(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: ImageOffset = ImageOffset(0x5000);
    const TEXT: u64 = 0x1000;

    /// A table with two functions of 16 bytes each, `a.f` and `a.g`, the second of which changes stacks. Both have a frame of 24
    /// bytes from their fourth byte on, and begin on line 7 of `x.go`; the declaration is on line 6.
    fn table(form: Form) -> Vec<u8> {
        let (names, units, files) = (b"\0a.f\0a.g\0", [0u32, 0, 1], b"\0x.go\0");
        // Heights at 1, files at 8, lines at 11.
        let values: &[u8] = &[0, 2, 4, 48, 12, 0, 0, 0, 4, 16, 0, 16, 5, 2, 11, 0];
        let wide = form == Form::V116;
        let mut rows: Vec<u8> = Vec::new();
        let mut records: Vec<u8> = Vec::new();
        let rows_bytes = if wide { 2 * 16 + 8 } else { 2 * 8 + 4 };
        for (number, name) in [(0u64, 1u32), (1, 5)] {
            let record = rows_bytes + records.len();
            let start = 16 * number;
            if wide {
                rows.extend((TEXT + start).to_le_bytes());
                rows.extend((record as u64).to_le_bytes());
                records.extend((TEXT + start).to_le_bytes());
            } else {
                rows.extend((start as u32).to_le_bytes());
                rows.extend((record as u32).to_le_bytes());
                records.extend((start as u32).to_le_bytes());
            }
            for field in [name, 0, 0, 1, 8, 11, 0, 1] {
                records.extend(field.to_le_bytes());
            }
            if form == Form::V120 {
                records.extend(6u32.to_le_bytes());
            }
            records.extend([0, if number == 1 { 2 } else { 0 }, 0, 0]);
        }
        if wide {
            rows.extend((TEXT + 32).to_le_bytes())
        } else {
            rows.extend(32u32.to_le_bytes())
        }
        let magic: u32 = match form {
            Form::V116 => 0xffff_fffa,
            Form::V118 => 0xffff_fff0,
            Form::V120 => 0xffff_fff1,
        };
        let mut bytes = magic.to_le_bytes().to_vec();
        bytes.extend([0, 0, 1, 8]);
        let header = if wide { 8 + 7 * 8 } else { HEADER_BYTES };
        bytes.extend(2u64.to_le_bytes());
        bytes.extend(1u64.to_le_bytes());
        if !wide {
            bytes.extend(0u64.to_le_bytes());
        }
        let mut at = header as u64;
        let units: Vec<u8> = units.iter().flat_map(|it| it.to_le_bytes()).collect();
        let parts = [&names[..], &units, files, values, &[rows, records].concat()];
        for part in parts {
            bytes.extend(at.to_le_bytes());
            at += part.len() as u64;
        }
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        bytes
    }

    #[test]
    fn all_forms_tell_the_same() {
        for form in [Form::V116, Form::V118, Form::V120] {
            let bytes = table(form);
            let table = GoTable::parse(&bytes, AT, TEXT).unwrap();
            let functions: Vec<_> = table.functions().collect();
            let named = functions.iter().map(|it| (it.start.0, it.end.0, it.name, it.writes_stack_pointer));
            let expected = [(TEXT, TEXT + 16, &b"a.f"[..], false), (TEXT + 16, TEXT + 32, b"a.g", true)];
            assert_eq!(named.collect::<Vec<_>>(), expected, "{form:?}");
            assert!(functions.iter().all(|it| table.frame_bytes(it) == 24), "{form:?}");
            let place = |line| Some(SourcePlace { file: "x.go".to_owned(), line });
            assert_eq!(table.place(ImageOffset(TEXT + 4)), place(7));
            assert_eq!(table.place(ImageOffset(TEXT + 16 + 9)), place(8));
            let declared = if form == Form::V120 { 6 } else { 7 };
            assert_eq!(table.function_place(ImageOffset(TEXT + 16)), place(declared));
            assert_eq!(table.function_place(ImageOffset(TEXT + 17)), None);
            assert!(table.function_at(ImageOffset(TEXT + 32)).is_none());
        }
    }

    #[test]
    fn every_cut_is_an_error_or_a_table_without_what_was_cut_off() {
        for form in [Form::V116, Form::V118, Form::V120] {
            let bytes = table(form);
            for length in 0..bytes.len() {
                if let Ok(table) = GoTable::parse(&bytes[..length], AT, TEXT) {
                    assert!(table.functions().count() <= 2);
                    let _ = (table.place(ImageOffset(TEXT)), table.function_place(ImageOffset(TEXT)));
                }
            }
        }
    }
}
