//! The stacks of Go's goroutines, as the runtime itself has them.
//!
//! A goroutine says where its stack is, and the runtime moves it: it copies the stack to a larger or smaller one, and gives the old
//! one to whoever asks next. So such a stack is known by its goroutine, and its frames move along.

use ada_ring::ShadowFrame;
use ada_ring::state::KnownStack;
use core::ops::Range;
use core::sync::atomic::Ordering;

use crate::arch::thread_pointer;
use crate::memory::{process_block, shadow_base, shadow_end};
use crate::syscall;

/// Where a thread has its current goroutine, from its thread pointer.
const CURRENT: u64 = 8;
/// Words of a goroutine: the ends of its stack, four others, and its thread; that begins with the goroutine that the runtime's own
/// work on the thread counts as. All versions since 1.17 have them.
const WORDS: usize = 7;

/// What runs on a thread: a goroutine, or the runtime's own work.
pub(crate) struct Running {
    pub(crate) goroutine: u64,
    pub(crate) stack: Range<u64>,
    /// It is the runtime's work, on the thread's own stack.
    pub(crate) is_runtimes: bool,
}

/// Whether code of Go is hooked.
pub(crate) fn exist() -> bool {
    process_block().goroutines.load(Ordering::Relaxed) != 0
}

/// What runs on the calling thread, if an address is on its stack.
pub(crate) fn running_at(address: u64) -> Option<Running> {
    if !exist() {
        return None;
    }
    let goroutine = syscall::read_word(thread_pointer().checked_sub(CURRENT)?)?;
    let mut words = [0; WORDS];
    if goroutine == 0 || !syscall::read_words(goroutine, &mut words) {
        return None;
    }
    let [low, high, _, _, _, _, thread] = words;
    let is_runtimes = syscall::read_word(thread) == Some(goroutine);
    Some(Running { goroutine, stack: low..high, is_runtimes }).filter(|it| it.stack.contains(&address))
}

/// Where a goroutine has its stack by now; nothing where it has none any more.
pub(crate) fn stack_of(goroutine: u64) -> Option<Range<u64>> {
    let mut words = [0; 2];
    let is_readable = syscall::read_words(goroutine, &mut words);
    Some(words[0]..words[1]).filter(|stack| is_readable && stack.start < stack.end)
}

/// Moves a stack's frames along with it. `top` is the newest of them.
///
/// # Safety
/// No thread uses the stack's shadow stack.
pub(crate) unsafe fn move_frames(stack: &KnownStack, top: u64, to: &Range<u64>) {
    let distance = to.end.wrapping_sub(stack.high);
    let (base, end) = (shadow_base(stack.number as usize), shadow_end(stack.number as usize));
    if distance == 0 || !(base as u64..end).contains(&top) {
        return;
    }
    let count = (top - base as u64) as usize / ShadowFrame::SIZE;
    for number in 1..=count {
        // SAFETY: a frame between the sentinel and the newest one, and nobody else's for now. Slots are kept as complements.
        unsafe {
            let frame = base.add(number);
            (*frame).slot_complement = (*frame).slot_complement.wrapping_sub(distance);
        }
    }
}
