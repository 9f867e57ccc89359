//! A verdict for every function.

use ada_event::ImageOffset;
use ada_image::Function;

use crate::arch::{self, Relays, Site};
use crate::code_scan::PieceEnd;
use crate::go_rules::GoRules;
use crate::image_code::ImageCode;
use crate::leaving::Leaving;
use crate::relay::Relay;
use crate::{EntryOnlyReason, PatchPlan, SkipReason, StubKind, Verdict};

/// Functions after which the stack is not what it was, by the names that C and POSIX give them; found wherever an image
/// has one of its own.
fn stack_change(name: &str) -> Option<StubKind> {
    match name {
        "longjmp" | "_longjmp" | "siglongjmp" | "__longjmp_chk" => Some(StubKind::LongJump),
        "swapcontext" => Some(StubKind::SwapContext),
        "setcontext" => Some(StubKind::SetContext),
        _ => None,
    }
}

/// Whoever copies code or sums it up reads these bytes of it.
const COPIED_FROM_START: u64 = 16;

/// Plans the functions of one image.
pub struct Planner<'a> {
    /// The image's code.
    pub code: ImageCode<'a>,
    /// The padding that plans use.
    pub relays: Relays,
    pub(crate) go: GoRules,
}

impl<'a> Planner<'a> {
    /// For the functions of an image.
    pub fn new(code: ImageCode<'a>) -> Self {
        Self { code, relays: Relays::default(), go: GoRules::of(&code) }
    }

    /// The verdict on function `index`, and the plan unless it is skipped.
    pub fn plan(&mut self, index: usize) -> (Verdict, Option<PatchPlan>) {
        match self.decide(index) {
            Err(reason) => (Verdict::Skipped(reason), None),
            Ok((entry_only, plan)) => (entry_only.map_or(Verdict::Hooked, Verdict::EntryOnly), Some(plan)),
        }
    }

    /// A plan for function `index`, which has no room for a jump: with a short one, which needs a relay.
    pub(crate) fn plan_short(&self, index: usize) -> Option<PatchPlan> {
        let function = &self.code.functions.functions()[index];
        let bytes = self.code.bytes_from(function.start)?;
        if !matches!(self.entry_only(index, function, bytes), Ok(None)) || self.starts_own_loop(function.start) {
            return None;
        }
        Some(self.plan_at(Site::short(&self.code, index, bytes)?, StubKind::Full))
    }

    fn decide(&mut self, index: usize) -> Result<(Option<EntryOnlyReason>, PatchPlan), SkipReason> {
        let function = &self.code.functions.functions()[index];
        let bytes = self.code.bytes_from(function.start).ok_or(SkipReason::Undecodable)?;
        let entry_only = self.entry_only(index, function, bytes)?;
        let site = Site::find(&self.code, &mut self.relays, index, bytes)?;
        let kind = match entry_only {
            None => StubKind::Full,
            Some(_) => self.stack_change(index).unwrap_or(StubKind::EntryOnly),
        };
        let plan = PatchPlan { starts_own_loop: self.starts_own_loop(function.start), ..self.plan_at(site, kind) };
        if plan.starts_own_loop && entry_only.is_some() {
            return Err(SkipReason::OwnEntryLoop);
        }
        Ok((entry_only, plan))
    }

    fn entry_only(
        &self,
        index: usize,
        function: &Function,
        bytes: &[u8],
    ) -> Result<Option<EntryOnlyReason>, SkipReason> {
        let landing = self.code.scan.landing(function.start);
        let fde = self.code.unwind.fde_at(function.start);
        if fde.is_some_and(|fde| self.code.scan.use_of(self.code.unwind, fde).uses_gs) {
            return Err(SkipReason::GsInUse);
        }
        let end = fde.map_or(0, |fde| fde.end.0).max(function.start.0 + function.size);
        if self.code.scan.is_restartable(&(function.start.0..end)) {
            return Err(SkipReason::Restartable);
        }
        // Constants and tables of V8's built-in functions lie behind their code.
        if self.code.scan.is_read(function.start.0..function.start.0 + function.size.clamp(1, COPIED_FROM_START)) {
            return Err(SkipReason::ReadAsData);
        }
        if arch::is_import_stub(bytes, function.size) {
            return Err(SkipReason::ImportStub);
        }
        if self.code.scan.is_fenced(function.start) {
            return Err(SkipReason::Fenced);
        }
        if function.is_cold_part() {
            return Err(SkipReason::ColdPart);
        }
        if fde.is_some_and(|fde| fde.signal_frame) || arch::is_signal_return(bytes) {
            return Err(SkipReason::SignalTrampoline);
        }
        if fde.is_some() {
            let row = self.code.unwind.row_at(function.start);
            if row.is_some_and(|row| !row.is_function_entry()) {
                // Nothing may be assumed of a part that somebody jumps into, but a named function that only has words
                // on top of its return address can be recorded.
                let is_pushed_to = row.is_some_and(arch::has_pushed_arguments) && function.sources.has_symbol();
                if !is_pushed_to || landing.any() {
                    return Err(SkipReason::OddFirstRow);
                }
                return Ok(Some(EntryOnlyReason::PushedArguments));
            }
        }
        if let Some(reason) = self.go.skip_reason(function.start.0) {
            return Err(reason);
        }
        // Each turn would take two jumps more. Who spins has the time.
        let code = bytes.get(..usize::try_from(function.size).unwrap_or(usize::MAX)).unwrap_or(bytes);
        if self.starts_own_loop(function.start) && !arch::spins(code) {
            return Err(SkipReason::OwnEntryLoop);
        }
        // A part that only holds landing pads starts with a nop, because an offset of 0 means that there is none.
        let behind_nop = ImageOffset(function.start.0.wrapping_add(arch::nop_bytes(bytes) as u64));
        let starts_with_pad = landing.is_pad() || self.code.scan.landing(behind_nop).is_pad();
        let is_part = landing.only_branched_to() || self.is_fallen_into(function.start);
        if starts_with_pad || is_part && !function.sources.has_symbol() {
            return Err(SkipReason::ColdPart);
        }
        Ok(self.stack_change(index).map(|_| EntryOnlyReason::ChangesStack))
    }

    /// Whether a function jumps back to its own start, where its calls are seen. Those of Go do so before that.
    fn starts_own_loop(&self, start: ImageOffset) -> bool {
        let has_check = |bytes: &[u8]| arch::stack_check(&self.code, start, bytes) > 0;
        self.code.scan.landing(start).jumped_to_from_inside() && !self.code.bytes_from(start).is_some_and(has_check)
    }

    /// Whether the code before runs on into `start`: assembler files begin a new unwind entry where the frame changes
    /// in a way that they do not notice otherwise, as in the middle of setcontext.
    fn is_fallen_into(&self, start: ImageOffset) -> bool {
        let before = start.0.checked_sub(1).and_then(|before| self.code.unwind.fde_at(ImageOffset(before)));
        before.is_some_and(|before| {
            before.end == start && self.code.scan.use_of(self.code.unwind, before).end == PieceEnd::FallsThrough
        })
    }

    fn stack_change(&self, index: usize) -> Option<StubKind> {
        self.code.functions.names(index).find_map(stack_change)
    }

    fn plan_at(&self, site: Site, kind: StubKind) -> PatchPlan {
        let Site { at, displaced, relay } = site;
        let relay = relay.map(|at| Relay { at, evicted: None });
        let flags_are_dead = self.code.bytes_from(at).is_some_and(arch::flags_are_dead);
        let leaving = Leaving::default();
        PatchPlan { at, kind, displaced, relay, flags_are_dead, leaving, starts_own_loop: false }
    }
}
