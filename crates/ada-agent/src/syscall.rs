//! System calls, made directly: libc's wrappers are hooked, and set errno.

use ada_ring::ThreadState;
use ada_ring::arch::WAIT_BYTES;
use ada_ring::state::{ProcessBlock, private};
use core::sync::atomic::Ordering;

use crate::arch::number::{
    CLOCK_GETTIME, FUTEX, GETPID, GETTID, NANOSLEEP, PROCESS_VM_READV, RT_SIGPROCMASK, SIGALTSTACK, TGKILL, TKILL,
};
use crate::arch::{call_on_stack, clock, current_state, raw};
use crate::config::{Item, get};
use crate::lasting;
use crate::memory::{agent_stack, process_block, state, state_number};
use crate::waits::Wait;

const EPERM: i64 = -1;
const ESRCH: i64 = -3;
const ENOSYS: i64 = -38;

/// Makes a system call, unless the program has forbidden itself to.
///
/// # Safety
/// Whatever the call asks of its arguments.
pub(crate) unsafe fn call(number: u64, arguments: [u64; 6]) -> i64 {
    if !may(number) {
        return ENOSYS;
    }
    // SAFETY: the caller's promise.
    unsafe { raw(number, arguments) }
}

/// Whether a system call is allowed, as far as is known: see [`crate::filters`].
pub(crate) fn may(number: u64) -> bool {
    let word = |block: &ProcessBlock| block.forbidden[number as usize / 64 % 8].load(Ordering::Relaxed);
    // In tests there is no process block.
    get(Item::Private) == 0 || word(process_block()) >> (number % 64) & 1 == 0
}

/// Whether the agent may ask whom it works for; without that, nothing new can be recorded.
pub(crate) fn may_ask_who() -> bool {
    may(GETPID) && may(GETTID)
}

/// This process.
pub fn process() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(GETPID, [0; 6]) as u32 }
}

/// This thread.
pub fn thread() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(GETTID, [0; 6]) as u32 }
}

/// Whether a process has no such thread.
pub fn is_no_thread_of(process: u32, thread: u32) -> bool {
    // SAFETY: signal 0 only asks.
    unsafe { call(TGKILL, [process.into(), thread.into(), 0, 0, 0, 0]) == ESRCH }
}

/// Whether no process has such a thread.
pub fn is_thread_gone(thread: u32) -> bool {
    // SAFETY: signal 0 only asks.
    unsafe { call(TKILL, [thread.into(), 0, 0, 0, 0, 0]) == ESRCH }
}

/// No signal is handled on this thread while this lives: for what a handler must not find half done, and must not
/// leave half done by jumping away.
pub struct SignalsBlocked {
    blocked: Blocked,
}

/// Who has blocked signals.
enum Blocked {
    /// We have; this was the mask before.
    Here { before: u64 },
    /// The stub that has called the agent on the own stack of this state.
    ByStub { state: *mut ThreadState },
    /// Somebody further up the agent's own stack, who is in the middle of something that no handler may see.
    ByCaller,
}

impl SignalsBlocked {
    /// Blocks them all.
    #[must_use]
    pub fn new() -> Self {
        let blocked = match state_on_own_stack() {
            // SAFETY: the thread's own state.
            Some(state) => unsafe {
                match core::mem::replace(&mut (*state).holds_signals, 1) {
                    0 => Blocked::ByStub { state },
                    _ => Blocked::ByCaller,
                }
            },
            None => Blocked::Here { before: exchange_signal_mask(u64::MAX) },
        };
        Self { blocked }
    }

    /// Lets signals in for as long as a sleep lasts, unless a caller has blocked them too. Handlers run on the program's
    /// stack.
    pub fn sleep(&mut self, nanoseconds: u32) {
        match &mut self.blocked {
            Blocked::Here { before } => {
                exchange_signal_mask(*before);
                sleep_nanoseconds(nanoseconds);
                *before = exchange_signal_mask(u64::MAX);
            }
            Blocked::ByStub { state } if has_room(*state) => {
                let_signals_in(*state, || sleep_nanoseconds(nanoseconds));
            }
            // A fault with signals blocked would kill the program, which may have a handler for the end of its stack.
            Blocked::ByStub { .. } | Blocked::ByCaller => sleep_nanoseconds(nanoseconds),
        }
    }
}

