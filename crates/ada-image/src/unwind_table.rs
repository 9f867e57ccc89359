//! The unwind table: which code has frames, and how each frame looks at each instruction.

use std::fmt;

use ada_event::ImageOffset;
use gimli::{CommonInformationEntry, EhFrame, EhFrameOffset, EndianSlice, LittleEndian, UnwindSection};

use crate::eh_frame::{EhFrameBytes, Entry};
use crate::row_program::{Factors, Row, RowProgram, Rules};
use crate::{Image, ImageError};

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
    problem: Option<ImageError>,
}

impl UnwindTable {
    /// Evaluates the image's `.eh_frame`. Entries that cannot be read are left out; [`Self::problem`] has the first.
    pub fn parse(image: &Image<'_>) -> Self {
        let mut table = Self::default();
        if let Some(eh_frame) = &image.eh_frame {
            table.read(eh_frame);
        }
        // Linkers sort by address within each input file, which is nearly sorted already.
        table.fdes.sort_by_key(|fde| fde.start);
        table
    }

    fn read(&mut self, eh_frame: &EhFrameBytes<'_>) {
        let mut reader = Reader::new(eh_frame);
        for entry in eh_frame.entries() {
            let outcome = if entry.is_cie { reader.read_cie(entry) } else { reader.read_fde(entry, self) };
            if let Err(reason) = outcome {
                let entry = ImageOffset(eh_frame.address.wrapping_add(entry.offset as u64));
                self.problem.get_or_insert(ImageError::BadUnwindEntry { entry, reason });
            }
        }
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
        let rows = self.rows(self.fde_at(address)?);
        rows.get(rows.partition_point(|row| row.end <= address))
    }

    /// Whether the piece is entered by a call. Cold parts have entries of their own too, but are jumped into from the
    /// middle of a frame; and a signal frame is returned to.
    pub fn begins_function(&self, fde: &Fde) -> bool {
        !fde.signal_frame && self.rows(fde).first().is_some_and(Row::is_function_entry)
    }

    /// The first entry that could not be read.
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

struct Reader<'d> {
    section: EhFrame<Slice<'d>>,
    bases: gimli::BaseAddresses,
    /// In the order of the section, and so sorted by offset.
    commons: Vec<Common<'d>>,
    program: RowProgram,
}

impl<'d> Reader<'d> {
    fn new(eh_frame: &EhFrameBytes<'d>) -> Self {
        let section = EhFrame::new(eh_frame.bytes, LittleEndian);
        Self { section, bases: eh_frame.bases(), commons: Vec::new(), program: RowProgram::default() }
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
        outcome
    }
}
