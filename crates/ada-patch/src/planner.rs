//! A verdict for every function.

use std::ops::Range;

use ada_event::ImageOffset;
use ada_image::{Cfa, CodeRange, Function, FunctionTable, Row, UnwindTable};

use crate::x86_64::displaced::{Displaced, JUMP_BYTES, SHORT_JUMP_BYTES};
use crate::x86_64::scan::PieceEnd;
use crate::{CodeScan, EntryOnlyReason, Relays, SkipReason, StubKind, Verdict};

/// Functions after which the stack is not what it was, by the names that the Itanium C++ ABI, C and POSIX give them;
/// found wherever an image has one of its own.
fn stack_change(name: &str) -> Option<StubKind> {
    match name {
        "_Unwind_RaiseException" | "_Unwind_Resume" | "_Unwind_Resume_or_Rethrow" | "_Unwind_ForcedUnwind" => {
            Some(StubKind::Unwinder)
        }
        "_Unwind_Backtrace" => Some(StubKind::Walker),
        "longjmp" | "_longjmp" | "siglongjmp" | "__longjmp_chk" => Some(StubKind::LongJump),
        "swapcontext" => Some(StubKind::SwapContext),
        "setcontext" => Some(StubKind::SetContext),
        _ => None,
    }
}

/// `mov rax, 15; syscall`: the kernel returns here from a signal handler.
const SIGRETURN: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
const NOP: u8 = 0x90;
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

/// In a stored plan, beside the kind.
const FLAGS_ARE_DEAD: u8 = 1 << 7;

/// How one function is patched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchPlan {
    /// Where the jump goes: the function's start, or behind its `endbr64`.
    pub at: ImageOffset,
    /// What kind of stub the jump leads to.
    pub kind: StubKind,
    /// What the jump overwrites.
    pub displaced: Displaced,
    /// Padding nearby that takes the jump to the stub, where only a short jump, to there, has room in the function.
    pub relay: Option<ImageOffset>,
    /// Whether the function provably does not look at its caller's flags.
    pub flags_are_dead: bool,
}

impl PatchPlan {
    /// A plan for code that is not part of a planned image, given by its address and bytes in a process.
    pub fn at_runtime(address: u64, code: &[u8], kind: StubKind) -> Result<Self, SkipReason> {
        let skip = if code.starts_with(&ENDBR64) { ENDBR64.len() } else { 0 };
        let at = address + skip as u64;
        let displaced = Displaced::decode(&code[skip..], at, JUMP_BYTES)?;
        Ok(Self { at: ImageOffset(at), kind, displaced, relay: None, flags_are_dead: false })
    }

    /// The bytes that change: those of the jump at the function, and those of its relay.
    pub fn patched(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let jump = if self.relay.is_some() { SHORT_JUMP_BYTES } else { JUMP_BYTES };
        let range = |start: ImageOffset, bytes: usize| start.0..start.0 + bytes as u64;
        [range(self.at, jump)].into_iter().chain(self.relay.map(|relay| range(relay, JUMP_BYTES)))
    }
}

impl PatchPlan {
    /// Bytes of a stored plan.
    pub const STORED_BYTES: usize = 8 + 1 + 2 + Displaced::STORED_BYTES;

    /// The plan as bytes, so that it need not be made again.
    pub fn store(&self) -> [u8; Self::STORED_BYTES] {
        let mut stored = [0; Self::STORED_BYTES];
        stored[..8].copy_from_slice(&self.at.0.to_le_bytes());
        stored[8] = self.kind as u8 | if self.flags_are_dead { FLAGS_ARE_DEAD } else { 0 };
        // A relay is as near as a short jump reaches; 0 is none, since no relay is at the jump itself.
        let distance = self.relay.map_or(0, |relay| relay.0.wrapping_sub(self.at.0) as i16);
        stored[9..11].copy_from_slice(&distance.to_le_bytes());
        stored[11..].copy_from_slice(&self.displaced.store());
        stored
    }

