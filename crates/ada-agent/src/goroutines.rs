//! The stacks of Go's goroutines, as the runtime itself has them.
//!
//! A goroutine says where its stack is, and the runtime moves it: it copies the stack to a larger or smaller one, and gives the old
//! one to whoever asks next. So such a stack is known by its goroutine, and its frames move along.

use ada_ring::state::KnownStack;
use ada_ring::{ShadowFrame, ThreadState};
use core::ops::Range;
use core::sync::atomic::Ordering;

use crate::arch::thread_pointer;
use crate::memory::{process_block, shadow_base, shadow_end};
use crate::{go_memory, syscall};

/// Where a thread has its current goroutine, from its thread pointer.
const CURRENT: u64 = 8;
/// Words of a goroutine: the ends of its stack, four others, and its thread; that begins with the goroutine that the runtime's own
/// work on the thread counts as. All versions since 1.17 have them.
const WORDS: usize = 7;
/// As many of its bytes as are read: see `plan/probes/go.rs` in ada-control.
const HEAD_END: u64 = 0xa8;

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
///
/// # Safety
/// `state` is the calling thread's own, with signals blocked.
pub(crate) unsafe fn running_at(state: *mut ThreadState, address: u64) -> Option<Running> {
    if !exist() {
        return None;
    }
    let current = thread_pointer().checked_sub(CURRENT)?;
    let goroutine = syscall::read_word(current)?;
    let [low, high, _, _, _, _, thread] = words_of(goroutine)?;
    let runtimes = syscall::read_word(thread);
    let is_runtimes = runtimes == Some(goroutine);
    let running =
        Some(Running { goroutine, stack: low..high, is_runtimes }).filter(|it| it.stack.contains(&address))?;
    if let Some(runtimes) = runtimes {
        let all = [current..current + 8, thread..thread + 8, goroutine..goroutine + HEAD_END];
        // SAFETY: the caller's promise; the address is on the stack.
        let is_known = all.iter().all(|memory| unsafe { go_memory::holds(state, address, memory) });
        if !is_known && words_of(runtimes).is_some_and(|words| words[WORDS - 1] == thread) {
            // SAFETY: the caller's promise.
            all.iter().for_each(|memory| unsafe { go_memory::learn(state, memory) });
        }
    }
    Some(running)
}

fn words_of(goroutine: u64) -> Option<[u64; WORDS]> {
    let mut words = [0; WORDS];
    syscall::read_words(goroutine, &mut words).then_some(words)
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
