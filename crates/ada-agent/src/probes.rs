//! Runtime probes: what is kept of certain calls and returns in every session, memory included.

use ada_ring::arch::{RETURN_POPS, SavedRegisters};
use ada_ring::chunk::{IS_EXITING, is_past_end};
use ada_ring::detail::{CALL, MORE, RETURN};
use ada_ring::probe::{BASES, BASES_AT_CALL, Base, Extent, LONG_TEXT, PROBE_WORDS, RawProbe, Read, Role, UNREADABLE};
use ada_ring::record::{HAS_DETAIL, IS_PROBED, RecordKind};
use ada_ring::shadow_frame::FRAME_KEEPS_RESULT;
use ada_ring::state::ProbeCall;
use ada_ring::{Lane, RawDetail, RawRecord, ShadowFrame, ThreadState};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::arch::number::{CLONE, CLONE3, FUTEX, IO_URING_ENTER, IO_URING_SETUP, PRCTL, USERFAULTFD};
use crate::config::{Item, get};
use crate::filters::Afterwards;
use crate::memory::{pool, process_block};
use crate::reads::Sources;
use crate::rings::{Look, RingName};
use crate::syscall;
use crate::{arch, chunks, crash, details, exec, filters, open_probes, own_stacks, reads, rings, threads};

/// Of the flags of `clone`.
const CLONE_VM: u64 = 0x100;
const CLONE_VFORK: u64 = 0x4000;
const CLONE_SETTLS: u64 = 0x8_0000;

/// Keeps what a probe sees of a call, and publishes the call's record.
///
/// # Safety
/// `state` is the calling thread's own, `slot` what its stub passed, and `record` one that it has reserved.
pub(crate) unsafe fn call(state: *mut ThreadState, slot: *mut u64, record: *mut RawRecord, probe: u64) {
    // SAFETY: the caller's promise.
    let saved = unsafe { SavedRegisters::below(slot) };
    let registers = arch::bases_at_call(saved);
    let first_argument = registers[Base::Argument1 as usize];
    // SAFETY: the caller's promise. The newest frame is the call's, where it has one.
    unsafe {
        if is_caught(record) && !(*newest_frame(state)).has(FRAME_KEEPS_RESULT) {
            // What is known of a call of Go's goes where its frame goes. What an earlier frame has left there is no other's.
            (*newest_frame(state)).probe = if has_role(probe, Role::GoValues) { probe as u32 } else { u32::MAX };
        }
    }
    if has_role(probe, Role::SignalAction) {
        crash::withdraw(first_argument & 0xffff_ffff);
    }
    // SAFETY: the caller's promise.
    if has_role(probe, Role::Usual) && unsafe { !is_seldom(state) } {
        // SAFETY: the caller's promise. The newest frame is the call's, where it has one.
        unsafe {
            if is_caught(record) {
                (*newest_frame(state)).record_and_flags &= !FRAME_KEEPS_RESULT;
            }
            publish_plain(state, slot, record);
        }
        return;
    }
    if has_role(probe, Role::ThreadEnd) {
        // SAFETY: the caller's promise.
        unsafe {
            note_result(state);
            publish_plain(state, slot, record);
        }
        return;
    }
    if let Some(call) = kernel_call(probe, registers) {
        // SAFETY: the caller's promise.
        unsafe {
            publish_plain(state, slot, record);
            prepare_kernel_call(state, call);
        }
        return;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let is_asked_for =
            |frame: *mut ShadowFrame| !has_role(probe, Role::CallOnly) && !(*frame).has(FRAME_KEEPS_RESULT);
        let is_of_goroutine = has_role(probe, Role::GoValues);
        if is_caught(record) && !is_of_goroutine && is_asked_for(newest_frame(state)) {
            let number = open_probes::free(state);
            (*state).open_probes[number] =
                ProbeCall { frame: (*state).shadow_top, slot: slot as u64, probe, registers };
            (*state).probe_calls += 1;
        }
        let mut bases = [0; BASES];
        bases[..registers.len()].copy_from_slice(&registers);
        bases[Base::Slot as usize] = slot as u64;
        [bases[Base::GoArgument1 as usize], bases[Base::GoArgument2 as usize]] = arch::go_arguments(saved);
        bases[Base::GoWord1 as usize..].copy_from_slice(&arch::go_words(saved));
        bases[Base::FramePointer as usize] = saved.frame_pointer();
        bases[Base::SwiftSelf as usize] = arch::swift_self(saved);
        let detail = call_detail(slot, (*record).function);
        let sources = Sources { bases, vectors: arch::saved_vectors(state) };
        let context = arch::call_context(saved);
        let time = match rings::of_call(probe, registers) {
            Some((ring, waits_for)) => keep_look(state, CALL, detail, context, ring, waits_for),
            None => keep(state, probe, CALL, &sources, detail, context),
        };
        AtomicU64::from_ptr(record.cast::<u64>()).store(time, Ordering::Release);
    }
    if has_role(probe, Role::Exec) {
        exec::ask(first_argument);
    }
    if has_role(probe, Role::Exit) {
        // SAFETY: the caller's promise.
        unsafe { note_exit(state, first_argument as u32) };
    }
    if has_role(probe, Role::Abort) {
        // SAFETY: the caller's promise.
        crash::aborts(slot as u64, arch::caller_registers(saved, slot as u64, unsafe { *slot }));
    }
}

