//! Which of a process's stacks a thread is on.
//!
//! Each stack has a shadow stack of its own, and a thread's state points at that of the stack it is on. A program changes
//! stacks by means of its own: `swapcontext` says where it goes, a library's assembly does not. But what happens next
//! happens at an address, and each address belongs to one stack. A stub looks whether it is below what is known of the stack that
//! the thread is on, or above the newest frame. Then it is looked up here, and an address that belongs to no stack that is
//! known is on a new one.
//!
//! Memory that can be read all the way is one stack. Two that lie side by side, without a page between them that cannot, are
//! distinguished by what is known of them: what the program has said of their length, and how far they were used.
//!
//! A wrong guess costs depths, and nothing else.

use ada_ring::state::{KnownStack, STATES};
use ada_ring::{ShadowFrame, ThreadState};
use core::ops::Range;
use core::sync::atomic::Ordering;

use crate::arch::number::PROCESS_VM_READV;
use crate::arch::thread_pointer;
use crate::goroutines::{self, Running};
use crate::known_stacks::KnownStacks;
use crate::lock::Lock;
use crate::memory::{known_stacks, process_block, shadow_base, shadow_end, state as state_at, state_threads, states};
use crate::shadow_stack::{ceiling, sentinel, set_ceiling, set_limits};
use crate::stretch::is_one_stack;
use crate::{state_claims, syscall, takeover, waits};

const PAGE: u64 = 4096;
/// How far below the used part of a thread's own stack its extent is probed at most, so that not each page takes a system call.
const AHEAD: u64 = 16 * PAGE;
/// How far another stack is taken to reach below what was used of it, while a thread is on it, …
const REACH: u64 = 16 * PAGE;
/// … and while none is, …
const REACH_OF_LEFT: u64 = 2048;
/// … and above.
const REACH_UP: u64 = 1024;
/// How long a stack can be, …
const LONGEST: u64 = 256 << 20;
/// … and how much of it is looked at in one go.
const LONGEST_STEP: u64 = 16 << 20;
/// How many goroutines' stacks can have changed places in a row.
const MOST_MOVED: usize = 4;
/// What is taken to be used around an address.
const AROUND: u64 = 256;

/// Puts a thread on the stack that has an address: its state then points at that stack's shadow stack. `bounds` is what the
/// program says of the stack, if anything, and `left_at` the stack pointer with which the stack that is left will go on.
///
/// # Safety
/// `state` is the calling thread's own, with signals blocked.
pub(crate) unsafe fn settle(state: *mut ThreadState, address: u64, bounds: Option<Range<u64>>, left_at: u64) {
    // SAFETY: the caller's promise; the lock is held while the list is used.
    unsafe {
        // State 0 is on no stack.
        if (*state).number == 0 {
            return;
        }
        waits::reclaim(state, &extent(state));
        if extent(state).contains(&address) {
            return;
        }
        let running = if bounds.is_none() { goroutines::running_at(state, address) } else { None };
        let Some(_lock) = Lock::take(&process_block().stacks_busy, (*state).tid) else { return };
        let mut list = list();
        if let Some(running) = running.as_ref().filter(|it| !it.is_runtimes) {
            settle_on_goroutine(&mut list, state, address, running);
            process_block().known_stacks.store(list.count() as u32, Ordering::Relaxed);
            return;
        }
        // The runtime's own work has the thread's stack, and no more of it than this.
        let floor = running.map_or(0, |it| it.stack.start);
        if list.containing(address).is_none() && bounds.is_none() {
            // A handler's calls are calls of what it interrupts. The next one asks again: where the handler's stack counts as part
            // of the thread's, so does all that lies between them.
            if syscall::signal_stack().is_some_and(|stack| stack.contains(&address)) {
                return;
            }
            if reaches(&list, state, address, floor) {
                return;
            }
        }
        leave(&mut list, state, left_at);
        if let Some(at) = find(&mut list, address, bounds) {
            enter(&mut list, at, state);
        }
        process_block().known_stacks.store(list.count() as u32, Ordering::Relaxed);
    }
}

