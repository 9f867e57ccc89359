//! What each thread may read without asking the kernel: its own stack, and what lasts. See [`crate::lasting`].

use ada_ring::ThreadState;
use ada_ring::lasting::LASTING_RANGES;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::arch::number::PROCESS_VM_READV;
use crate::arch::thread_pointer;
use crate::config::{Item, get};
use crate::lasting::ADA_LASTING;
use crate::memory::{pool, process_block, state as state_at, states};
use crate::stretch::is_one_stack;
use crate::syscall;

const PAGE: u64 = 4096;
/// How far behind the thread pointer its stack ends at most: the C libraries have nothing but the thread's descriptor there.
const DESCRIPTOR: u64 = 16 << 10;
/// In how many words of the descriptor its stack is looked for.
const DESCRIPTOR_WORDS: usize = 288;

/// What a thread's state has at first, and after a fork.
///
/// # Safety
/// The caller owns the state.
pub(crate) unsafe fn prepare(state: *mut ThreadState, process: u32) {
    let is_watched = process_block().faults_are_watched.load(Ordering::Relaxed) != 0;
    let list = if is_watched { &ADA_LASTING[LASTING_RANGES] } else { &ADA_LASTING[0] };
    // SAFETY: the caller's promise.
    unsafe {
        (*state).own_stack_high = 0;
        (*state).own_stack_low = 0;
        (*state).goroutine_stack_high = 0;
        (*state).runtime_pages.fill(0);
        (*state).lasting = list.as_ptr() as u64;
        (*state).probes = pool().orders().probes.as_ptr() as u64;
        (*state).contention = pool().control().contention.as_ptr() as u64;
        (*state).errno_distance = process_block().errno_distance.load(Ordering::Relaxed);
        (*state).read_as = if is_watched || !syscall::may(PROCESS_VM_READV) { 0 } else { process.into() };
    }
}

/// Has the agent read everything from now on, by system calls or not at all.
pub(crate) fn give_up() {
    for number in 1..states() {
        let state = state_at(number);
        // SAFETY: states are mapped, and stubs read each of these words once for a text.
        unsafe {
            AtomicU64::from_ptr(&raw mut (*state).own_stack_high).store(0, Ordering::Relaxed);
            let end = ADA_LASTING[LASTING_RANGES].as_ptr() as u64;
            AtomicU64::from_ptr(&raw mut (*state).lasting).store(end, Ordering::Relaxed);
        }
    }
    give_up_reads();
}

/// Has no stub make a system call from now on.
pub(crate) fn give_up_reads() {
    for number in 1..states() {
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(&raw mut (*state_at(number)).read_as).store(0, Ordering::Relaxed) };
    }
}

/// Learns where the thread's own stack is, if it is on that. Asked for once in a chunk of values: what it takes is nothing beside
/// them, and a stack that has grown is known after some hundred calls.
///
/// # Safety
/// `state` is the calling thread's own, with signals blocked.
pub(crate) unsafe fn learn_stack(state: *mut ThreadState) {
    if process_block().faults_are_watched.load(Ordering::Relaxed) != 0 {
        return;
    }
    let Some(stack_pointer) = syscall::program_stack() else { return };
    // SAFETY: the caller's promise.
    unsafe {
        let (low, high) = ((*state).own_stack_low, (*state).own_stack_high);
        if (low..high).contains(&stack_pointer) {
            return;
        }
        let found = described(thread_pointer(), stack_pointer).or_else(|| kernels(stack_pointer));
        // A thread has one stack, which only grows downwards.
        if let Some(Range { start, end }) = found.filter(|found| high == 0 || high == found.end) {
            AtomicU64::from_ptr(&raw mut (*state).own_stack_low).store(start, Ordering::Release);
            AtomicU64::from_ptr(&raw mut (*state).own_stack_high).store(end, Ordering::Release);
        }
    }
}