/// Whether a call has a frame.
///
/// # Safety
/// As [`call`].
unsafe fn is_caught(record: *const RawRecord) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*record).top_and_kind & 3 == RecordKind::Call as u32 }
}

/// # Safety
/// As [`call`], of a call that has a frame.
unsafe fn newest_frame(state: *const ThreadState) -> *mut ShadowFrame {
    // SAFETY: the caller's promise.
    unsafe { (*state).shadow_top as *mut ShadowFrame }
}

/// Counts a call whose values nobody has asked for. Says whether there were so few lately that it is worth its time.
///
/// # Safety
/// `state` is the calling thread's own.
unsafe fn is_seldom(state: *mut ThreadState) -> bool {
    /// Less than a second on any machine.
    const LATELY: u64 = 1 << 30;
    const MOST: u64 = 2000;
    let now = arch::clock();
    // SAFETY: the caller's promise.
    unsafe {
        if now.wrapping_sub((*state).usual_since) > LATELY {
            ((*state).usual_since, (*state).usual_calls) = (now, 0);
        }
        (*state).usual_calls += 1;
        (*state).usual_calls <= MOST
    }
}

/// A system call that a probed function is about to make: its number and its arguments.
fn kernel_call(probe: u64, registers: [u64; BASES_AT_CALL]) -> Option<(u64, [u64; 6])> {
    let [a, b, c, d, e, f, _] = registers;
    if has_role(probe, Role::Filter) {
        Some((PRCTL, [a, b, c, d, e, 0]))
    } else if has_role(probe, Role::SystemCall) {
        // By these threads wait, or what they wait for is made, and they do no harm.
        (!matches!(a, FUTEX | IO_URING_ENTER | IO_URING_SETUP)).then_some((a, [b, c, d, e, f, 0]))
    } else {
        // The C function takes a function, its stack, and the flags.
        has_role(probe, Role::Clone).then_some((CLONE, [c, b, 0, 0, 0, 0]))
    }
}

/// Sees to it that a system call does no harm.
///
/// # Safety
/// As [`call`].
unsafe fn prepare_kernel_call(state: *mut ThreadState, (number, arguments): (u64, [u64; 6])) {
    let flags = match number {
        CLONE => Some(arguments[0]),
        CLONE3 => syscall::read_word(arguments[0]),
        USERFAULTFD => {
            process_block().faults_are_watched.store(1, Ordering::Relaxed);
            own_stacks::give_up();
            None
        }
        _ => None,
    };
    // SAFETY: the caller's promise.
    unsafe {
        if flags.is_some_and(|flags| flags & (CLONE_VM | CLONE_VFORK | CLONE_SETTLS) == CLONE_VM) {
            threads::leave(state);
        } else if filters::before(number, arguments) == Afterwards::HasNoClock {
            threads::disown((*state).number as usize);
        }
    }
}

/// Publishes the record of a call of which a probe keeps nothing, with the detail that other calls have.
///
/// # Safety
/// As [`call`].
unsafe fn publish_plain(state: *mut ThreadState, slot: *const u64, record: *mut RawRecord) {
    // SAFETY: the caller's promise.
    unsafe {
        let (function, top_and_kind) = ((*record).function, (*record).top_and_kind & !IS_PROBED);
        match details::capture(state, CALL, call_detail(slot, function)) {
            Some(time) => RawRecord::publish(record, function, top_and_kind | HAS_DETAIL, time),
            None => RawRecord::publish(record, function, top_and_kind, arch::clock()),
        }
    }
}

/// The registers of a call.
///
/// # Safety
/// As [`call`].
unsafe fn call_detail(slot: *const u64, function: u32) -> RawDetail {
    // SAFETY: the caller's promise.
    let (saved, return_address) = unsafe { (SavedRegisters::below(slot), *slot) };
    RawDetail {
        function,
        registers: arch::call_registers(saved).words(),
        return_address,
        frame_pointer: saved.frame_pointer(),
        stack_pointer: slot as u64,
        ..RawDetail::default()
    }
}

