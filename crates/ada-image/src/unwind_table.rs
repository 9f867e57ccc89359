//! The unwind table: which code has frames, and how each frame looks at each instruction.

use std::fmt;

use ada_event::ImageOffset;
use gimli::{CommonInformationEntry, EhFrame, EhFrameOffset, EndianSlice, LittleEndian, Pointer, UnwindSection};

use crate::eh_frame::{EhFrameBytes, Entry};
use crate::landing_pads::LandingPadReader;
use crate::row_program::{Cfa, Factors, Row, RowProgram, Rules};
use crate::{GoTable, Image, ImageError};

type Slice<'d> = EndianSlice<'d, LittleEndian>;

/// One contiguous piece of code with a frame: mostly a function, or the cold part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fde {
    /// The first address of the piece.
    pub start: ImageOffset,
    /// The first address after the piece.
    pub end: ImageOffset,
    /// The kernel calls this piece by returning to it, after a signal handler.
    pub signal_frame: bool,
    first_row: u32,
    row_count: u32,
}

impl Fde {
    /// Whether the piece has this address.
    pub fn contains(&self, address: ImageOffset) -> bool {
        self.start <= address && address < self.end
    }
}

/// The unwind table of an image, evaluated.
#[derive(Default)]
pub struct UnwindTable {
    fdes: Vec<Fde>,
    rows: Vec<Row>,
    landing_pads: Vec<ImageOffset>,
    problem: Option<ImageError>,
}

impl UnwindTable {
    /// Evaluates the image's `.eh_frame`, and what Go's linker has instead of one. Entries that cannot be read are left out; [`Self::problem`] has the first.
    pub fn parse(image: &Image<'_>) -> Self {
        let mut table = Self::default();
        if let Some(eh_frame) = &image.eh_frame {
            table.read(eh_frame, LandingPadReader::new(image.load_segments(), image.file));
        }
        if let Some(Ok(go)) = image.go_table() {
            table.read_go(&go);
        }
        // Linkers sort by address within each input file, which is nearly sorted already.
        table.fdes.sort_by_key(|fde| fde.start);
        table.landing_pads.sort_unstable();
        table.landing_pads.dedup();
        table
    }

    fn read<'d>(&mut self, eh_frame: &EhFrameBytes<'d>, pads: LandingPadReader<'_, 'd>) {
        let mut reader = Reader::new(eh_frame, pads);
        for entry in eh_frame.entries() {
            let outcome = if entry.is_cie { reader.read_cie(entry) } else { reader.read_fde(entry, self) };
            if let Err(reason) = outcome {
                let entry = ImageOffset(eh_frame.address.wrapping_add(entry.offset as u64));
                self.problem.get_or_insert(ImageError::BadUnwindEntry { entry, reason });
            }
        }
    }

    /// Adds the heights of the stack that Go's own table has. Functions that write the stack pointer in a way of their own are not
    /// as it says.
    fn read_go(&mut self, go: &GoTable<'_>) {
        for function in go.functions().filter(|function| !function.writes_stack_pointer) {
            let first_row = self.rows.len();
            let mut start = function.start.0;
            for (height, end) in go.heights(&function) {
                let end = function.start.0.saturating_add(end.into()).min(function.end.0);
                if start < end {
                    let cfa = height.checked_add(8).map_or(Cfa::Other, Cfa::Rsp);
                    let (from, to) = (ImageOffset(start), ImageOffset(end));
                    let row =
                        Row { start: from, end: to, cfa, saves_registers: false, return_address_at_cfa_minus_8: true };
                    self.rows.push(row);
                    start = end;
                }
            }
            // What lies behind the last one is padding.
            if let Some(last) = self.rows[first_row..].last_mut() {
                last.end = function.end;
            }
            if let (Ok(first), Ok(row_count)) = (u32::try_from(first_row), u32::try_from(self.rows.len() - first_row))
                && row_count > 0
            {
                let (start, end) = (function.start, function.end);
                self.fdes.push(Fde { start, end, signal_frame: false, first_row: first, row_count });
            }
        }
    }

    /// Where unwinders go on in functions that an exception passes through: sorted, each once. No branch leads there.
    pub fn landing_pads(&self) -> &[ImageOffset] {
        &self.landing_pads
    }

    /// The pieces of code, sorted by their start.
    pub fn fdes(&self) -> &[Fde] {
        &self.fdes
    }

    /// The rows of a piece, sorted, without a gap from its start to its end.
    pub fn rows(&self, fde: &Fde) -> &[Row] {
        let first = fde.first_row as usize;
        self.rows.get(first..first + fde.row_count as usize).unwrap_or_default()
    }

    /// All rows; those of one piece lie together.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// The piece with this address.
    pub fn fde_at(&self, address: ImageOffset) -> Option<&Fde> {
        let after = self.fdes.partition_point(|fde| fde.start <= address);
        self.fdes[..after].last().filter(|fde| fde.contains(address))
    }

    /// The row in force at this address.
    pub fn row_at(&self, address: ImageOffset) -> Option<&Row> {
        self.row_of(self.fde_at(address)?, address)
    }

    /// The row of this piece in force at `address`.
    pub(crate) fn row_of(&self, fde: &Fde, address: ImageOffset) -> Option<&Row> {
        let rows = self.rows(fde);
        rows.get(rows.partition_point(|row| row.end <= address)).filter(|row| row.start <= address)
    }

    /// Whether the piece is entered by a call. Cold parts have entries of their own too, but are jumped into from the
    /// middle of a frame; and a signal frame is returned to.
    pub fn begins_function(&self, fde: &Fde) -> bool {
        !fde.signal_frame && self.rows(fde).first().is_some_and(Row::is_function_entry)
    }

    /// The first entry, or exception table, that could not be read.
    pub fn problem(&self) -> Option<&ImageError> {
        self.problem.as_ref()
    }
}