/// The same for the stack of a goroutine, wherever that was before.
///
/// # Safety
/// As [`settle`], with the lock held.
unsafe fn settle_on_goroutine(list: &mut KnownStacks<'_>, state: *mut ThreadState, address: u64, running: &Running) {
    let Running { goroutine, stack, .. } = running;
    let is_known = |it: &KnownStack| it.goroutine == *goroutine && it.low == stack.start && it.high == stack.end;
    // SAFETY: the caller's promise.
    unsafe {
        let known = list.containing(address).filter(|&at| list.get(at).is_some_and(is_known));
        // The runtime handles signals as a goroutine too; its calls are calls of what it interrupts.
        if known.is_none() && syscall::signal_stack().is_some_and(|stack| stack.contains(&address)) {
            return;
        }
        leave(list, state, 0);
        let of_before = || list.with_goroutine(*goroutine);
        let placed = match known.or_else(of_before) {
            Some(at) if list.get(at).is_some_and(is_known) => Some(*goroutine),
            Some(at) => {
                let Some(before) = list.get(at).copied() else { return };
                list.remove(at);
                place(list, before, stack, MOST_MOVED);
                Some(*goroutine)
            }
            None => state_claims::claim_for_stack().map(|number| {
                let top = shadow_base(number) as u64;
                let fresh = KnownStack {
                    high: stack.end,
                    top,
                    number: number as u32,
                    goroutine: *goroutine,
                    ..KnownStack::default()
                };
                place(list, fresh, stack, MOST_MOVED);
                *goroutine
            }),
        };
        // Others may have had to move: the place in the list is another.
        let at = list.containing(address).filter(|&at| list.get(at).map(|it| it.goroutine) == placed);
        if let Some(at) = at {
            enter(list, at, state);
        }
    }
}

/// Puts a goroutine's stack, which is not in the list, where it is by now. Those that were there before have been moved too, and
/// are put where they are in turn.
///
/// # Safety
/// As [`settle_on_goroutine`].
unsafe fn place(list: &mut KnownStacks<'_>, stack: KnownStack, to: &Range<u64>, patience: usize) {
    // SAFETY: the caller's promise. Whoever is on a stack that has moved comes here before using its shadow stack again.
    unsafe {
        goroutines::move_frames(&stack, newest_of(&stack), to);
        while let Some(other) = list.take_goroutine_in(to) {
            match goroutines::stack_of(other.goroutine) {
                Some(now) if patience > 0 && (now.end <= to.start || to.end <= now.start) => {
                    place(list, other, &now, patience - 1);
                }
                _ => give_back(&KnownStack { user: 0, ..other }),
            }
        }
    }
    list.make_room(to, give_back);
    if list.add(KnownStack { low: to.start, high: to.end, is_exact: 1, ..stack }).is_none() {
        give_back(&KnownStack { user: 0, ..stack });
    }
}

/// The same for a stack that was left with this very stack pointer, and so goes on as it was. False where there is none.
///
/// # Safety
/// As [`settle`].
pub(crate) unsafe fn go_back(state: *mut ThreadState, stack_pointer: u64, left_at: u64) -> bool {
    // SAFETY: as there.
    unsafe {
        if (*state).number == 0 {
            return false;
        }
        let Some(_lock) = Lock::take(&process_block().stacks_busy, (*state).tid) else { return false };
        let mut list = list();
        let is_left = |at: &usize| list.get(*at).is_some_and(|it| it.left_at == stack_pointer && it.user == 0);
        let Some(at) = list.containing(stack_pointer).filter(|at| stack_pointer != 0 && is_left(at)) else {
            return false;
        };
        // Where the one that is left is not in the list yet, this moves.
        let is_listed = leave(&mut list, state, left_at);
        let at = if is_listed { Some(at) } else { list.containing(stack_pointer) };
        if let Some(at) = at {
            enter(&mut list, at, state);
        }
        process_block().known_stacks.store(list.count() as u32, Ordering::Relaxed);
        true
    }
}

/// The newest frame of the stack that has an address, if that was left for another one.
pub(crate) fn newest_on(address: u64) -> Option<*mut ShadowFrame> {
    if process_block().known_stacks.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let _lock = Lock::take_here(&process_block().stacks_busy)?;
    // SAFETY: the lock is held.
    let list = unsafe { list() };
    let known = list.containing(address).and_then(|at| list.get(at))?;
    let base = shadow_base(known.number as usize) as u64;
    (known.top > base).then_some(known.top as *mut ShadowFrame)
}

