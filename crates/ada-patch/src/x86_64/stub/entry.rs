//! The part of a stub that records a call: it runs where the function is entered.

use ada_ring::StackChange;
use ada_ring::arch::CONTEXT_STACK_POINTER;
use ada_ring::record::{HAS_DETAIL, IS_PROBED, RecordKind};
use ada_ring::shadow_frame::FRAME_KEEPS_RESULT;
use iced_x86::IcedError;
use iced_x86::code_asm::{CodeAssembler, CodeLabel, dword_ptr, eax, ecx, qword_ptr, rax, rcx, rdi, rdx, rsi, rsp};

use super::external::External;
use super::frame::{self, FRAME, RECORD};
use super::guard;
use super::record::{FUNCTION, TOP_AND_KIND, reserve, stamp};
use super::saved::{SLOT, restore, save, save_rest};
use super::switch::{compare_switch, count, load_switch};
use super::template::{FUNCTION_PLACEHOLDER, OFFSET_PLACEHOLDERS, PROBE_PLACEHOLDER};
use super::thread_state::{
    FLOOR_COMPLEMENT, KEPT_ROOM, KEPT_STRETCH, RECORD_LIMIT, SHADOW_LIMIT, SHADOW_TOP, SIGNAL_RETURN, compare_owner,
    field,
};
use super::uncaught::{ask_for_room, catch_handlers};
use crate::{StubKind, StubOptions};

/// So many ticks of the time-stamp counter are a stretch, as a power of two: some hundredths of a second …
const STRETCH_SHIFT: u32 = 26;
/// … for which a thread keeps registers of so many calls that nobody has asked for.
const MOST_KEPT: i32 = 1000;

/// Where in a recorder something leads to.
pub(super) struct Ways {
    pub(super) no_state: CodeLabel,
    pub(super) recording: CodeLabel,
}

/// Has the shared code record a call, and puts back what the stub has saved.
pub(super) fn plain_recorder(a: &mut CodeAssembler, ways: &mut Ways, keeps_flags: bool) -> Result<(), IcedError> {
    let (mut owned, mut handles, mut off) = (a.create_label(), a.create_label(), a.create_label());
    a.set_label(&mut ways.recording)?;
    save_rest(a, keeps_flags)?;
    a.set_label(&mut owned)?;
    a.push(FUNCTION_PLACEHOLDER)?;
    a.call(External::RecordCall.placeholder())?;
    // Flags stay as they are.
    a.pop(rax)?;
    a.je(handles)?;
    a.set_label(&mut off)?;
    restore(a)?;
    a.jmp(External::Displaced.placeholder())?;
    a.set_label(&mut handles)?;
    a.call(External::Handles.placeholder())?;
    a.jmp(off)?;
    a.set_label(&mut ways.no_state)?;
    save_rest(a, keeps_flags)?;
    a.call(External::Thread.placeholder())?;
    a.test(eax, eax)?;
    a.je(off)?;
    compare_switch(a, eax, StubKind::Full)?;
    a.jbe(owned)?;
    count(a, rax)?;
    a.jmp(off)
}