impl Default for SignalsBlocked {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        match self.blocked {
            Blocked::Here { before } => {
                exchange_signal_mask(before);
            }
            Blocked::ByStub { .. } => {
                if let Some(state) = state_on_own_stack() {
                    // SAFETY: the thread's own state.
                    unsafe { (*state).holds_signals = 0 };
                }
            }
            Blocked::ByCaller => {}
        }
    }
}

/// The thread's state, if the agent runs on its own stack.
fn state_on_own_stack() -> Option<*mut ThreadState> {
    let here = 0_u64;
    // In tests there are no states.
    let number = (get(Item::OwnStacks) != 0).then(|| state_number(current_state())).flatten()?;
    let stack = agent_stack(number) - private::STACK_BYTES as u64..agent_stack(number);
    stack.contains(&(&raw const here as u64)).then(|| state(number))
}

/// Whether the program's stack has room for a wait. What the stub has pushed there is at most a word away.
fn has_room(state: *mut ThreadState) -> bool {
    const PAGE: u64 = 4096;
    // SAFETY: the thread's own state.
    let end = unsafe { (*state).program_stack };
    let page = (end - WAIT_BYTES) & !(PAGE - 1);
    page == end & !(PAGE - 1) || readable_pages(page, 1) == 1
}

/// Waits on the program's stack, with signals let in that the stub has blocked. The thread is on its state's own stack.
fn let_signals_in(state: *mut ThreadState, wait: impl Fn()) {
    struct Pause<W> {
        state: *mut ThreadState,
        note: Wait,
        mask: u64,
        wait: W,
    }
    extern "C" fn pause<W: Fn()>(pause: u64) {
        // SAFETY: lives through the call below.
        let Pause { state, note, mask, wait } = unsafe { &*(pause as *const Pause<W>) };
        let wait = || {
            exchange_signal_mask(*mask);
            wait();
            exchange_signal_mask(u64::MAX);
        };
        // SAFETY: the thread's own state.
        unsafe { note.during(*state, wait) };
    }
    fn of<W: Fn()>(_: &Pause<W>) -> extern "C" fn(u64) {
        pause::<W>
    }
    // SAFETY: the thread's own state; the stub has put both masks where its stack ends, and uses nothing below.
    unsafe {
        let program_stack = (*state).program_stack;
        let mask = *(program_stack as *const u64).add(1);
        let pause = Pause { state, note: Wait::of(state), mask, wait };
        call_on_stack(program_stack, of(&pause), &raw const pause as u64);
    }
}

fn exchange_signal_mask(mask: u64) -> u64 {
    const SET_MASK: u64 = 2;
    let mut before = 0_u64;
    // SAFETY: both masks live through the call.
    unsafe { call(RT_SIGPROCMASK, [SET_MASK, &raw const mask as u64, &raw mut before as u64, 8, 0, 0]) };
    before
}

/// Sleeps, or less long where a signal comes.
pub fn sleep_nanoseconds(nanoseconds: u32) {
    let time = [0_u64, nanoseconds.into()];
    // SAFETY: `time` is a timespec that lives through the call.
    if unsafe { call(NANOSLEEP, [time.as_ptr() as u64, 0, 0, 0, 0, 0]) } == ENOSYS {
        spin(nanoseconds.into());
    }
}

/// Where sleeping is forbidden. No counter is slower than one tick a nanosecond.
fn spin(nanoseconds: u64) {
    let start = clock();
    while clock().wrapping_sub(start) < nanoseconds {
        core::hint::spin_loop();
    }
}

/// Nanoseconds on a clock that never goes backwards.
pub fn now() -> u64 {
    const MONOTONIC: u64 = 1;
    let mut time = [0_u64; 2];
    // SAFETY: `time` is a timespec that lives through the call.
    if unsafe { call(CLOCK_GETTIME, [MONOTONIC, time.as_mut_ptr() as u64, 0, 0, 0, 0]) } == ENOSYS {
        // Some counter has to do; a second of this one is one or several.
        return clock() / 4;
    }
    time[0] * 1_000_000_000 + time[1]
}

/// How long a wait is whose end cannot be heard of, in nanoseconds.
const SHORT_WAIT: u64 = 100_000;

/// Sleeps while the word holds `value`, at most for the time.
pub fn futex_wait(word: &core::sync::atomic::AtomicU32, value: u32, nanoseconds: u32) {
    let wait = || wait_for_change(word, value, nanoseconds);
    // SAFETY: the thread's own state.
    match state_on_own_stack().filter(|state| unsafe { (**state).holds_signals } == 0) {
        Some(state) => let_signals_in(state, wait),
        None => wait(),
    }
}