/// Forgets the stack whose shadow stack somebody else gets. False where that is not known for now: then nobody may have it.
pub(crate) fn forget(number: usize) -> bool {
    if process_block().known_stacks.load(Ordering::Relaxed) == 0 {
        return true;
    }
    let Some(_lock) = Lock::take_here(&process_block().stacks_busy) else { return false };
    // SAFETY: the lock is held.
    let mut list = unsafe { list() };
    if let Some(at) = list.with_number(number as u32, 0) {
        list.remove(at);
        process_block().known_stacks.store(list.count() as u32, Ordering::Relaxed);
    }
    true
}

/// # Safety
/// The caller holds the lock.
unsafe fn list() -> KnownStacks<'static> {
    let count = process_block().known_stacks.load(Ordering::Relaxed) as usize;
    // SAFETY: mapped with the first region, and nobody else's for now.
    KnownStacks::new(unsafe { &mut *known_stacks() }, count)
}

/// The addresses that are known to be of the stack that a thread is on.
unsafe fn extent(state: *mut ThreadState) -> Range<u64> {
    // SAFETY: the thread's own state.
    unsafe { !(*state).floor_complement..ceiling(state) }
}

/// Whether the stack that a thread is on goes on as far as an address, which no other has; takes note of it.
unsafe fn reaches(list: &KnownStacks<'_>, state: *mut ThreadState, address: u64, floor: u64) -> bool {
    // SAFETY: the thread's own state.
    unsafe {
        let (Range { start, end }, current) = (extent(state), (*state).stack_number);
        let is_own = current == (*state).number;
        let own = list.with_number(current, start).and_then(|at| list.get(at));
        let at = list.first_above(address);
        let other = |at: Option<usize>| at.and_then(|at| list.get(at)).filter(|it| it.number != current);
        let (above, below) = (other(Some(at)), other(at.checked_sub(1)));
        // The C library keeps what belongs to a thread at the upper end of its stack.
        let thread_end = if is_own && thread_pointer() > end { thread_pointer() & !7 } else { !7 };
        let (lowest, highest) =
            (below.map_or(floor, |it| it.high.max(floor)), above.map_or(thread_end, |it| it.low.min(thread_end)));
        if own.is_some_and(|it| it.is_exact != 0) {
            return false;
        }
        if address < start {
            if highest < start || !is_own && start - address > REACH || !is_connected(address, start) {
                return false;
            }
            let mut low = around(address).start;
            if is_own {
                let page = address & !(PAGE - 1);
                // As much again as was used: a page that is looked at is one that the kernel has to provide, and most threads
                // are short.
                let distance = end.saturating_sub(page).clamp(PAGE, AHEAD) & !(PAGE - 1);
                let ahead = page.saturating_sub(distance).max(lowest);
                low = if ahead < page && is_connected(ahead, page) { ahead } else { page };
            }
            (*state).floor_complement = !low.max(lowest);
        } else {
            let is_beyond = address >= highest || !is_own && address - end >= REACH_UP;
            if lowest > end || is_beyond || !is_connected(end, address) {
                return false;
            }
            set_ceiling(state, around(address).end.min(highest));
        }
        true
    }
}

/// Saves the state of the stack that a thread leaves. True where it was in the list.
unsafe fn leave(list: &mut KnownStacks<'_>, state: *mut ThreadState, left_at: u64) -> bool {
    // SAFETY: the thread's own state.
    unsafe {
        takeover::put_right(state);
        let (extent, number, top) = (extent(state), (*state).stack_number, (*state).shadow_top);
        match list.with_number(number, extent.start) {
            Some(at) => {
                if list.get(at).is_some_and(|it| it.is_exact == 0) {
                    list.extend(at, extent);
                }
                // Unless another thread has taken it over.
                if let Some(known) = list.get_mut(at).filter(|it| it.user == (*state).tid || it.user == 0) {
                    (known.top, known.user, known.left_at) = (top, 0, left_at);
                }
                true
            }
            None => {
                let (low, high) = (extent.start, extent.end);
                list.add(KnownStack { low, high, top, left_at, number, ..KnownStack::default() });
                false
            }
        }
    }
}