    /// The plan that was stored, or nothing where the bytes are not a plan's.
    pub fn restore(stored: &[u8; Self::STORED_BYTES]) -> Option<Self> {
        let (at, rest) = stored.split_first_chunk()?;
        let (&kind, rest) = rest.split_first()?;
        let (distance, displaced) = rest.split_first_chunk()?;
        let at = u64::from_le_bytes(*at);
        let distance = i16::from_le_bytes(*distance);
        let relay = match distance {
            0 => None,
            distance => Some(ImageOffset(at.checked_add_signed(distance.into())?)),
        };
        let flags_are_dead = kind & FLAGS_ARE_DEAD != 0;
        let kind = StubKind::ALL.into_iter().find(|known| *known as u8 == kind & !FLAGS_ARE_DEAD)?;
        let displaced = Displaced::restore(displaced.try_into().ok()?)?;
        Some(Self { at: ImageOffset(at), kind, displaced, relay, flags_are_dead })
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
    /// The padding that plans use.
    pub relays: Relays,
}

impl Planner<'_> {
    /// The verdict on function `index`, and the plan unless it is skipped.
    pub fn plan(&mut self, index: usize) -> (Verdict, Option<PatchPlan>) {
        match self.decide(index) {
            Err(reason) => (Verdict::Skipped(reason), None),
            Ok((entry_only, plan)) => (entry_only.map_or(Verdict::Hooked, Verdict::EntryOnly), Some(plan)),
        }
    }

    fn decide(&mut self, index: usize) -> Result<(Option<EntryOnlyReason>, PatchPlan), SkipReason> {
        let function = &self.functions.functions()[index];
        let bytes = bytes_from(self.ranges, function.start).ok_or(SkipReason::Undecodable)?;
        let entry_only = self.entry_only(index, function, bytes)?;
        let site = self.site(index, function.start, bytes)?;
        let kind = match entry_only {
            None => StubKind::Full,
            // What exchanges pieces of the stack for copies of others must not find trampolines in them.
            Some(EntryOnlyReason::ChangesStack) => self.stack_change(index).unwrap_or(StubKind::Walker),
            Some(_) => self.stack_change(index).unwrap_or(StubKind::EntryOnly),
        };
        let flags_are_dead = crate::x86_64::flags::are_dead(bytes);
        Ok((entry_only, PatchPlan { at: site.at, kind, displaced: site.displaced, relay: site.relay, flags_are_dead }))
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
        let is_part = landing.only_branched_to() || self.is_fallen_into(function.start);
        if starts_with_pad || is_part && !function.sources.has_symbol() {
            return Err(SkipReason::ColdPart);
        }
        match self.stack_change(index) {
            Some(StubKind::Unwinder | StubKind::Walker) => return Ok(Some(EntryOnlyReason::Unwinder)),
            Some(_) => return Ok(Some(EntryOnlyReason::ChangesStack)),
            None => {}
        }
        if self.moving_frames {
            return Ok(Some(EntryOnlyReason::MovingFrames));
        }
        let Some(fde) = fde else { return Ok(Some(EntryOnlyReason::NoUnwindInfo)) };
        let use_of = self.scan.use_of(self.unwind, fde);
        Ok(if use_of.moves_stack {
            Some(EntryOnlyReason::ChangesStack)
        } else if use_of.pops_arguments {
            Some(EntryOnlyReason::PopsArguments)
        } else if use_of.reads_slot {
            Some(EntryOnlyReason::ReadsReturnSlot)
        } else {
            None
        })
    }

    /// Whether the code before runs on into `start`: assembler files begin a new unwind entry where the frame changes
    /// in a way that they cannot tell otherwise, as in the middle of setcontext.
    fn is_fallen_into(&self, start: ImageOffset) -> bool {
        let before = start.0.checked_sub(1).and_then(|before| self.unwind.fde_at(ImageOffset(before)));
        before.is_some_and(|before| {
            before.end == start && self.scan.use_of(self.unwind, before).end == PieceEnd::FallsThrough
        })
    }