/// The part of a thread's stack below its descriptor, as the C library describes it there: glibc and musl keep address and length
/// of what they, or the program, have allocated, in two words one after the other.
fn described(descriptor: u64, stack_pointer: u64) -> Option<Range<u64>> {
    let mut words = [0; DESCRIPTOR_WORDS];
    let in_page = ((PAGE - descriptor % PAGE) / 8).min(DESCRIPTOR_WORDS as u64) as usize;
    // The second page may not be there.
    let (first, second) = words.split_at_mut(in_page);
    syscall::read_words(descriptor, first).then_some(())?;
    if !second.is_empty() {
        syscall::read_words(descriptor + 8 * in_page as u64, second);
    }
    find_stack(&words, descriptor, stack_pointer)
}

/// The same for a thread of which nothing is known yet, from what of its descriptor is in its first page: whoever is known by the
/// descriptor's first word has just had that read, and no system call is made.
pub(crate) fn told_by_descriptor(stack_pointer: u64) -> Option<Range<u64>> {
    let descriptor = thread_pointer();
    if get(Item::OwnerByWord) == 0 || !descriptor.is_multiple_of(8) {
        return None;
    }
    let in_page = ((PAGE - descriptor % PAGE) / 8).min(DESCRIPTOR_WORDS as u64) as usize;
    let mut words = [0; DESCRIPTOR_WORDS];
    for (at, word) in words[..in_page].iter_mut().enumerate() {
        // SAFETY: in the same page as the first word, which is there.
        *word = unsafe { (descriptor as *const u64).add(at).read_volatile() };
    }
    find_stack(&words[..in_page], descriptor, stack_pointer)
}

fn find_stack(words: &[u64], descriptor: u64, stack_pointer: u64) -> Option<Range<u64>> {
    let is_stack = |&[start, length]: &[u64; 2]| {
        let end = start.checked_add(length).filter(|_| start % PAGE == 0 && length % PAGE == 0);
        start <= stack_pointer
            && stack_pointer < descriptor
            && end.is_some_and(|end| descriptor < end && end - descriptor <= DESCRIPTOR)
    };
    let found = words.array_windows().find(|pair| is_stack(pair))?;
    Some(found[0]..descriptor & !7)
}

/// The part in use of the stack that the kernel has made for the program. The kernel keeps other mappings far from where it grows to,
/// so that what can be read all the way is that stack.
fn kernels(stack_pointer: u64) -> Option<Range<u64>> {
    let end = get(Item::StackEnd);
    (stack_pointer < end && is_one_stack(stack_pointer, end - 1)).then_some(stack_pointer & !(PAGE - 1)..end)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn a_stack_is_what_the_descriptor_says_if_it_is_about_this_one() {
        let (start, length) = (0x7f00_0000_0000, 0x80_0000);
        let descriptor = start + length - 0x900;
        let stack_pointer = descriptor - 0x3000;
        let words = [1, start, length, 4096, 0];
        assert_eq!(find_stack(&words, descriptor, stack_pointer), Some(start..descriptor));
        // Elsewhere; a descriptor that is not at the end; what is no page; and a length that has no end.
        assert_eq!(find_stack(&words, descriptor, start - 8), None);
        assert_eq!(find_stack(&words, descriptor, descriptor + 8), None);
        assert_eq!(find_stack(&words, descriptor - 0x1_0000, stack_pointer - 0x1_0000), None);
        assert_eq!(find_stack(&[start + 8, length], descriptor, stack_pointer), None);
        assert_eq!(find_stack(&[start, !0xfff], descriptor, stack_pointer), None);
    }

    #[test]
    fn a_thread_finds_its_own_stack() {
        std::thread::spawn(|| {
            let here = 0_u64;
            let here = &raw const here as u64;
            let found = described(thread_pointer(), here).unwrap();
            assert!(found.contains(&here) && found.end - found.start >= 1 << 20, "{found:x?}");
        })
        .join()
        .unwrap();
    }
}
