//! A function's switch: whether its calls are recorded or only counted.

use ada_ring::counters::WITHOUT_VALUES;
use iced_x86::code_asm::{AsmRegister32, AsmRegister64, CodeAssembler, al, eax, ecx, qword_ptr, rax, rcx};
use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};

use super::external::External;
use super::saved::restore_flags;
use super::thread_state::{COUNTERS, compare_owner, field};
use crate::{StubKind, StubOptions};

/// The start of a stub that catches returns: counts the call, or leaves for the recorder.
pub(super) fn counting_way(
    a: &mut CodeAssembler,
    kind: StubKind,
    keeps_flags: bool,
    options: &StubOptions,
) -> Result<(), IcedError> {
    a.push(rax)?;
    if keeps_flags {
        a.lahf()?;
        a.seto(al)?;
        a.push(rcx)?;
    }
    let (word, half) = if keeps_flags { (rcx, ecx) } else { (rax, eax) };
    compare_owner(a, word, options)?;
    a.jne(External::NoState.placeholder())?;
    compare_switch(a, half, kind)?;
    a.jbe(External::Recording.placeholder())?;
    count(a, word)?;
    if keeps_flags {
        a.pop(rcx)?;
        restore_flags(a)?;
    }
    a.pop(rax)
}

/// Counts a call; the switch's word is in `word`. One instruction, so that a signal handler finds it counted or not.
pub(super) fn count(a: &mut CodeAssembler, word: AsmRegister64) -> Result<(), IcedError> {
    a.add(word, field(COUNTERS))?;
    a.inc(qword_ptr(word))
}

/// Loads the switch's word, and compares it: "below or equal" is for calls that are recorded, with or without their values.
pub(super) fn compare_switch(a: &mut CodeAssembler, into: AsmRegister32, kind: StubKind) -> Result<(), IcedError> {
    load_switch(a, into)?;
    match kind {
        StubKind::Full | StubKind::EntryOnly => a.test(into, into),
        _ if kind.is_probed_if_guarded() => a.test(into, into),
        _ => a.cmp(into, WITHOUT_VALUES as i32),
    }
}

/// Loads the switch's word.
pub(super) fn load_switch(a: &mut CodeAssembler, into: AsmRegister32) -> Result<(), IcedError> {
    let switch = MemoryOperand::with_base_displ(Register::RIP, External::Switch.placeholder() as i64);
    a.add_instruction(Instruction::with2(Code::Mov_r32_rm32, into.into(), switch)?)
}
