//! A verdict for every function.

use ada_event::ImageOffset;
use ada_image::{Cfa, CodeRange, Function, FunctionTable, Row, UnwindTable};

use crate::displaced::{Displaced, JUMP_BYTES};
use crate::{CodeScan, EntryOnlyReason, SkipReason, StubKind, Verdict};

/// Functions that walk or unwind the stack by its return addresses. They are the unwinder's interface, fixed by the
/// Itanium C++ ABI, and found wherever an image has one of its own.
const UNWINDERS: [&str; 5] = [
    "_Unwind_RaiseException",
    "_Unwind_Resume",
    "_Unwind_Resume_or_Rethrow",
    "_Unwind_ForcedUnwind",
    "_Unwind_Backtrace",
];

/// `mov rax, 15; syscall`: the kernel returns here from a signal handler.
const SIGRETURN: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
const NOP: u8 = 0x90;
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

/// How one function is patched.
#[derive(Clone, Debug)]
pub struct PatchPlan {
    /// Where the jump goes: the function's start, or behind its `endbr64`.
    pub at: ImageOffset,
    /// What kind of stub the jump leads to.
    pub kind: StubKind,
    /// What the jump overwrites.
    pub displaced: Displaced,
}

impl PatchPlan {
    /// A plan for code that is not part of a planned image, given by its address and bytes in a process.
    pub fn at_runtime(address: u64, code: &[u8], kind: StubKind) -> Result<Self, SkipReason> {
        let skip = if code.starts_with(&ENDBR64) { ENDBR64.len() } else { 0 };
        let at = address + skip as u64;
        Ok(Self { at: ImageOffset(at), kind, displaced: Displaced::decode(&code[skip..], at)? })
    }
}

/// Plans the functions of one image.
pub struct Planner<'a> {
    /// The image's code.
    pub ranges: &'a [CodeRange<'a>],
    /// Its functions.
    pub functions: &'a FunctionTable,
    /// Its unwind table.
    pub unwind: &'a UnwindTable,
    /// What decoding it showed.
    pub scan: &'a CodeScan,
    /// Frames of this image change threads, so no return is caught.
    pub moving_frames: bool,
}

impl Planner<'_> {
    /// The verdict on function `index`, and the plan unless it is skipped.
    pub fn plan(&self, index: usize) -> (Verdict, Option<PatchPlan>) {
        match self.decide(index) {
            Err(reason) => (Verdict::Skipped(reason), None),
            Ok((entry_only, plan)) => (entry_only.map_or(Verdict::Hooked, Verdict::EntryOnly), Some(plan)),
        }
    }

    fn decide(&self, index: usize) -> Result<(Option<EntryOnlyReason>, PatchPlan), SkipReason> {
        let function = &self.functions.functions()[index];
        let bytes = self.bytes_from(function.start).ok_or(SkipReason::Undecodable)?;
        let entry_only = self.entry_only(index, function, bytes)?;
        let (at, displaced) = self.displace(index, function.start, bytes)?;
        let kind = match entry_only {
            None => StubKind::Full,
            Some(EntryOnlyReason::Unwinder) => StubKind::Unwinder,
            Some(_) => StubKind::EntryOnly,
        };
        Ok((entry_only, PatchPlan { at, kind, displaced }))
    }

    fn entry_only(
        &self,
        index: usize,
        function: &Function,
        bytes: &[u8],
    ) -> Result<Option<EntryOnlyReason>, SkipReason> {
        let landing = self.scan.landing(function.start);
        if function.is_cold_part() {
            return Err(SkipReason::ColdPart);
        }
        let fde = self.unwind.fde_at(function.start);
        if let Some(fde) = fde {
            if fde.signal_frame {
                return Err(SkipReason::SignalTrampoline);
            }
            let row = self.unwind.row_at(function.start);
            if row.is_some_and(|row| !row.is_function_entry()) {
                // Nothing may be assumed of a part that somebody jumps into, but a named function that only has words
                // on top of its return address can be recorded.
                let is_pushed_to = row.is_some_and(has_pushed_arguments) && function.sources.has_symbol();
                if !is_pushed_to || landing.any() {
                    return Err(SkipReason::OddFirstRow);
                }
                return Ok(Some(EntryOnlyReason::PushedArguments));
            }
        } else if bytes.starts_with(&SIGRETURN) {
            return Err(SkipReason::SignalTrampoline);
        }
        if landing.jumped_to_from_inside() {
            return Err(SkipReason::OwnEntryLoop);
        }
        // A part that only holds landing pads starts with a nop, because an offset of 0 means that there is none.
        let next = self.scan.landing(ImageOffset(function.start.0.wrapping_add(1)));
        let starts_with_pad = landing.is_pad() || bytes.first() == Some(&NOP) && next.is_pad();
        if starts_with_pad || landing.only_branched_to() && !function.sources.has_symbol() {
            return Err(SkipReason::ColdPart);
        }
        if UNWINDERS.iter().any(|name| self.functions.has_name(index, name)) {
            return Ok(Some(EntryOnlyReason::Unwinder));
        }
        if self.moving_frames {
            return Ok(Some(EntryOnlyReason::MovingFrames));
        }
        let Some(fde) = fde else { return Ok(Some(EntryOnlyReason::NoUnwindInfo)) };
        let slot_use = self.scan.slot_use(self.unwind, fde);
        Ok(if slot_use.pops_arguments {
            Some(EntryOnlyReason::PopsArguments)
        } else if slot_use.reads {
            Some(EntryOnlyReason::ReadsReturnSlot)
        } else {
            None
        })
    }

    /// Where to patch: behind an `endbr64`, so that indirect branches still find it, or over it where there is no
    /// room behind.
    fn displace(&self, index: usize, start: ImageOffset, bytes: &[u8]) -> Result<(ImageOffset, Displaced), SkipReason> {
        if bytes.starts_with(&ENDBR64) {
            let behind = ImageOffset(start.0 + ENDBR64.len() as u64);
            if let Ok(displaced) = self.displace_at(index, behind, &bytes[ENDBR64.len()..])
                && !self.scan.landing(behind).any()
            {
                return Ok((behind, displaced));
            }
        }
        Ok((start, self.displace_at(index, start, bytes)?))
    }

    fn displace_at(&self, index: usize, at: ImageOffset, bytes: &[u8]) -> Result<Displaced, SkipReason> {
        let patched = (1..JUMP_BYTES as u64).map(|byte| ImageOffset(at.0 + byte));
        if patched.into_iter().any(|byte| self.scan.landing(byte).any()) {
            return Err(SkipReason::BranchIntoPatch);
        }
        let next = self.functions.functions().get(index + 1).map_or(u64::MAX, |next| next.start.0);
        if next < at.0 + JUMP_BYTES as u64 {
            return Err(SkipReason::TooShort);
        }
        Displaced::decode(bytes, at.0)
    }

    fn bytes_from(&self, start: ImageOffset) -> Option<&[u8]> {
        self.ranges.iter().find_map(|range| range.bytes_from(start))
    }
}

fn has_pushed_arguments(row: &Row) -> bool {
    matches!(row.cfa, Cfa::Rsp(offset) if offset > 8) && !row.saves_registers && row.return_address_at_cfa_minus_8
}