/// The stack that has an address, or seems to; a new one where there is none. `None` where there is no room for another
/// one: its calls are recorded as those of the stack before.
fn find(list: &mut KnownStacks<'_>, address: u64, bounds: Option<Range<u64>>) -> Option<usize> {
    if let Some(at) = list.containing(address) {
        let known = *list.get(at)?;
        if let Some(bounds) = bounds.filter(|bounds| (known.low..known.high) != *bounds) {
            list.remove(at);
            list.make_room(&bounds, give_back);
            return list.add(KnownStack { low: bounds.start, high: bounds.end, is_exact: 1, ..known });
        }
        return Some(at);
    }
    if let Some(bounds) = bounds {
        list.make_room(&bounds, give_back);
        return add(list, bounds, 1);
    }
    let at = list.first_above(address);
    let is_near = |stack: &KnownStack| {
        let (low, high, reach) = match address < stack.low {
            true => (address, stack.low, REACH_OF_LEFT),
            false => (stack.high, address, REACH_UP),
        };
        stack.is_exact == 0 && high - low < reach && is_connected(low, high)
    };
    let near = [Some(at), at.checked_sub(1)].into_iter().flatten().find(|&at| list.get(at).is_some_and(is_near));
    if let Some(at) = near {
        list.extend(at, around(address));
        return Some(at);
    }
    add(list, around(address), 0)
}

fn add(list: &mut KnownStacks<'_>, bounds: Range<u64>, is_exact: u64) -> Option<usize> {
    let number = state_claims::claim_for_stack()?;
    let top = shadow_base(number) as u64;
    let known = KnownStack { low: bounds.start, high: bounds.end, top, is_exact, ..KnownStack::default() };
    let stack = KnownStack { number: number as u32, ..known };
    let at = list.add(stack);
    if at.is_none() {
        state_claims::give_back(number);
    }
    at
}

/// Gives back the shadow stack of a stack that is no more, unless a thread is said to be on it.
fn give_back(stack: &KnownStack) {
    if stack.user == 0 {
        state_claims::give_back(stack.number as usize);
    }
}

/// Switches a thread to a stack.
unsafe fn enter(list: &mut KnownStacks<'_>, at: usize, state: *mut ThreadState) {
    let Some(known) = list.get_mut(at).filter(|it| (1..states()).contains(&(it.number as usize))) else { return };
    let (base, end) = (shadow_base(known.number as usize), shadow_end(known.number as usize));
    // SAFETY: the thread's own state; the shadow stack is mapped.
    unsafe {
        let top = newest_of(known);
        let is_sound = (base as u64..end).contains(&top) && top.is_multiple_of(ShadowFrame::SIZE as u64);
        known.user = (*state).tid;
        base.write(sentinel(known.high));
        (*state).stack_number = known.number;
        (*state).shadow_base = base as u64;
        (*state).shadow_top = if is_sound { top } else { base as u64 };
        (*state).floor_complement = !known.low;
        (*state).goroutine_stack_high = if known.goroutine == 0 { 0 } else { known.high };
        set_limits(state);
    }
}

/// The newest frame of a stack.
unsafe fn newest_of(known: &KnownStack) -> u64 {
    // SAFETY: states are mapped.
    if known.user == 0 { known.top } else { unsafe { top_of_user(known) }.unwrap_or(known.top) }
}

/// The newest frame of a stack that another thread was on last, and has had nothing to record since.
unsafe fn top_of_user(known: &KnownStack) -> Option<u64> {
    let is_user =
        |number: &usize| state_threads(number / STATES)[number % STATES].load(Ordering::Relaxed) == known.user;
    let user = state_at((1..states()).find(is_user)?);
    // SAFETY: states are mapped.
    unsafe { ((*user).stack_number == known.number).then(|| (*user).shadow_top) }
}

/// Whether memory can be read all the way; assumed where a filter forbids the system call. It is probed from above, in ever
/// longer steps: right below a thread's stack is a guard page, and much else may lie below that.
fn is_connected(low: u64, high: u64) -> bool {
    if !syscall::may(PROCESS_VM_READV) {
        return true;
    }
    if high - low > LONGEST {
        return false;
    }
    let (mut end, mut step) = (high, AHEAD);
    loop {
        let start = end.saturating_sub(step).max(low);
        if !is_one_stack(start, end) {
            return false;
        }
        if start == low {
            return true;
        }
        (end, step) = (start, (2 * step).min(LONGEST_STEP));
    }
}

/// What is taken to be the same stack as an address, if nothing else is known: less than a page, for there are stacks of less.
fn around(address: u64) -> Range<u64> {
    let address = address & !7;
    address.saturating_sub(AROUND)..address.saturating_add(AROUND)
}