impl fmt::Debug for UnwindTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UnwindTable({} fdes, {} rows, {:?})", self.fdes.len(), self.rows.len(), self.problem)
    }
}

/// A common entry, with the rules that its instructions establish: many functions share it, so they run once.
struct Common<'d> {
    offset: usize,
    entry: CommonInformationEntry<Slice<'d>>,
    factors: Factors,
    initial: Rules,
}

struct Reader<'i, 'd> {
    section: EhFrame<Slice<'d>>,
    address: u64,
    pads: LandingPadReader<'i, 'd>,
    bases: gimli::BaseAddresses,
    /// In the order of the section, and so sorted by offset.
    commons: Vec<Common<'d>>,
    program: RowProgram,
}

impl<'i, 'd> Reader<'i, 'd> {
    fn new(eh_frame: &EhFrameBytes<'d>, pads: LandingPadReader<'i, 'd>) -> Self {
        let section = EhFrame::new(eh_frame.bytes, LittleEndian);
        let (address, bases) = (eh_frame.address, eh_frame.bases());
        Self { section, address, pads, bases, commons: Vec::new(), program: RowProgram::default() }
    }

    fn read_cie(&mut self, Entry { offset, .. }: Entry) -> gimli::Result<()> {
        let entry = self.section.cie_from_offset(&self.bases, EhFrameOffset(offset))?;
        let factors = Factors {
            code_alignment: entry.code_alignment_factor(),
            data_alignment: entry.data_alignment_factor(),
            return_address: entry.return_address_register(),
        };
        let initial = self.program.initial_rules(factors, entry.instructions(&self.section, &self.bases))?;
        self.commons.push(Common { offset, entry, factors, initial });
        Ok(())
    }