fn wait_for_change(word: &core::sync::atomic::AtomicU32, value: u32, nanoseconds: u32) {
    let time = [0_u64, nanoseconds.into()];
    // SAFETY: word and timespec live through the call; operation 0 is FUTEX_WAIT, shared between processes.
    if unsafe { call(FUTEX, [word.as_ptr() as u64, 0, value.into(), time.as_ptr() as u64, 0, 0]) } == ENOSYS {
        spin(SHORT_WAIT);
    }
}

/// Wakes whoever sleeps on the word.
pub fn futex_wake(word: &core::sync::atomic::AtomicU32) {
    // SAFETY: operation 1 is FUTEX_WAKE, and touches nothing.
    unsafe { call(FUTEX, [word.as_ptr() as u64, 1, i32::MAX as u64, 0, 0, 0]) };
}

/// The stack that this thread has for its signal handlers, if it has one.
pub fn signal_stack() -> Option<core::ops::Range<u64>> {
    const SS_DISABLE: u64 = 2;
    let mut stack = [0_u64; 3];
    // SAFETY: the kernel fills in a stack_t: address, flags (an int, padded), size.
    let result = unsafe { call(SIGALTSTACK, [0, stack.as_mut_ptr() as u64, 0, 0, 0, 0]) };
    let [start, flags, size] = stack;
    (result == 0 && flags & SS_DISABLE == 0).then(|| start..start.saturating_add(size))
}

/// Reads a word of this process that may not be mapped.
pub fn read_word(address: u64) -> Option<u64> {
    let mut word = [0_u64];
    read_words(address, &mut word).then_some(word[0])
}

/// Null, and what null would have at an offset: nothing is there, and the kernel need not be asked.
fn is_near_null(address: u64) -> bool {
    address < 4096
}

/// The program's stack pointer, if the agent runs on its own stack.
pub(crate) fn program_stack() -> Option<u64> {
    // SAFETY: the thread's own state.
    state_on_own_stack().map(|state| unsafe { (*state).program_stack })
}

/// Reads memory of this process: as much of `remote` as is there, into `local`. Both are addresses with lengths.
///
/// # Safety
/// What is at `local` is the caller's to write.
unsafe fn read_process(local: [u64; 2], remote: &[[u64; 2]]) -> i64 {
    let own = state_on_own_stack();
    // SAFETY: the thread's own state; the stub has put registers where the stack ends.
    let unasked = |state: *mut ThreadState| unsafe { lasting::unasked(state, (*state).program_stack, remote) };
    if let Some([address, length]) = own.and_then(unasked) {
        // SAFETY: it is there; the caller's promise for the other.
        unsafe { core::ptr::copy(address as *const u8, local[0] as *mut u8, length as usize) };
        return length.cast_signed();
    }
    // SAFETY: the caller's promise.
    unsafe { ask_process(local, remote) }
}

/// The same, by asking the kernel.
///
/// # Safety
/// As [`read_process`].
unsafe fn ask_process(local: [u64; 2], remote: &[[u64; 2]]) -> i64 {
    let own = state_on_own_stack();
    let read = |process: u32| {
        let (local, count) = (local.as_ptr() as u64, remote.len() as u64);
        // SAFETY: the caller's promise; the kernel checks the remote vectors.
        unsafe { call(PROCESS_VM_READV, [process.into(), local, 1, remote.as_ptr() as u64, count, 0]) }
    };
    // SAFETY: the thread's own state.
    let known = own.map(|state| read(unsafe { (*state).pid }));
    // A child of vfork has its parent's state, and may not be allowed to read by the parent's number.
    known.filter(|read| ![EPERM, ESRCH].contains(read)).unwrap_or_else(|| read(process()))
}

/// Reads words of this process that may not be mapped, all or none.
pub fn read_words(address: u64, words: &mut [u64]) -> bool {
    if is_near_null(address) {
        return false;
    }
    let bytes = size_of_val(words) as u64;
    // SAFETY: as many bytes as the slice has.
    unsafe { read_process([words.as_mut_ptr() as u64, bytes], &[[address, bytes]]) as u64 == bytes }
}

/// Reads pieces of this process's memory, each an address with a length, one behind the other; all or none.
pub(crate) fn read_pieces(pieces: &[[u64; 2]], words: &mut [u64]) -> bool {
    let bytes = size_of_val(words) as u64;
    if pieces.iter().any(|piece| is_near_null(piece[0])) || pieces.iter().map(|piece| piece[1]).sum::<u64>() != bytes {
        return false;
    }
    // SAFETY: as many bytes as the slice has.
    unsafe { ask_process([words.as_mut_ptr() as u64, bytes], pieces) as u64 == bytes }
}

