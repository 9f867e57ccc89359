//! One pass over all code of an image.

use ada_event::ImageOffset;
use ada_image::{CodeRange, FunctionTable, Image, UnwindTable};

use crate::arch::{Branch, CodeReads, fenced, padding_lengths, read_piece};
use crate::code_scan::{CodeScan, Landing, PieceUse};
use crate::leave::LeaveKind;

impl CodeScan {
    /// Decodes every instruction of `ranges`, starting anew at each known function and unwind entry, since what
    /// lies between them may be data.
    pub fn of(image: &Image<'_>, functions: &FunctionTable, unwind: &UnwindTable) -> Self {
        let ranges = image.code_ranges();
        let mut scan = Self {
            landings: ranges.iter().map(|range| (range.start.0, vec![0; range.bytes.len()])).collect(),
            uses: vec![PieceUse::default(); unwind.fdes().len()],
            starts: Vec::new(),
            ends: Vec::new(),
            leaves: Vec::new(),
            outgoing: Vec::new(),
            firsts: Vec::new(),
            pointers: None,
            reads: Vec::new(),
            fenced: ranges.iter().flat_map(|range| fenced(range.start.0, range.bytes)).collect(),
            restartable: image.restartable_sequences().into_iter().map(|it| it.start.0..it.end.0).collect(),
        };
        let mut starts: Vec<u64> = functions.functions().iter().map(|function| function.start.0).collect();
        starts.extend(unwind.fdes().iter().flat_map(|fde| [fde.start.0, fde.end.0]));
        starts.extend(symbol_ends(ranges, functions, unwind));
        starts.sort_unstable();
        starts.dedup();
        for range in ranges {
            scan.scan_range(range, &starts, unwind);
        }
        // A loop reads the same again and again.
        scan.reads.sort_unstable_by_key(|read| (read.start, read.end));
        scan.reads.dedup();
        let pointers = image.code_pointers();
        pointers.iter().flatten().for_each(|pointer| scan.note_address(pointer.0));
        scan.pointers = pointers;
        scan.find_linker_jumps(&image.linker_slots());
        scan.index_pieces();
        for function in functions.functions() {
            if let Some(landing) = scan.landing_mut(function.start.0)
                && *landing & Landing::NAMED != 0
            {
                *landing = *landing & !Landing::NAMED | Landing::POINTED_TO;
            }
        }
        for pad in unwind.landing_pads() {
            if let Some(landing) = scan.landing_mut(pad.0) {
                *landing |= Landing::PAD;
            }
        }
        scan
    }

    fn scan_range(&mut self, range: &CodeRange<'_>, starts: &[u64], unwind: &UnwindTable) {
        let (low, high) = (range.start.0, range.start.0 + range.bytes.len() as u64);
        let inner = &starts[starts.partition_point(|&at| at <= low)..starts.partition_point(|&at| at < high)];
        let fdes = unwind.fdes();
        let mut next_fde = fdes.partition_point(|fde| fde.end.0 <= low);
        let mut from = low;
        let mut reads = CodeReads::of(low..high);
        for to in inner.iter().copied().chain([high]) {
            while next_fde < fdes.len() && fdes[next_fde].end.0 <= from {
                next_fde += 1;
            }
            let fde = fdes.get(next_fde).filter(|fde| fde.start.0 <= from && from < fde.end.0);
            let bytes = &range.bytes[(from - low) as usize..(to - low) as usize];
            let inside = fde.map_or(from..to, |fde| fde.start.0..fde.end.0);
            let mut leaves = std::mem::take(&mut self.leaves);
            let found = read_piece(bytes, from, &mut leaves, &mut reads, |branch, outgoing| {
                self.note_branch(branch, outgoing.target, inside.contains(&outgoing.target));
                if branch == Branch::ConditionalJump && !(from..to).contains(&outgoing.target) {
                    self.outgoing.push(outgoing);
                }
            });
            self.leaves = leaves;
            self.starts.push(from);
            self.ends.push(found.end);
            if fde.is_some() {
                let known = &mut self.uses[next_fde];
                known.uses_gs |= found.uses_gs;
                known.end = found.end;
            }
            from = to;
        }
        let (read, summed) = reads.found();
        self.reads.extend(read);
        summed.into_iter().for_each(|address| self.note_address(address));
    }

    /// Tells jumps through the linker's slots, which end a function, from those through any other word.
    fn find_linker_jumps(&mut self, slots: &[ImageOffset]) {
        for leave in &mut self.leaves {
            if let LeaveKind::JumpThroughWord(word) = leave.kind
                && slots.binary_search(&ImageOffset(word)).is_ok()
            {
                leave.kind = LeaveKind::JumpThroughLinker;
            }
        }
    }

    fn note_address(&mut self, address: u64) {
        if let Some(landing) = self.landing_mut(address) {
            *landing |= Landing::NAMED;
        }
    }

    fn note_branch(&mut self, branch: Branch, target: u64, from_inside: bool) {
        let Some(landing) = self.landing_mut(target) else { return };
        *landing |= match branch {
            Branch::Call => Landing::CALL,
            Branch::Jump | Branch::ConditionalJump if from_inside => Landing::JUMP | Landing::JUMP_FROM_INSIDE,
            Branch::ConditionalJump => Landing::JUMP | Landing::CONDITIONAL_FROM_OUTSIDE,
            Branch::Jump => Landing::JUMP,
            Branch::Address => Landing::NAMED,
        };
    }
}

/// Where functions end that only a symbol knows of, with the padding behind them. What follows may be data: GHC has a table in front
/// of each function, whose words look like jumps.
fn symbol_ends(ranges: &[CodeRange<'_>], functions: &FunctionTable, unwind: &UnwindTable) -> Vec<u64> {
    let functions = functions.functions();
    let ends = functions.iter().enumerate().filter_map(|(index, function)| {
        let is_known_otherwise = !function.sources.has_symbol() || unwind.fde_at(function.start).is_some();
        let end = function.start.0.checked_add(function.size).filter(|_| function.size > 0 && !is_known_otherwise)?;
        let next = functions.get(index + 1).map_or(u64::MAX, |next| next.start.0);
        let range = ranges.iter().find(|range| (range.start.0..range.end().0).contains(&function.start.0))?;
        let behind = range.bytes_from(ImageOffset(end)).filter(|_| end <= next)?;
        let padding: usize = padding_lengths(behind).sum();
        Some(end + padding as u64).filter(|end| *end < next)
    });
    ends.collect()
}
