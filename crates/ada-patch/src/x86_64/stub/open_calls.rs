//! The arguments of a probed call, from its stub to its exit: what the function gives back may be where they point.
//!
//! The agent keeps its own probed calls in the same place, with signals blocked. Stubs are interrupted anywhere: a handler that comes in
//! between has calls of its own, which are over when the stub goes on. It takes an entry that is free, and another call's only where all
//! are in use; so an entry is claimed first, and looked at last.

use std::mem::offset_of;

use ada_ring::ShadowFrame;
use ada_ring::probe::BASES_AT_CALL;
use ada_ring::state::{PROBE_CALLS, ProbeCall};
use iced_x86::IcedError;
use iced_x86::code_asm::{
    AsmMemoryOperand, AsmRegister64, CodeAssembler, CodeLabel, eax, ebx, edi, qword_ptr, r11, rax, rbx, rdi, rsi,
};

use super::thread_state::{OPEN_PROBES, PROBE_COUNT, SHADOW_TOP, field};

/// How many arguments are kept.
const ARGUMENTS: usize = 6;
const ENTRY: i32 = size_of::<ProbeCall>() as i32;
const ENTRIES: i32 = PROBE_CALLS as i32;
const FRAME: usize = offset_of!(ProbeCall, frame);
const SLOT: usize = offset_of!(ProbeCall, slot);
const PROBE: usize = offset_of!(ProbeCall, probe);
const REGISTERS: usize = offset_of!(ProbeCall, registers);

const _: () = assert!(PROBE_CALLS.is_power_of_two() && ARGUMENTS <= BASES_AT_CALL);

/// A word of the entry that is as many bytes behind the first as the register says.
fn word(entry: AsmRegister64, offset: usize) -> AsmMemoryOperand {
    qword_ptr(entry + OPEN_PROBES + offset as i32).gs()
}

/// Remembers the call of the newest frame, whose return slot is at `slot`. Changes rax, rbx, rdi, rsi and r11.
pub(super) fn open(
    a: &mut CodeAssembler,
    slot: AsmMemoryOperand,
    probe: AsmMemoryOperand,
    arguments: [AsmMemoryOperand; ARGUMENTS],
) -> Result<(), IcedError> {
    let (mut again, mut look, mut claim) = (a.create_label(), a.create_label(), a.create_label());
    a.lea(rdi, slot)?;
    a.mov(rsi, field(SHADOW_TOP))?;
    a.set_label(&mut again)?;
    a.mov(rax, field(PROBE_COUNT))?;
    a.inc(field(PROBE_COUNT))?;
    a.mov(ebx, ENTRIES)?;
    a.set_label(&mut look)?;
    a.and(eax, ENTRIES - 1)?;
    a.imul_3(r11, rax, ENTRY)?;
    a.cmp(word(r11, FRAME), 0)?;
    a.je(claim)?;
    a.inc(eax)?;
    a.dec(ebx)?;
    a.jne(look)?;
    a.set_label(&mut claim)?;
    a.mov(word(r11, FRAME), rsi)?;
    a.mov(word(r11, SLOT), rdi)?;
    a.mov(eax, probe)?;
    a.mov(word(r11, PROBE), rax)?;
    for (number, argument) in arguments.into_iter().enumerate() {
        a.mov(rax, argument)?;
        a.mov(word(r11, REGISTERS + 8 * number), rax)?;
    }
    a.cmp(word(r11, FRAME), rsi)?;
    a.jne(again)
}

/// Finds the call whose frame was just taken off, and whose return slot is at `slot`; goes to `none` where it is not there. Leaves its entry
/// in rdi; changes rbx and rsi.
pub(super) fn find(a: &mut CodeAssembler, slot: AsmMemoryOperand, none: CodeLabel) -> Result<(), IcedError> {
    let (mut look, mut other, mut found) = (a.create_label(), a.create_label(), a.create_label());
    a.mov(rsi, field(SHADOW_TOP))?;
    a.add(rsi, ShadowFrame::SIZE as i32)?;
    a.lea(rbx, slot)?;
    a.xor(edi, edi)?;
    a.set_label(&mut look)?;
    a.cmp(word(rdi, FRAME), rsi)?;
    a.jne(other)?;
    a.cmp(word(rdi, SLOT), rbx)?;
    a.je(found)?;
    a.set_label(&mut other)?;
    a.add(edi, ENTRY)?;
    a.cmp(edi, ENTRY * ENTRIES)?;
    a.jb(look)?;
    a.jmp(none)?;
    a.set_label(&mut found)?;
    a.nop()
}

/// The argument whose number is in rax, of the call that was found.
pub(super) fn argument() -> AsmMemoryOperand {
    qword_ptr(rdi + rax * 8 + (OPEN_PROBES + REGISTERS as i32)).gs()
}

/// The call that was found is over.
pub(super) fn close(a: &mut CodeAssembler) -> Result<(), IcedError> {
    a.mov(word(rdi, FRAME), 0)
}