    fn read_fde(&mut self, Entry { offset, .. }: Entry, table: &mut UnwindTable) -> gimli::Result<()> {
        // An entry refers backwards to its common one, which the walk has therefore met, if it is one.
        let commons = &self.commons;
        let mut common_index = None;
        let entry = self.section.fde_from_offset(&self.bases, EhFrameOffset(offset), |_, _, cie| {
            let index = commons
                .binary_search_by_key(&cie.0, |common| common.offset)
                .map_err(|_| gimli::Error::NotCiePointer(offset as u64))?;
            common_index = Some(index);
            Ok(commons[index].entry.clone())
        })?;
        let Some(common) = common_index.map(|index| &commons[index]) else { return Ok(()) };
        let start = entry.initial_address();
        let Some(end) = start.checked_add(entry.len()).filter(|&end| end > start) else { return Ok(()) };
        let first_row = table.rows.len();
        let instructions = entry.instructions(&self.section, &self.bases);
        let outcome =
            self.program.append_rows(&mut table.rows, common.initial, common.factors, (start, end), instructions);
        let row_count = table.rows.len() - first_row;
        if let (Ok(first_row), Ok(row_count)) = (u32::try_from(first_row), u32::try_from(row_count)) {
            table.fdes.push(Fde {
                start: ImageOffset(start),
                end: ImageOffset(end),
                signal_frame: entry.is_signal_trampoline(),
                first_row,
                row_count,
            });
        }
        // An entry without a table, among others that have one, stores 0, which read as a distance leads into the
        // entry itself.
        let own_address = self.address.wrapping_add(offset as u64);
        if let Some(Pointer::Direct(lsda)) = entry.lsda()
            && lsda != 0
            && lsda.wrapping_sub(own_address) > entry.entry_len() as u64
            && let Err(problem) = self.pads.append(&mut table.landing_pads, lsda, start)
        {
            table.problem.get_or_insert(problem);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cfa;

    /// A common entry for x86-64 as compilers write it, and a function of 0x100 bytes at 0x1000 with `program`.
    fn table(program: &[u8]) -> UnwindTable {
        let mut bytes = vec![0; 8];
        // Version 1, augmentation "", code alignment 1, data alignment -8, return address in column 16;
        // then def_cfa(rsp, 8) and offset(return address, cfa - 8).
        bytes.extend([1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0]);
        bytes[0] = bytes.len() as u8 - 4;
        let function = bytes.len();
        bytes.extend([0; 4]);
        bytes.extend((function as u32 + 4).to_le_bytes());
        bytes.extend(0x1000_u64.to_le_bytes());
        bytes.extend(0x100_u64.to_le_bytes());
        bytes.extend(program);
        bytes[function] = (bytes.len() - function - 4) as u8;
        let mut table = UnwindTable::default();
        let eh_frame =
            EhFrameBytes { address: 0x8000, bytes: &bytes, text: None, got: None, ends_at_terminator: false };
        table.read(&eh_frame, LandingPadReader::new(&[], &[]));
        table
    }

    fn row(start: u64, end: u64, cfa: Cfa, saves_registers: bool) -> Row {
        let (start, end) = (ImageOffset(start), ImageOffset(end));
        Row { start, end, cfa, saves_registers, return_address_at_cfa_minus_8: true }
    }

    #[test]
    fn a_frame_is_followed_through_its_prologue_and_epilogue() {
        // push rbp (advance 1, cfa offset 16, rbp saved); mov rbp, rsp (advance 3, cfa from rbp); remember;
        // leave (advance 8, cfa rsp + 8, rbp restored); restore the state after the ret (advance 1).
        let program = [0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x48, 0x0c, 7, 8, 0xc6, 0x41, 0x0b];
        let table = table(&program);
        assert_eq!(table.problem(), None);
        let fde = table.fdes()[0];
        assert_eq!(
            table.rows(&fde),
            [
                row(0x1000, 0x1001, Cfa::Rsp(8), false),
                row(0x1001, 0x1004, Cfa::Rsp(16), true),
                row(0x1004, 0x100c, Cfa::Rbp(16), true),
                row(0x100c, 0x100d, Cfa::Rsp(8), false),
                row(0x100d, 0x1100, Cfa::Rbp(16), true),
            ]
        );
        assert!(table.begins_function(&fde));
        assert_eq!(table.row_at(ImageOffset(0x10ff)), table.rows(&fde).last());
        assert_eq!(table.row_at(ImageOffset(0x1100)), None);
        assert_eq!(table.fde_at(ImageOffset(0xfff)), None);
    }

    #[test]
    fn rows_that_say_the_same_are_one_and_none_leaves_the_function() {
        // Advance 1, the same cfa offset again; then advance far past the end.
        let table = table(&[0x41, 0x0e, 8, 0x04, 0, 0, 0, 1, 0x0e, 64]);
        assert_eq!(table.rows(&table.fdes()[0]), [row(0x1000, 0x1100, Cfa::Rsp(8), false)]);
    }

    #[test]
    fn after_what_cannot_be_read_nothing_is_known() {
        // Advance 4, then restore a state that nobody remembered.
        let table = table(&[0x44, 0x0b, 0x0e, 64]);
        let error = ImageError::BadUnwindEntry { entry: ImageOffset(0x8014), reason: gimli::Error::PopWithEmptyStack };
        assert_eq!(table.problem(), Some(&error));
        let rows = table.rows(&table.fdes()[0]);
        assert_eq!(rows[0], row(0x1000, 0x1004, Cfa::Rsp(8), false));
        assert_eq!((rows[1].end, rows[1].cfa, rows[1].is_function_entry()), (ImageOffset(0x1100), Cfa::Other, false));
    }
}