/// The registers of a return.
///
/// # Safety
/// As [`finish`].
pub(crate) unsafe fn return_detail(slot: *const u64, frame: *const ShadowFrame) -> RawDetail {
    // SAFETY: the caller's promise.
    let (saved, frame) = unsafe { (SavedRegisters::below(slot), &*frame) };
    RawDetail {
        function: frame.function,
        registers: arch::return_registers(saved).words(),
        return_address: frame.return_address,
        frame_pointer: saved.frame_pointer(),
        stack_pointer: slot as u64 + RETURN_POPS,
        ..RawDetail::default()
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

/// Leaves word of what the thread is about to end with.
///
/// # Safety
/// `state` is the calling thread's own, and it is in the C library's function for that.
unsafe fn note_result(state: *mut ThreadState) {
    let distance = process_block().thread_result_distance.load(Ordering::Relaxed);
    // SAFETY: the caller's promise.
    let position = unsafe { (*state).index_position };
    if let Some(chunk) = chunks::chunk_of(position).filter(|_| distance != 0) {
        let pool = pool();
        let header = pool.header(chunk);
        // SAFETY: a word of the calling thread's own descriptor, which the C library has just used.
        let result = unsafe { (arch::thread_pointer().wrapping_add(distance) as *const u64).read_volatile() };
        header.thread_result.store(result, Ordering::Relaxed);
        header.has_thread_result.store(1, Ordering::Relaxed);
    }
}

/// Keeps what a probe sees of the return of the newest frame, and takes it out. False where nothing is known of its call.
///
/// # Safety
/// `state` is the calling thread's own, with signals blocked; `frame` is the newest, and its slot is `slot`, with the
/// registers below it.
pub(crate) unsafe fn finish(state: *mut ThreadState, slot: *mut u64, frame: *mut ShadowFrame) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        // A probed call of another goroutine may have been here, and has returned on another thread.
        let on_this_thread = open_probes::take(state, frame as u64, slot as u64);
        let call = match on_this_thread.filter(|_| !is_of_goroutine(frame)) {
            Some(call) => call,
            None if is_of_goroutine(frame) => ProbeCall { probe: (*frame).probe.into(), ..ProbeCall::default() },
            // It went on in another function.
            None if (*frame).has(FRAME_KEEPS_RESULT) => {
                ProbeCall { probe: (*frame).probe.into(), ..ProbeCall::default() }
            }
            None => return false,
        };
        let saved = SavedRegisters::below(slot);
        let ProbeCall { probe, registers, .. } = call;
        if has_role(probe, Role::Exec) {
            exec::failed();
        }
        let mut bases = [0; BASES];
        bases[..registers.len()].copy_from_slice(&registers);
        let results = arch::return_registers(saved).words();
        bases[Base::Result as usize] = results[0];
        bases[Base::SecondResult as usize] = results[1];
        bases[Base::Errno as usize] = errno();
        bases[Base::GoWord1 as usize..].copy_from_slice(&arch::go_words(saved));
        let detail = return_detail(slot, frame);
        let sources = Sources { bases, vectors: arch::saved_vectors(state) };
        let context = arch::return_context(saved);
        if rings::is_setup(probe, registers) {
            rings::note_setup(results[0], registers[2]);
        }
        let time = match rings::of_call(probe, registers) {
            Some((ring, waits_for)) => keep_look(state, RETURN, detail, context, ring, waits_for),
            None => keep(state, probe, RETURN, &sources, detail, context),
        };
        let kind = RecordKind::Return as u32 | IS_PROBED;
        chunks::write_at(state, (*frame).function, frame as u32 | kind, time);
        (*state).shadow_top = frame.sub(1) as u64;
        if has_role(probe, Role::SignalAction) {
            let signal = registers[Base::Argument1 as usize] & 0xffff_ffff;
            crash::learn_signal_return(signal);
            crash::put_back(signal);
        }
        true
    }
}

/// Whether a frame is that of a call of Go's whose values are captured.
///
/// # Safety
/// As [`finish`].
unsafe fn is_of_goroutine(frame: *const ShadowFrame) -> bool {
    // SAFETY: the caller's promise.
    let frame = unsafe { &*frame };
    frame.is_probed_by_agent() && has_role(frame.probe.into(), Role::GoValues)
}

/// Where the thread has its `errno`; 0 where that is not known.
pub(crate) fn errno() -> u64 {
    match process_block().errno_distance.load(Ordering::Relaxed) {
        0 => 0,
        distance => arch::thread_pointer().wrapping_add(distance),
    }
}

fn has_role(probe: u64, role: Role) -> bool {
    pool().orders().probes.get(probe as usize).is_some_and(|probe| probe.has_role(role))
}

