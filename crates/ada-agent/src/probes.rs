//! Runtime probes: what is kept of certain calls and returns in every session, memory included.

use ada_ring::chunk::{IS_EXITING, is_past_end};
use ada_ring::detail::{CALL, RETURN};
use ada_ring::probe::{BASES, Base, PROBE_WORDS, RawProbe, Role, UNREADABLE};
use ada_ring::record::{IS_PROBED, RecordKind};
use ada_ring::state::{PROBE_CALLS, ProbeCall};
use ada_ring::{Lane, RawDetail, RawRecord, ShadowFrame, ThreadState};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::memory::pool;
use crate::syscall::{self, SignalsBlocked};
use crate::x86_64::registers::{self, Saved};
use crate::{chunks, crash, details, exec, frames};

/// Keeps what a probe sees of a call, and publishes the call's record at `place`.
///
/// # Safety
/// `state` is the calling thread's own, `slot` what its stub passed, and `place` a record that it has reserved.
pub(crate) unsafe fn call(state: *mut ThreadState, slot: *mut u64, place: *mut RawRecord, probe: u64) {
    // SAFETY: the caller's promise.
    let saved = unsafe { Saved::below(slot) };
    let registers = [saved.rdi, saved.rsi, saved.rdx, saved.rcx, saved.r8, saved.r9, saved.r14];
    if has_role(probe, Role::SignalAction) {
        crash::withdraw(saved.rdi & 0xffff_ffff);
    }
    // SAFETY: the caller's promise.
    unsafe {
        let record = (*place).top_and_kind;
        if record & 3 == RecordKind::Call as u32 {
            let number = (*state).probe_calls as usize % PROBE_CALLS;
            (*state).open_probes[number] = ProbeCall { frame: (*state).shadow_top, probe, registers };
            (*state).probe_calls += 1;
        }
        let mut bases = [0; BASES];
        bases[..registers.len()].copy_from_slice(&registers);
        let detail = RawDetail {
            function: (*place).function,
            registers: [saved.rdi, saved.rsi, saved.rdx, saved.rcx, saved.r8, saved.r9, saved.rax],
            return_address: *slot,
            rbp: saved.rbp,
            rsp: slot as u64,
            ..RawDetail::default()
        };
        let context = [saved.r10, saved.r12, saved.r13, saved.r14];
        let time = keep(state, probe, CALL, &bases, detail, context);
        AtomicU64::from_ptr(place.cast::<u64>()).store(time, Ordering::Release);
    }
    if has_role(probe, Role::Exec) {
        exec::ask(saved.rdi);
    }
    if has_role(probe, Role::Exit) {
        // SAFETY: the caller's promise.
        unsafe { note_exit(state, saved.rdi as u32) };
    }
}

/// Leaves word of what the process is about to end with: whoever reads its records may not be its parent.
///
/// # Safety
/// `state` is the calling thread's own.
unsafe fn note_exit(state: *mut ThreadState, status: u32) {
    // SAFETY: the caller's promise.
    let (process, position) = unsafe { ((*state).pid, (*state).index_position) };
    // A child of vfork runs as its parent's thread.
    if let Some(chunk) = chunks::chunk_of(position).filter(|_| syscall::process() == process) {
        pool().header(chunk).exit_status.store(status & 0xff | IS_EXITING, Ordering::Relaxed);
    }
}