/// Records a call, and pushes a frame where the kind says that its exit is caught. Of kinds that only some functions are.
pub(super) fn recorder(
    a: &mut CodeAssembler,
    ways: &mut Ways,
    kind: StubKind,
    keeps_flags: bool,
    options: &StubOptions,
) -> Result<(), IcedError> {
    let (mut off, mut owned, mut fixed, mut reserved) =
        (a.create_label(), a.create_label(), a.create_label(), a.create_label());
    let (mut fix, mut no_room, mut uncaught, mut handles) =
        (a.create_label(), a.create_label(), a.create_label(), a.create_label());
    let mut caught = a.create_label();
    let (mut overwritten, mut counted, mut unrecorded) = (a.create_label(), a.create_label(), a.create_label());
    let Ways { no_state, recording } = ways;

    // The rare ways come first, out of the way of the straight one.
    a.set_label(no_state)?;
    if kind.catches_return() {
        save_rest(a, keeps_flags)?;
    }
    a.call(External::Thread.placeholder())?;
    a.test(eax, eax)?;
    a.je(off)?;
    if kind.catches_return() {
        compare_switch(a, eax, kind)?;
        a.jbe(owned)?;
        count(a, rax)?;
        a.jmp(off)?;
    } else {
        a.jmp(owned)?;
    }
    a.set_label(&mut fix)?;
    a.call(External::Fix.placeholder())?;
    a.mov(rdx, field(SHADOW_TOP))?;
    a.jmp(fixed)?;
    a.set_label(&mut no_room)?;
    a.call(External::Chunk.placeholder())?;
    a.mov(rdx, field(SHADOW_TOP))?;
    a.jmp(reserved)?;
    if kind.catches_return() {
        a.set_label(&mut uncaught)?;
        ask_for_room(a, fix)?;
        catch_handlers(a, SLOT, caught)?;
        a.mov(eax, FUNCTION_PLACEHOLDER)?;
        a.call(External::RecordEntryOnly.placeholder())?;
        a.jmp(off)?;
        a.set_label(&mut overwritten)?;
        a.sub(rdx, FRAME)?;
        a.jmp(reserved)?;
        a.set_label(&mut handles)?;
        a.call(External::Handles.placeholder())?;
        a.jmp(off)?;
        a.set_label(recording)?;
        save_rest(a, keeps_flags)?;
    } else {
        a.set_label(&mut counted)?;
        count(a, rax)?;
        a.jmp(if kind.stack_change().is_some() { unrecorded } else { off })?;
        a.set_label(recording)?;
        save(a)?;
        compare_owner(a, rax, options)?;
        a.jne(*no_state)?;
    }
    a.set_label(&mut owned)?;

    // A newest frame at or below our slot is dead, a probed call that goes on here, or on another stack.
    a.mov(rdx, field(SHADOW_TOP))?;
    a.lea(rax, qword_ptr(rsp + SLOT))?;
    a.not(rax)?;
    a.cmp(qword_ptr(rdx + frame::SLOT_WORD), rax)?;
    a.jae(fix)?;
    // What is below all that was seen of this stack may be on another one too.
    a.cmp(rax, field(FLOOR_COMPLEMENT))?;
    a.ja(fix)?;
    a.set_label(&mut fixed)?;
    if kind.catches_return() {
        a.cmp(rdx, field(SHADOW_LIMIT))?;
        a.jae(uncaught)?;
        a.set_label(&mut caught)?;
    } else {
        compare_switch(a, eax, kind)?;
        a.ja(counted)?;
        a.cmp(rdx, field(RECORD_LIMIT))?;
        a.jae(if kind.stack_change().is_some() { unrecorded } else { off })?;
    }

    reserve(a, no_room)?;
    a.set_label(&mut reserved)?;
    if kind.is_probed_if_guarded() {
        let (mut is_not, mut recorded) = (a.create_label(), a.create_label());
        if kind == StubKind::MutexWords {
            guard::leave_if_uncontended(a, is_not)?;
        } else {
            guard::leave_if_usual(a, is_not)?;
        }
        let kept = if kind == StubKind::GuardedFull { StubKind::RegistersCall } else { StubKind::WordsCall };
        record(a, kept, overwritten, options)?;
        a.jmp(recorded)?;
        a.set_label(&mut is_not)?;
        record(a, StubKind::Full, overwritten, options)?;
        a.set_label(&mut recorded)?;
    } else if kind == StubKind::NumberedFull {
        let (mut is_other, mut recorded) = (a.create_label(), a.create_label());
        a.cmp(rdi, OFFSET_PLACEHOLDERS[0])?;
        a.jne(is_other)?;
        record(a, StubKind::RegistersFull, overwritten, options)?;
        a.jmp(recorded)?;
        a.set_label(&mut is_other)?;
        record(a, StubKind::ProbedFull, overwritten, options)?;
        a.set_label(&mut recorded)?;
    } else if kind.is_probed() {
        let (mut without_values, mut recorded) = (a.create_label(), a.create_label());
        load_switch(a, eax)?;
        a.test(eax, eax)?;
        a.jne(without_values)?;
        if kind == StubKind::SeldomRegisters {
            leave_if_often(a, without_values)?;
            record(a, StubKind::RegistersFull, overwritten, options)?;
        } else {
            record(a, kind, overwritten, options)?;
        }
        // Where nothing else is to be done, an instruction can have one label only.
        a.jmp(if kind.catches_return() { recorded } else { off })?;
        a.set_label(&mut without_values)?;
        if kind.catches_return() {
            record(a, StubKind::Full, overwritten, options)?;
            a.set_label(&mut recorded)?;
        } else {
            record(a, StubKind::EntryOnly, overwritten, options)?;
        }
    } else {
        record(a, kind, overwritten, options)?;
    }

    if kind.catches_return() {
        a.mov(rax, qword_ptr(rsp + SLOT))?;
        a.cmp(rax, field(SIGNAL_RETURN))?;
        a.je(handles)?;
    }
    if let Some(change) = kind.stack_change() {
        a.set_label(&mut unrecorded)?;
        a.mov(ecx, change as i32)?;
        // The function is about to read it too: if it cannot be read, the program has its fault here.
        match change {
            StackChange::LongJump => a.xor(eax, eax)?,
            StackChange::SwapContext => a.mov(rax, qword_ptr(rsi + CONTEXT_STACK_POINTER as i32))?,
            StackChange::SetContext => a.mov(rax, qword_ptr(rdi + CONTEXT_STACK_POINTER as i32))?,
        }
        a.call(External::StackChange.placeholder())?;
    }
    a.set_label(&mut off)?;
    restore(a)?;
    a.jmp(External::Displaced.placeholder())
}