/// Keeps what a probe reads, and gives the time of its record.
///
/// # Safety
/// `state` is the calling thread's own.
unsafe fn keep(
    state: *mut ThreadState,
    probe: u64,
    mark: u32,
    sources: &Sources,
    detail: RawDetail,
    context: [u64; 4],
) -> u64 {
    let mut record = RawProbe { detail, context, count: 0, words: [UNREADABLE; PROBE_WORDS] };
    let (mut count, mut long) = (0, None);
    if let Some(probe) = pool().orders().probes.get(probe as usize) {
        for read in probe.reads(mark == RETURN) {
            let end = count + read.count();
            if end > PROBE_WORDS {
                break;
            }
            if read.extent() == Extent::LongText {
                long = Some((read, count));
            } else {
                reads::take(read, sources, &mut record.words[count..end]);
            }
            count = end;
        }
    }
    record.count = count as u64;
    // SAFETY: the caller's promise.
    unsafe {
        match long {
            Some((read, at)) => keep_long(state, mark, sources, &mut record, (read, at)),
            None => write(state, mark, &record, None),
        }
    }
}

/// Writes a record whose last read is a long text: its length is the word at `at`, and its bytes fill the rest of the record, and
/// others behind it.
///
/// # Safety
/// As [`keep`].
#[inline(never)]
unsafe fn keep_long(
    state: *mut ThreadState,
    mark: u32,
    sources: &Sources,
    record: &mut RawProbe,
    (read, at): (Read, usize),
) -> u64 {
    let mut text = [0; LONG_TEXT / 8];
    let length = reads::take_long(read, sources, &mut text);
    let bytes = length.map_or(0, |length| length as u32 as usize);
    let text = &text[..bytes.div_ceil(8).min(text.len())];
    let (first, rest) = text.split_at(text.len().min(PROBE_WORDS - at - 1));
    record.words[at] = length.unwrap_or(UNREADABLE);
    record.words[at + 1..][..first.len()].copy_from_slice(first);
    record.count += text.len() as u64;
    // SAFETY: the caller's promise.
    unsafe {
        let time = write(state, mark, record, None);
        write_more(state, record, rest.chunks(PROBE_WORDS), time);
        time
    }
}

/// Keeps a look at a ring, and gives the time of its record.
///
/// # Safety
/// As [`keep`].
#[inline(never)]
unsafe fn keep_look(
    state: *mut ThreadState,
    mark: u32,
    detail: RawDetail,
    context: [u64; 4],
    ring: RingName,
    waits_for: u64,
) -> u64 {
    let look = Look::at(ring, waits_for, mark == RETURN);
    let mut record = RawProbe { detail, context, count: 0, words: [UNREADABLE; PROBE_WORDS] };
    let mut parts = look.words().chunks(PROBE_WORDS);
    let first = parts.next().unwrap_or_default();
    record.words[..first.len()].copy_from_slice(first);
    record.count = look.words().len() as u64;
    // SAFETY: the caller's promise.
    unsafe {
        let time = write(state, mark, &record, None);
        write_more(state, &mut record, parts, time);
        time
    }
}

/// Writes words that had no room in a record, behind it.
///
/// # Safety
/// As [`keep`].
unsafe fn write_more<'w>(
    state: *mut ThreadState,
    record: &mut RawProbe,
    parts: impl Iterator<Item = &'w [u64]>,
    time: u64,
) {
    for part in parts {
        record.count = part.len() as u64;
        record.words[..part.len()].copy_from_slice(part);
        // SAFETY: the caller's promise.
        unsafe { write(state, MORE, record, Some(time)) };
    }
}

/// Writes a record to the probes' lane and gives its time, which is now unless it is given.
///
/// # Safety
/// `state` is the calling thread's own.
unsafe fn write(state: *mut ThreadState, mark: u32, record: &RawProbe, time: Option<u64>) -> u64 {
    // SAFETY: the caller's promise; a reserved record belongs to its thread until it is marked.
    unsafe {
        let position = AtomicU64::from_ptr(&raw mut (*state).probe_position);
        let mut reserved = position.fetch_add(get(Item::ProbeStride), Ordering::Relaxed);
        if is_past_end(reserved) {
            reserved = details::reserve_in_lane(state, Lane::Probe);
        }
        // Read last, so that the time is the event's own and no other's.
        let time = time.unwrap_or_else(arch::clock);
        let place = reserved as *mut RawProbe;
        place.write(RawProbe { detail: RawDetail { mark: 0, tsc: time, ..record.detail }, ..*record });
        if mark != MORE {
            details::add_to_probe(state, mark, place, record.detail.stack_pointer);
        }
        AtomicU32::from_ptr(&raw mut (*place).detail.mark).store(mark, Ordering::Release);
        time
    }
}