    /// Where to patch: behind an `endbr64`, so that indirect branches still find it, or over it where there is no
    /// room behind.
    fn site(&mut self, index: usize, start: ImageOffset, bytes: &[u8]) -> Result<Site, SkipReason> {
        if bytes.starts_with(&ENDBR64) {
            let behind = ImageOffset(start.0 + ENDBR64.len() as u64);
            if !self.scan.landing(behind).any()
                && let Ok(site) = self.site_at(index, behind, &bytes[ENDBR64.len()..])
            {
                return Ok(site);
            }
        }
        self.site_at(index, start, bytes)
    }

    /// A jump right here, or a short one to a relay where there is no room for more.
    fn site_at(&mut self, index: usize, at: ImageOffset, bytes: &[u8]) -> Result<Site, SkipReason> {
        let reason = match self.displace(index, at, bytes, JUMP_BYTES) {
            Ok(displaced) => return Ok(Site { at, displaced, relay: None }),
            Err(reason) => reason,
        };
        let displaced = self.displace(index, at, bytes, SHORT_JUMP_BYTES).map_err(|_| reason)?;
        let (unwind, functions) = (self.unwind, self.functions.functions());
        let relay = self.relays.take(at, self.ranges, functions, unwind, self.scan).ok_or(reason)?;
        Ok(Site { at, displaced, relay: Some(relay) })
    }

    fn displace(&self, index: usize, at: ImageOffset, bytes: &[u8], jump: usize) -> Result<Displaced, SkipReason> {
        let mut patched = (1..jump as u64).map(|byte| ImageOffset(at.0 + byte));
        if patched.any(|byte| self.scan.landing(byte).any()) {
            return Err(SkipReason::BranchIntoPatch);
        }
        let next = self.functions.functions().get(index + 1).map_or(u64::MAX, |next| next.start.0);
        if next < at.0 + jump as u64 {
            return Err(SkipReason::TooShort);
        }
        Displaced::decode(bytes, at.0, jump)
    }

    fn stack_change(&self, index: usize) -> Option<StubKind> {
        self.functions.names(index).find_map(stack_change)
    }
}

/// Where a function is patched.
struct Site {
    at: ImageOffset,
    displaced: Displaced,
    relay: Option<ImageOffset>,
}

fn bytes_from<'a>(ranges: &[CodeRange<'a>], start: ImageOffset) -> Option<&'a [u8]> {
    ranges.iter().find_map(|range| range.bytes_from(start))
}

fn has_pushed_arguments(row: &Row) -> bool {
    matches!(row.cfa, Cfa::Rsp(offset) if offset > 8) && !row.saves_registers && row.return_address_at_cfa_minus_8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// endbr64; push rbp; mov rbp, rsp; sub rsp, 16; then padding.
    const CODE: [u8; 16] =
        [0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x90, 0x90, 0x90, 0x90];

    #[test]
    fn a_plan_comes_back_as_it_was() {
        for kind in StubKind::ALL {
            let plan = PatchPlan::at_runtime(0x1000, &CODE, kind).unwrap();
            assert_eq!(plan.displaced.bytes(), &CODE[4..12]);
            for relay in [None, Some(ImageOffset(0x1004 + 2 + 127)), Some(ImageOffset(0x1004 + 2 - 128))] {
                let plan = PatchPlan { relay, ..plan.clone() };
                assert_eq!(PatchPlan::restore(&plan.store()), Some(plan));
            }
        }
    }

    #[test]
    fn bytes_that_are_no_plan_are_refused() {
        let good = PatchPlan::at_runtime(0x1000, &CODE, StubKind::Full).unwrap().store();
        // Kind, length, end, and whether the bytes can be moved.
        for (at, value) in [(8, StubKind::ALL.len() as u8), (11, 0), (11, 20), (12, 3), (13, 2)] {
            let mut stored = good;
            stored[at] = value;
            assert_eq!(PatchPlan::restore(&stored), None, "byte {at}");
        }
    }
}
