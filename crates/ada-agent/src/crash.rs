//! Fatal signals: the handler that stands for their default action, records the crash, and lets it happen.
//!
//! The recorder puts the handler where a program has none. Programs are not to see it: while one of their own threads
//! changes or asks for a signal's action, the true default is in place, and afterwards the handler again, unless the
//! program has its own by then. So a program that looks whether it has a handler finds that it has not, one that installs
//! a handler has it alone, and one whose handler ends by restoring the default and letting the signal hit again still
//! crashes, with a record.

use ada_ring::crash::{CRASH_FRAMES, CrashSlot};
use ada_ring::{Control, ShadowFrame, ThreadState};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::arch::number::{RT_SIGACTION, RT_TGSIGQUEUEINFO, TGKILL};
use crate::arch::{ada_crash_restorer, clock, current_state, signal_registers, thread_pointer};
use crate::config::{Item, get};
use crate::memory::{owner, pool, process_block, shadow_base, shadow_end, state, state_number, states};
use crate::origins::{self, Registers};
use crate::syscall;

const SIG_DFL: u64 = 0;
const SIG_IGN: u64 = 1;
const SA_SIGINFO: u64 = 4;
const SA_ONSTACK: u64 = 0x0800_0000;
const SA_RESTORER: u64 = 0x0400_0000;
/// An action's flags: with the signal's information, on the thread's stack for signals if it has one.
pub const FLAGS: u64 = SA_SIGINFO | SA_ONSTACK | SA_RESTORER;

const SIGILL: u64 = 4;
const SIGABRT: u64 = 6;
const SIGBUS: u64 = 7;
const SIGFPE: u64 = 8;
const SIGSEGV: u64 = 11;
/// `si_code` of a memory error that hit no instruction.
const BUS_MCEERR_AO: i32 = 5;
/// `si_code` of a signal that a thread has sent to one.
const SI_TKILL: i32 = -6;

/// With less of a stack for handlers left, another handler's frame may have no room: vector registers alone take 11 KiB on some
/// processors.
const ROOM_FOR_A_HANDLER: u64 = 32 << 10;

const WAIT_STEP: u32 = 1_000_000;
/// Steps without a sign of life from the recorder.
const PATIENCE: u32 = 2000;

/// What the kernel takes and gives as a signal's action. Its mask holds everything off while the handler runs.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Action {
    handler: u64,
    flags: u64,
    restorer: u64,
    mask: u64,
}

impl Action {
    fn ours() -> Self {
        let restorer = ada_crash_restorer as *const () as u64;
        Self { handler: ada_crash as *const () as u64, flags: FLAGS, restorer, mask: u64::MAX }
    }
}

/// The current action, which becomes `new` where there is one.
fn exchange(signal: u64, new: Option<&Action>) -> Option<Action> {
    let mut old = Action::default();
    let new = new.map_or(0, |action| action as *const Action as u64);
    // SAFETY: both actions live through the call.
    let result = unsafe { syscall::call(RT_SIGACTION, [signal, new, &raw mut old as u64, 8, 0, 0]) };
    (result == 0).then_some(old)
}

/// The default action that the handler stands for, as the program had it.
fn saved(signal: u64) -> &'static [AtomicU64; 4] {
    &process_block().default_actions[signal as usize % 32]
}

fn stands_for(signal: u64) -> bool {
    (1..32).contains(&signal) && process_block().crash_signals.load(Ordering::Relaxed) >> signal & 1 != 0
}

/// The program is about to change or ask for a signal's action: it finds the default. Whether the handler was in place.
pub(crate) fn withdraw(signal: u64) -> bool {
    let is_ours =
        stands_for(signal) && exchange(signal, None).is_some_and(|action| action.handler == Action::ours().handler);
    if is_ours {
        let [_, flags, restorer, mask] = saved(signal).each_ref().map(|word| word.load(Ordering::Relaxed));
        exchange(signal, Some(&Action { handler: SIG_DFL, flags, restorer, mask }));
    }
    is_ours
}

/// From now on fatal signals have their default actions.
pub(crate) fn withdraw_all() {
    (1..32).for_each(|signal| {
        withdraw(signal);
    });
    process_block().crash_signals.store(0, Ordering::Relaxed);
}

/// The program has changed a signal's action: where its handlers return to is known from now on.
pub(crate) fn learn_signal_return(signal: u64) {
    let Some(action) = exchange(signal, None).filter(|action| action.handler > SIG_IGN) else { return };
    if action.flags & SA_RESTORER == 0 || action.restorer == 0 || action.handler == Action::ours().handler {
        return;
    }
    process_block().signal_return.store(action.restorer, Ordering::Relaxed);
    for number in 1..states() {
        // SAFETY: states are mapped, and a stub reads this once for each of its calls.
        unsafe {
            AtomicU64::from_ptr(&raw mut (*state(number)).signal_return).store(action.restorer, Ordering::Relaxed)
        };
    }
}

/// Whether the handler of a signal takes a `siginfo_t`.
pub(crate) fn asks_for_information(signal: u64) -> bool {
    exchange(signal, None).is_none_or(|action| action.flags & SA_SIGINFO != 0)
}

/// The program has changed or asked for it: where the default is in place, the handler replaces it again.
pub(crate) fn put_back(signal: u64) {
    let Some(current) = exchange(signal, None).filter(|action| stands_for(signal) && action.handler == SIG_DFL) else {
        return;
    };
    let words = [current.handler, current.flags, current.restorer, current.mask];
    saved(signal).iter().zip(words).for_each(|(saved, word)| saved.store(word, Ordering::Relaxed));
    // Another thread may have installed a handler since.
    if let Some(old) = exchange(signal, Some(&Action::ours()))
        && old.handler != SIG_DFL
    {
        exchange(signal, Some(&old));
    }
}