/// Reads what can be read of the bytes at an address; gives how many these are. They lie in two pages at most.
pub fn read_bytes(address: u64, bytes: &mut [u8]) -> usize {
    if is_near_null(address) {
        return 0;
    }
    let length = bytes.len() as u64;
    let in_page = length.min(4096 - address % 4096);
    let remote = [[address, in_page], [address.wrapping_add(in_page), length - in_page]];
    // SAFETY: as many bytes as the slice has.
    unsafe { read_process([bytes.as_mut_ptr() as u64, length], &remote) }.max(0) as usize
}

/// Whether each page from `start` (a page's address) on can be read: a guard page is mapped and cannot.
pub fn is_readable(start: u64, pages: usize) -> bool {
    readable_pages(start, pages) == pages
}

/// How many of so many pages from `start` (a page's address) on can be read, before the first that cannot.
pub fn readable_pages(start: u64, pages: usize) -> usize {
    const STEP: usize = 64;
    let mut bytes = [0_u8; STEP];
    let mut remote = [[0_u64; 2]; STEP];
    let process = process();
    let mut done = 0;
    while done < pages {
        let step = STEP.min(pages - done);
        for (page, vector) in remote[..step].iter_mut().enumerate() {
            *vector = [start + ((done + page) * 4096) as u64, 1];
        }
        let local = [bytes.as_mut_ptr() as u64, step as u64];
        let arguments = [process.into(), local.as_ptr() as u64, 1, remote.as_ptr() as u64, step as u64, 0];
        // One byte of each, up to the first that fails.
        // SAFETY: the local vector describes the buffer; the kernel checks the remote ones.
        let read = unsafe { call(PROCESS_VM_READV, arguments) }.max(0) as usize;
        done += read;
        if read < step {
            break;
        }
    }
    done
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::boxed::Box;

    #[test]
    fn a_word_that_is_not_mapped_reads_as_none() {
        let word = 77_u64;
        assert_eq!(read_word(&raw const word as u64), Some(77));
        assert_eq!(read_word(0x10), None);
    }

    #[test]
    fn bytes_are_read_as_far_as_they_are_there() {
        let mut bytes = [0; 64];
        assert_eq!(read_bytes(c"some bytes".as_ptr() as u64, &mut bytes[..10]), 10);
        assert_eq!(&bytes[..10], b"some bytes");
        assert_eq!(read_bytes(4096 - 8, &mut bytes), 0);
    }

    #[test]
    fn a_gap_is_not_readable() {
        let word = 0_u64;
        let here = &raw const word as u64 & !4095;
        assert!(is_readable(here, 1));
        assert!(!is_readable(0, 1));
        assert_eq!(readable_pages(0, 3), 0);
    }

    #[test]
    fn threads_that_never_were_are_gone() {
        assert!(!is_no_thread_of(process(), thread()) && !is_thread_gone(thread()));
        assert!(is_no_thread_of(process(), 0x3fff_fff0) && is_thread_gone(0x3fff_fff0));
        assert!(is_no_thread_of(process(), 1) && !is_thread_gone(1));
    }

    #[test]
    fn a_wait_takes_no_more_of_the_programs_stack_than_is_said() {
        const UNTOUCHED: u64 = 0x5555_5555_5555_5555;
        const WORDS: usize = 512;
        let word = core::sync::atomic::AtomicU32::new(0);
        // All signals, and those that were blocked before: none.
        let mut program = [UNTOUCHED; WORDS];
        program[WORDS - 2..].copy_from_slice(&[u64::MAX, 0]);
        let mut own = [0_u64; 64];
        // SAFETY: a state is plain words. It has as much of its own stack as is read, and of the program's as is used.
        unsafe {
            let mut state: Box<ThreadState> = Box::new(core::mem::zeroed());
            state.agent_stack = own.as_mut_ptr_range().end as u64;
            state.program_stack = program.as_mut_ptr_range().end as u64 - 16;
            let_signals_in(&raw mut *state, || wait_for_change(&word, 1, 1));
            let_signals_in(&raw mut *state, || sleep_nanoseconds(1));
        }
        exchange_signal_mask(0);
        let untouched = program.iter().position(|word| *word != UNTOUCHED).unwrap();
        let taken = 8 * (WORDS - 2 - untouched) as u64;
        assert!((1..=WAIT_BYTES).contains(&taken), "{taken}");
    }
}