/// Goes to `often` once the thread has kept registers of as many calls as it may in this stretch of time.
fn leave_if_often(a: &mut CodeAssembler, often: CodeLabel) -> Result<(), IcedError> {
    let mut is_same = a.create_label();
    a.push(rdx)?;
    a.rdtsc()?;
    a.shl(rdx, 32)?;
    a.or(rax, rdx)?;
    a.shr(rax, STRETCH_SHIFT)?;
    a.pop(rdx)?;
    a.cmp(rax, field(KEPT_STRETCH))?;
    a.je(is_same)?;
    a.mov(field(KEPT_STRETCH), rax)?;
    a.mov(field(KEPT_ROOM), MOST_KEPT)?;
    a.set_label(&mut is_same)?;
    a.sub(field(KEPT_ROOM), 1)?;
    a.js(often)
}

/// Fills the record reserved in rcx, and pushes a frame where the kind says so.
fn record(
    a: &mut CodeAssembler,
    kind: StubKind,
    overwritten: CodeLabel,
    options: &StubOptions,
) -> Result<(), IcedError> {
    let mut bits = RecordKind::EntryOnly as i32;
    if kind.catches_return() {
        push_frame(a, kind, overwritten)?;
        // The record tells of the stack before the frame was pushed.
        bits = RecordKind::Call as i32 - FRAME;
    }
    if kind.is_probed() {
        bits += IS_PROBED as i32;
    } else if options.detail.is_some() {
        bits += HAS_DETAIL as i32;
    }
    a.mov(dword_ptr(rcx + FUNCTION), FUNCTION_PLACEHOLDER)?;
    a.lea(eax, dword_ptr(rdx + bits))?;
    a.mov(dword_ptr(rcx + TOP_AND_KIND), eax)?;
    if matches!(kind, StubKind::RegistersFull | StubKind::RegistersCall) {
        a.call(External::RegistersCall.placeholder())
    } else if kind.is_probed() {
        a.mov(eax, PROBE_PLACEHOLDER)?;
        let way = match kind {
            StubKind::WordsCall => External::WordsCall,
            StubKind::ReadsFull => External::ReadsCall,
            StubKind::ArgumentsFull => External::ArgumentsCall,
            _ => External::ProbeCall,
        };
        a.call(way.placeholder())
    } else if options.detail.is_some() {
        a.call(External::DetailCall.placeholder())
    } else {
        stamp(a)
    }
}

/// Pushes the frame of the function above the newest one in rdx, for the record reserved in rcx; leaves its address in
/// rdx. Goes to `overwritten` where a signal handler has used the memory before the top was moved.
///
/// The record is written after this, so that a handler which comes in between works above the frame. Should it jump
/// away, the frame tells whoever clears it up where the unwritten record is.
///
/// The slot word of a call whose return is probed is one more than that of others: it is equal to nobody's, and so the exit
/// looks closer.
fn push_frame(a: &mut CodeAssembler, kind: StubKind, overwritten: CodeLabel) -> Result<(), IcedError> {
    let slot_word = |a: &mut CodeAssembler| {
        a.lea(rax, qword_ptr(rsp + SLOT))?;
        if kind.is_probed_at_return() { a.neg(rax) } else { a.not(rax) }
    };
    // The slot word comes first, and is looked at last: whoever used the memory meanwhile has written another.
    slot_word(a)?;
    a.mov(qword_ptr(rdx + FRAME + frame::SLOT_WORD), rax)?;
    a.mov(rax, qword_ptr(rsp + SLOT))?;
    a.mov(qword_ptr(rdx + FRAME + frame::RETURN_ADDRESS), rax)?;
    a.mov(dword_ptr(rdx + FRAME + frame::FUNCTION), FUNCTION_PLACEHOLDER)?;
    if kind.keeps_result() {
        a.mov(dword_ptr(rdx + FRAME + frame::PROBE), PROBE_PLACEHOLDER)?;
        a.lea(eax, dword_ptr(rcx + FRAME_KEEPS_RESULT as i32))?;
        a.mov(dword_ptr(rdx + FRAME + RECORD), eax)?;
    } else {
        a.mov(dword_ptr(rdx + FRAME + RECORD), ecx)?;
    }
    slot_word(a)?;
    a.add(rdx, FRAME)?;
    a.mov(field(SHADOW_TOP), rdx)?;
    a.cmp(qword_ptr(rdx + frame::SLOT_WORD), rax)?;
    a.jne(overwritten)
}

/// Tells the recorder of new libraries.
pub(super) fn loader_stub(a: &mut CodeAssembler, ways: &mut Ways) -> Result<(), IcedError> {
    a.set_label(&mut ways.recording)?;
    save(a)?;
    a.call(External::Loader.placeholder())?;
    a.set_label(&mut ways.no_state)?;
    restore(a)?;
    a.jmp(External::Displaced.placeholder())
}