/// Records a fatal signal, and lets the default action happen: the instruction faults again, or the signal is sent
/// again as it was.
///
/// # Safety
/// Called by the kernel, or by a handler that passes on what the kernel gave it.
#[unsafe(no_mangle)]
unsafe extern "C" fn ada_crash(signal: u64, information: *const u8, context: *const u8) {
    // SAFETY: a `siginfo_t` and a `ucontext_t`.
    let (code, address, registers) = unsafe {
        let code = information.add(8).cast::<i32>().read();
        (code, information.add(16).cast::<u64>().read(), *signal_registers(context as u64))
    };
    let registers = origins::unhooked(&registers, None).map_or(registers, |it| it.registers);
    record(signal, code, address, &registers);
    let (process, thread) = (syscall::process(), syscall::thread());
    exchange(signal, Some(&Action::default()));
    let faults_again = match signal {
        SIGSEGV | SIGILL | SIGFPE => code > 0,
        SIGBUS => code > 0 && code != BUS_MCEERR_AO,
        _ => false,
    };
    if !faults_again {
        // It waits, blocked, until this handler has returned.
        let arguments = [process.into(), thread.into(), signal, information as u64, 0, 0];
        // SAFETY: the signal's own information; without permission to repeat it, a plain one has to do.
        unsafe {
            if syscall::call(RT_TGSIGQUEUEINFO, arguments) != 0 {
                syscall::call(TGKILL, [process.into(), thread.into(), signal, 0, 0, 0]);
            }
        }
    }
}

/// The program is about to end itself by SIGABRT. Where it does so in a handler with a small stack of its own, as Rust does when a
/// thread's stack is full, the kernel finds no room there for a second frame, and ends the program by SIGSEGV. So what the handler would
/// record is recorded now, and the default action is in place.
pub(crate) fn aborts(slot: u64, registers: Registers) {
    let is_tight = |stack: Range<u64>| stack.contains(&slot) && slot - stack.start < ROOM_FOR_A_HANDLER;
    if stands_for(SIGABRT) && syscall::signal_stack().is_some_and(is_tight) && withdraw(SIGABRT) {
        record(SIGABRT, SI_TKILL, syscall::process().into(), &registers);
    }
}

fn record(signal: u64, code: i32, address: u64, registers: &Registers) {
    let Some(slot) = wait_for_slot() else {
        control().crashes.unrecorded.fetch_add(1, Ordering::Relaxed);
        return;
    };
    slot.pid.store(syscall::process(), Ordering::Relaxed);
    slot.tid.store(syscall::thread(), Ordering::Relaxed);
    slot.signal.store(signal as i32, Ordering::Relaxed);
    slot.code.store(code, Ordering::Relaxed);
    slot.tsc.store(clock(), Ordering::Relaxed);
    slot.address.store(address, Ordering::Relaxed);
    for (recorded, register) in slot.registers.iter().zip(registers) {
        recorded.store(*register, Ordering::Relaxed);
    }
    record_frames(slot);
    slot.publish();
}

fn control() -> &'static Control {
    // SAFETY: the recorder maps it before any agent code runs, and nothing unmaps it.
    unsafe { &*(get(Item::Pool) as *const Control) }
}

/// A free slot, waited for as long as the recorder lives: it empties them in no time.
fn wait_for_slot() -> Option<&'static CrashSlot> {
    let (control, pool) = (control(), pool());
    let mut rounds = pool.orders().heartbeats.load(Ordering::Relaxed);
    let mut idle = 0;
    loop {
        if let Some(slot) = control.crashes.claim() {
            return Some(slot);
        }
        if idle >= PATIENCE || control.recorder_gone.load(Ordering::Relaxed) != 0 {
            return None;
        }
        syscall::sleep_nanoseconds(WAIT_STEP);
        let now = pool.orders().heartbeats.load(Ordering::Relaxed);
        idle = if now == rounds { idle + 1 } else { 0 };
        rounds = now;
    }
}

/// Records the frames that are open in this thread, if it has a state: nothing may fault here, whatever the thread's registers hold.
fn record_frames(slot: &CrashSlot) {
    slot.depth.store(0, Ordering::Relaxed);
    slot.frame_count.store(0, Ordering::Relaxed);
    let Some(number) = state_number(current_state()).filter(|&number| number != 0) else { return };
    let base = thread_pointer();
    let mark = if get(Item::OwnerByWord) == 0 { Some(base) } else { syscall::read_word(base) };
    if mark != Some(owner(number).load(Ordering::Relaxed)) {
        return;
    }
    let state: *const ThreadState = state(number);
    // SAFETY: a state is always mapped; this one is the thread's own.
    let (top, stack) = unsafe { ((*state).shadow_top as *const ShadowFrame, (*state).stack_number as usize) };
    let stack = if stack < states() { stack } else { number };
    let bottom = shadow_base(stack).cast_const();
    if top < bottom || top as u64 >= shadow_end(stack) || !top.is_aligned() {
        return;
    }
    let (mut depth, mut recorded) = (0, 0);
    let mut frame = top;
    while frame > bottom {
        // SAFETY: between the shadow stack's ends.
        let function = unsafe { (*frame).function };
        if recorded < CRASH_FRAMES {
            slot.frames[recorded].store(function, Ordering::Relaxed);
            recorded += 1;
        }
        depth += 1;
        frame = frame.wrapping_sub(1);
    }
    slot.depth.store(depth, Ordering::Relaxed);
    slot.frame_count.store(recorded as u32, Ordering::Relaxed);
}
