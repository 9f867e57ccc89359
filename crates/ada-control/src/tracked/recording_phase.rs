//! The phase of a recording.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// In their order. A recording that is not attached has only the first and the last.
#[repr(u8)]
enum Phase {
    /// Programs and libraries are hooked as they are loaded.
    Hooking,
    /// Nothing more is hooked, and existing hooks are about to be removed.
    Detaching,
    /// All hooks are removed.
    Detached,
    /// Nothing more is recorded.
    Ended,
}

/// The phase of a recording, which is only ever left for a later one.
///
/// The end of the first program is beside the phases: it can come during each of them, and its children go on.
pub(crate) struct RecordingPhase {
    phase: AtomicU8,
    first_ended: AtomicBool,
    has_enough: AtomicBool,
}

impl Default for RecordingPhase {
    fn default() -> Self {
        Self {
            phase: AtomicU8::new(Phase::Hooking as u8),
            first_ended: AtomicBool::new(false),
            has_enough: AtomicBool::new(false),
        }
    }
}

impl RecordingPhase {
    /// The first program has ended.
    pub(crate) fn first_has_ended(&self) {
        // Release pairs with Acquire in `is_first_over`: what was learnt of its end is seen too.
        self.first_ended.store(true, Ordering::Release);
    }

    /// As much was written as there may be.
    pub(crate) fn set_enough(&self) {
        self.has_enough.store(true, Ordering::Relaxed);
    }

    /// Whether it was.
    pub(crate) fn has_enough(&self) -> bool {
        self.has_enough.load(Ordering::Relaxed)
    }

    /// From now on nothing is hooked.
    pub(crate) fn begin_detaching(&self) {
        self.advance(Phase::Detaching);
    }

    /// All hooks are removed.
    pub(crate) fn finish_detaching(&self) {
        self.advance(Phase::Detached);
    }

    /// The last record has been read.
    pub(crate) fn end(&self) {
        self.advance(Phase::Ended);
    }

    /// Whether the first program has ended.
    pub(crate) fn is_first_over(&self) -> bool {
        self.first_ended.load(Ordering::Acquire)
    }

    /// Whether programs and libraries are still to be hooked.
    pub(crate) fn is_hooking(&self) -> bool {
        !self.has_reached(Phase::Detaching)
    }

    /// Whether all hooks are removed, or nobody reads what they record.
    pub(crate) fn is_detached(&self) -> bool {
        self.has_reached(Phase::Detached)
    }

    /// Whether nothing more is recorded.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_reached(Phase::Ended)
    }

    /// SeqCst, here and in `has_reached`: whoever follows an exec counts itself and then asks for the phase, and whoever
    /// detaches sets the phase and then asks for the count. One of the two sees the other.
    fn advance(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Ordering::SeqCst);
    }

    fn has_reached(&self, phase: Phase) -> bool {
        self.phase.load(Ordering::SeqCst) >= phase as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_never_left_for_an_earlier_one() {
        let phase = RecordingPhase::default();
        assert!(phase.is_hooking() && !phase.is_detached() && !phase.has_ended());
        phase.end();
        // Somebody asks to detach while the drain has just come to its end.
        phase.begin_detaching();
        phase.finish_detaching();
        assert!(!phase.is_hooking() && phase.is_detached() && phase.has_ended());
    }

    #[test]
    fn the_first_program_can_end_in_each_phase() {
        let phase = RecordingPhase::default();
        phase.first_has_ended();
        assert!(phase.is_first_over() && phase.is_hooking());
        let phase = RecordingPhase::default();
        phase.begin_detaching();
        assert!(!phase.is_first_over());
        phase.first_has_ended();
        assert!(phase.is_first_over() && !phase.is_hooking() && !phase.is_detached());
    }
}