/// The same for a return; puts the real return address into the slot.
///
/// # Safety
/// `state` is the calling thread's own, `slot` what the return path passed.
pub(crate) unsafe fn returned(state: *mut ThreadState, slot: *mut u64) {
    // SAFETY: the caller's promise.
    let saved = unsafe { Saved::below(slot) };
    // SAFETY: the caller's promise.
    unsafe {
        let frame = frames::top(state);
        let number = (0..PROBE_CALLS).find(|&number| (*state).open_probes[number].frame == frame as u64);
        let (true, Some(number)) = ((*frame).slot() == slot as u64, number) else {
            // Not the newest frame, or too many probed calls are open: the event has to do.
            frames::finish_return(state, slot);
            return;
        };
        let _blocked = SignalsBlocked::new();
        let ProbeCall { probe, registers, .. } = (*state).open_probes[number];
        if has_role(probe, Role::Exec) {
            exec::failed();
        }
        (*state).open_probes[number].frame = 0;
        let mut bases = [0; BASES];
        bases[..registers.len()].copy_from_slice(&registers);
        bases[Base::Rax as usize] = saved.rax;
        bases[Base::RdxReturned as usize] = saved.rdx;
        let detail = RawDetail {
            function: (*frame).function,
            registers: [saved.rax, saved.rdx, 0, 0, 0, 0, 0],
            return_address: (*frame).return_address,
            rbp: saved.rbp,
            rsp: slot as u64 + 8,
            ..RawDetail::default()
        };
        let context = [saved.rcx, saved.r8, saved.r12, saved.r13];
        let time = keep(state, probe, RETURN, &bases, detail, context);
        let kind = RecordKind::Return as u32 | IS_PROBED;
        chunks::write_at(state, (*frame).function, frame as u32 | kind, time);
        *slot = (*frame).return_address;
        (*state).shadow_top = frame.sub(1) as u64;
        if has_role(probe, Role::SignalAction) {
            crash::put_back(registers[Base::Rdi as usize] & 0xffff_ffff);
        }
    }
}

fn has_role(probe: u64, role: Role) -> bool {
    pool().control().probes.get(probe as usize).is_some_and(|probe| probe.has_role(role))
}

/// Forgets the probed call of a frame that is taken out. A call need not return: a child of vfork leaves its parent's
/// thread with its `execve` open. The frame's place is used again, and who is there next may be no probed call.
///
/// # Safety
/// `state` is the calling thread's own, with signals blocked.
pub(crate) unsafe fn close(state: *mut ThreadState, frame: *const ShadowFrame) {
    for number in 0..PROBE_CALLS {
        // SAFETY: the caller's promise.
        unsafe {
            if (*state).open_probes[number].frame == frame as u64 {
                (*state).open_probes[number].frame = 0;
            }
        }
    }
}

/// Whether a frame is that of a probed call.
///
/// # Safety
/// `state` is the calling thread's own.
pub(crate) unsafe fn is_open(state: *mut ThreadState, frame: *const ShadowFrame) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*state).open_probes.iter().any(|call| call.frame == frame as u64) }
}

/// Writes a record to the probes' lane and gives its time.
///
/// # Safety
/// `state` is the calling thread's own.
unsafe fn keep(
    state: *mut ThreadState,
    probe: u64,
    mark: u32,
    bases: &[u64; BASES],
    detail: RawDetail,
    context: [u64; 4],
) -> u64 {
    let mut words = [UNREADABLE; PROBE_WORDS];
    let mut count = 0;
    if let Some(probe) = pool().control().probes.get(probe as usize) {
        for read in probe.reads(mark == RETURN) {
            let end = count + read.count();
            if end > PROBE_WORDS {
                break;
            }
            let (first, second) = read.steps();
            let start = bases.get(read.base()).map_or(0, |base| base.wrapping_add_signed(first));
            let start = match second {
                None => Some(start),
                Some(second) => syscall::read_word(start).map(|pointer| pointer.wrapping_add_signed(second)),
            };
            if let Some(start) = start {
                syscall::read_words(start, &mut words[count..end]);
            }
            count = end;
        }
    }
    // SAFETY: the caller's promise; a reserved record belongs to its thread until it is marked.
    unsafe {
        let position = AtomicU64::from_ptr(&raw mut (*state).probe_position);
        let mut place = position.fetch_add(RawProbe::SIZE as u64, Ordering::Relaxed);
        if is_past_end(place) {
            place = details::place_in_lane(state, Lane::Probe);
        }
        // Read last, so that the time is the event's own and no other's.
        let time = registers::clock();
        let record = place as *mut RawProbe;
        record.write(RawProbe {
            detail: RawDetail { mark: 0, tsc: time, ..detail },
            context,
            count: count as u64,
            words,
        });
        AtomicU32::from_ptr(&raw mut (*record).detail.mark).store(mark, Ordering::Release);
        time
    }
}
