//! The stub that a patched function jumps to: one template per kind, copied and fixed up for each function.
//!
//! On entry the stack is as the caller left it; the stub saves what it needs below:
//!
//! ```text
//! rsp+32  return slot        <- moved to the shadow stack; the call below pushes the stub's own address here
//! rsp+24  rax
//! rsp+16  rcx
//! rsp+8   rdx
//! rsp+0   flags, as lahf and seto leave them in rax
//! ```
//!
//! Every register and flag is as it was when the function itself runs: with inter-procedural register allocation,
//! compilers rely even on r10 and r11 surviving a call. The return is caught by a *balanced* call of the relocated
//! prologue, so that the processor's return predictor stays right.
//!
//! A signal can arrive between any two instructions, and its handler may never come back. The handler's own events use
//! the same thread state: hence the position is advanced by one `xadd`, a frame is complete before the top is moved
//! over it, and the record's time stamp is stored last.

use ada_ring::chunk::PAST_END_MASK;
use ada_ring::record::{HAS_DETAIL, IS_PROBED, RecordKind};
use ada_ring::state::{OWNER_DISTANCE, ShadowFrame, StackChange, ThreadState, covered};
use ada_ring::{DetailShape, RawRecord};
use iced_x86::code_asm::{
    CodeAssembler, CodeLabel, al, ax, byte_ptr, dword_ptr, eax, ecx, qword_ptr, rax, rcx, rdx, rsp,
};
use iced_x86::{
    BlockEncoderOptions, Code, Decoder, DecoderOptions, IcedError, Instruction, MemoryOperand, OpKind, Register,
};
use std::mem::offset_of;

/// What a stub does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StubKind {
    /// Records the call and catches the return.
    Full,
    /// Records the call.
    EntryOnly,
    /// Records the call after all return addresses have been put back: frames may be unwound.
    Unwinder,
    /// The same for a function that only looks at the frames.
    Walker,
    /// Records the call, and that the stack goes back to where a `jmp_buf` says.
    LongJump,
    /// Records the call, and that another stack takes over, as the `ucontext_t` in the second argument says.
    SwapContext,
    /// The same for the first argument.
    SetContext,
    /// As `Full`, for a runtime probe: the agent keeps what it sees.
    ProbedFull,
    /// As `EntryOnly`, for a runtime probe.
    ProbedEntry,
    /// Records nothing: tells the recorder that the set of loaded libraries has changed.
    Loader,
}

impl StubKind {
    pub(crate) const ALL: [Self; 10] = [
        Self::Full,
        Self::EntryOnly,
        Self::Unwinder,
        Self::Walker,
        Self::LongJump,
        Self::SwapContext,
        Self::SetContext,
        Self::ProbedFull,
        Self::ProbedEntry,
        Self::Loader,
    ];

    /// The kind for a function that a runtime probe is about.
    pub(crate) const fn probed(self) -> Self {
        match self {
            Self::Full => Self::ProbedFull,
            Self::EntryOnly => Self::ProbedEntry,
            other => other,
        }
    }

    const fn catches_return(self) -> bool {
        matches!(self, Self::Full | Self::ProbedFull)
    }

    const fn is_probed(self) -> bool {
        matches!(self, Self::ProbedFull | Self::ProbedEntry)
    }

    /// What the agent is told of the call, where it has to hear of it.
    const fn stack_change(self) -> Option<StackChange> {
        match self {
            Self::Unwinder => Some(StackChange::Unwind),
            Self::Walker => Some(StackChange::Walk),
            Self::LongJump => Some(StackChange::LongJump),
            Self::SwapContext => Some(StackChange::SwapContext),
            Self::SetContext => Some(StackChange::SetContext),
            Self::Full | Self::EntryOnly | Self::ProbedFull | Self::ProbedEntry | Self::Loader => None,
        }
    }
}

/// What all stubs of a target have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StubOptions {
    /// A thread is known by the word at its FS base, which the C libraries make the base itself: eight times as fast to
    /// read as the base. Not before thread-local storage is set up, as at the start of a static program.
    pub owner_by_word: bool,
    /// What is captured with each call and return; `None` for nothing.
    pub detail: Option<DetailShape>,
}

/// Code and data of the arena that a stub refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum External {
    Thread,
    Chunk,
    Fix,
    StackChange,
    Loader,
    RecordEntryOnly,
    Return,
    /// Captures registers and stack, and publishes the record.
    DetailCall,
    /// The same for a runtime probe.
    ProbeCall,
    /// The return path of a runtime probe.
    ProbeReturn,
    /// The byte that switches the function off.
    Switch,
}

impl External {
    const ALL: [Self; 11] = [
        Self::Thread,
        Self::Chunk,
        Self::Fix,
        Self::StackChange,
        Self::Loader,
        Self::RecordEntryOnly,
        Self::Return,
        Self::DetailCall,
        Self::ProbeCall,
        Self::ProbeReturn,
        Self::Switch,
    ];

    /// A made-up address by which the external is found again in the assembled template.
    fn placeholder(self) -> u64 {
        TEMPLATE_IP + 0x0100_0000 * (self as u64 + 1)
    }
}

const TEMPLATE_IP: u64 = 0x1000_0000;
const FUNCTION_PLACEHOLDER: i32 = 0x1122_3344;
const PROBE_PLACEHOLDER: i32 = 0x1122_3355;

pub(crate) const SHADOW_TOP: i32 = offset_of!(ThreadState, shadow_top) as i32;
pub(crate) const POSITION: i32 = offset_of!(ThreadState, index_position) as i32;
pub(crate) const RECORD_LIMIT: i32 = offset_of!(ThreadState, record_limit) as i32;
const OWNER: i32 = -(OWNER_DISTANCE as i32);
const FRAME: i32 = ShadowFrame::SIZE as i32;
const SLOT: i32 = 32;
pub(crate) const RECORD: i32 = offset_of!(ShadowFrame, record_and_flags) as i32;

/// A stub with holes: relative references to the arena's common code, and the function's number.
pub(crate) struct Template {
    pub(crate) code: Vec<u8>,
    /// Where in the code the stub is entered.
    pub(crate) entry: usize,
    references: Vec<Reference>,
    function_numbers: Vec<usize>,
    probe_numbers: Vec<usize>,
}

struct Reference {
    at: usize,
    /// The end of the instruction, from which the processor counts.
    from: usize,
    external: External,
}

impl Template {
    pub(crate) fn new(kind: StubKind, options: &StubOptions) -> Result<Self, IcedError> {
        let mut a = CodeAssembler::new(64)?;
        let mut entry = a.create_label();
        match kind {
            StubKind::Loader => loader_stub(&mut a, &mut entry)?,
            _ => recording_stub(&mut a, &mut entry, kind, options)?,
        }
        let assembled = a.assemble_options(TEMPLATE_IP, BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS)?;
        let entry = (assembled.label_ip(&entry)? - TEMPLATE_IP) as usize;
        let code = assembled.inner.code_buffer;
        let (references, [function_numbers, probe_numbers]) = find_holes(&code);
        Ok(Self { code, entry, references, function_numbers, probe_numbers })
    }

    /// Appends the stub for address `at`, with its holes filled.
    pub(crate) fn emit(
        &self,
        at: u64,
        function: u32,
        probe: u32,
        address_of: impl Fn(External) -> u64,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        out.extend_from_slice(&self.code);
        for (holes, number) in [(&self.function_numbers, function), (&self.probe_numbers, probe)] {
            for hole in holes {
                out[start + hole..][..4].copy_from_slice(&number.to_le_bytes());
            }
        }
        for reference in &self.references {
            let distance = address_of(reference.external).wrapping_sub(at + reference.from as u64) as u32;
            out[start + reference.at..][..4].copy_from_slice(&distance.to_le_bytes());
        }
    }
}

fn find_holes(code: &[u8]) -> (Vec<Reference>, [Vec<usize>; 2]) {
    let (mut references, mut numbers) = (Vec::new(), [Vec::new(), Vec::new()]);
    let mut decoder = Decoder::with_ip(64, code, TEMPLATE_IP, DecoderOptions::NONE);
    while decoder.can_decode() {
        let instruction = decoder.decode();
        let offsets = decoder.get_constant_offsets(&instruction);
        let start = (instruction.ip() - TEMPLATE_IP) as usize;
        let (target, hole) = if instruction.op0_kind() == OpKind::NearBranch64 {
            (instruction.near_branch64(), offsets.immediate_offset())
        } else if instruction.is_ip_rel_memory_operand() {
            (instruction.ip_rel_memory_address(), offsets.displacement_offset())
        } else {
            (0, 0)
        };
        if let Some(&external) = External::ALL.iter().find(|external| external.placeholder() == target) {
            references.push(Reference { at: start + hole, from: start + instruction.len(), external });
        }
        let is_number = offsets.has_immediate() && offsets.immediate_size() == 4;
        let immediate = start + offsets.immediate_offset();
        for (holes, placeholder) in numbers.iter_mut().zip([FUNCTION_PLACEHOLDER, PROBE_PLACEHOLDER]) {
            if is_number && code[immediate..immediate + 4] == placeholder.to_le_bytes() {
                holes.push(immediate);
            }
        }
    }
    (references, numbers)
}

fn recording_stub(
    a: &mut CodeAssembler,
    entry: &mut CodeLabel,
    kind: StubKind,
    options: &StubOptions,
) -> Result<(), IcedError> {
    let (mut off, mut owned, mut fixed, mut reserved) =
        (a.create_label(), a.create_label(), a.create_label(), a.create_label());
    let (mut no_state, mut fix, mut no_room, mut uncaught) =
        (a.create_label(), a.create_label(), a.create_label(), a.create_label());
    let (mut after, mut relocated, mut unrecorded) = (a.create_label(), a.create_label(), a.create_label());
    let mut overwritten = a.create_label();

    // The rare ways come first, out of the way of the straight one.
    a.set_label(&mut no_state)?;
    a.call(External::Thread.placeholder())?;
    a.test(eax, eax)?;
    a.jne(owned)?;
    a.jmp(off)?;
    a.set_label(&mut fix)?;
    a.call(External::Fix.placeholder())?;
    a.mov(rdx, qword_ptr(SHADOW_TOP).gs())?;
    a.jmp(fixed)?;
    a.set_label(&mut no_room)?;
    a.call(External::Chunk.placeholder())?;
    a.mov(rdx, qword_ptr(SHADOW_TOP).gs())?;
    a.jmp(reserved)?;
    if kind.catches_return() {
        a.set_label(&mut uncaught)?;
        a.mov(eax, FUNCTION_PLACEHOLDER)?;
        a.call(External::RecordEntryOnly.placeholder())?;
        a.jmp(off)?;
        a.set_label(&mut overwritten)?;
        a.sub(rdx, FRAME)?;
        a.jmp(reserved)?;
    }

    a.set_label(entry)?;
    save(a)?;
    compare_owner(a, options)?;
    a.jne(no_state)?;
    a.set_label(&mut owned)?;
    compare_switch(a)?;
    a.jne(off)?;

    // A newest frame at or below our slot is dead, a tail caller, or on another stack.
    a.mov(rdx, qword_ptr(SHADOW_TOP).gs())?;
    a.lea(rax, qword_ptr(rsp + SLOT))?;
    a.not(rax)?;
    a.cmp(qword_ptr(rdx), rax)?;
    a.jae(fix)?;
    a.set_label(&mut fixed)?;
    if kind.catches_return() {
        check_catchable(a, uncaught)?;
    } else {
        a.cmp(rdx, qword_ptr(RECORD_LIMIT).gs())?;
        a.jae(if kind.stack_change().is_some() { unrecorded } else { off })?;
    }

    reserve(a, no_room)?;
    a.set_label(&mut reserved)?;
    let mut bits = RecordKind::EntryOnly as i32;
    if kind.catches_return() {
        push_frame(a, after, overwritten)?;
        // The record tells of the stack before the frame was pushed.
        bits = RecordKind::Call as i32 - FRAME;
    }
    if kind.is_probed() {
        bits += IS_PROBED as i32;
    } else if options.detail.is_some() {
        bits += HAS_DETAIL as i32;
    }
    a.mov(dword_ptr(rcx + 8), FUNCTION_PLACEHOLDER)?;
    a.lea(eax, dword_ptr(rdx + bits))?;
    a.mov(dword_ptr(rcx + 12), eax)?;
    if kind.is_probed() {
        a.mov(eax, PROBE_PLACEHOLDER)?;
        a.call(External::ProbeCall.placeholder())?;
    } else if options.detail.is_some() {
        a.call(External::DetailCall.placeholder())?;
    } else {
        stamp(a)?;
    }

    if kind.catches_return() {
        restore(a)?;
        a.lea(rsp, qword_ptr(rsp + 8))?;
        a.call(relocated)?;
        a.set_label(&mut after)?;
        a.jmp(if kind.is_probed() { External::ProbeReturn } else { External::Return }.placeholder())?;
    }
    if let Some(change) = kind.stack_change() {
        a.set_label(&mut unrecorded)?;
        a.mov(ecx, change as i32)?;
        a.call(External::StackChange.placeholder())?;
    }
    a.set_label(&mut off)?;
    restore(a)?;
    a.set_label(&mut relocated)?;
    a.zero_bytes()
}

/// Pushes the frame of the function above the newest one in rdx, for the record reserved in rcx; leaves its address in
/// rdx. Goes to `overwritten` where a signal handler has used the place before the top was moved.
///
/// The record is written after this, so that a handler which comes in between works above the frame. Should it jump
/// away, the frame tells whoever clears it up where the unwritten record is.
fn push_frame(a: &mut CodeAssembler, after: CodeLabel, overwritten: CodeLabel) -> Result<(), IcedError> {
    // The slot word comes first, and is looked at last: whoever used the place meanwhile has written another.
    a.lea(rax, qword_ptr(rsp + SLOT))?;
    a.not(rax)?;
    a.mov(qword_ptr(rdx + FRAME), rax)?;
    a.mov(rax, qword_ptr(rsp + SLOT))?;
    a.mov(qword_ptr(rdx + FRAME + offset_of!(ShadowFrame, return_address) as i32), rax)?;
    a.mov(dword_ptr(rdx + FRAME + offset_of!(ShadowFrame, function) as i32), FUNCTION_PLACEHOLDER)?;
    a.mov(dword_ptr(rdx + FRAME + RECORD), ecx)?;
    a.lea(rax, qword_ptr(after))?;
    a.mov(qword_ptr(rdx + FRAME + offset_of!(ShadowFrame, trampoline) as i32), rax)?;
    a.lea(rax, qword_ptr(rsp + SLOT))?;
    a.not(rax)?;
    a.add(rdx, FRAME)?;
    a.mov(qword_ptr(SHADOW_TOP).gs(), rdx)?;
    a.cmp(qword_ptr(rdx), rax)?;
    a.jne(overwritten)
}

fn loader_stub(a: &mut CodeAssembler, entry: &mut CodeLabel) -> Result<(), IcedError> {
    a.set_label(entry)?;
    save(a)?;
    a.call(External::Loader.placeholder())?;
    restore(a)
}

/// Leaves for `uncaught` where the shadow stack is full, or where the return address lies in code without unwind
/// information. Expects the shadow stack's top in rdx, and keeps it.
fn check_catchable(a: &mut CodeAssembler, uncaught: CodeLabel) -> Result<(), IcedError> {
    a.cmp(rdx, qword_ptr(offset_of!(ThreadState, shadow_limit) as i32).gs())?;
    a.jae(uncaught)?;
    a.mov(rax, qword_ptr(rsp + SLOT))?;
    a.mov(rcx, qword_ptr(offset_of!(ThreadState, covered) as i32).gs())?;
    // A return slot can hold anything: keep the index within the table.
    a.shl(rax, 64 - 47)?;
    a.shr(rax, 64 - 47 + covered::LEAF_SHIFT as i32)?;
    a.mov(eax, dword_ptr(rcx + rax * 4 + covered::FIRST_LEVEL as i32))?;
    a.add(rcx, rax)?;
    // The page within the leaf: bits 12 to 27 of the address, from a load that starts at bit 8.
    a.mov(eax, dword_ptr(rsp + SLOT + 1))?;
    a.shr(eax, 4)?;
    a.movzx(eax, ax)?;
    a.cmp(byte_ptr(rcx + rax), 0)?;
    a.je(uncaught)
}

/// Leaves the place of the next record in rcx; jumps to `no_room` where the chunk is full. Clobbers rax.
pub(crate) fn reserve(a: &mut CodeAssembler, no_room: CodeLabel) -> Result<(), IcedError> {
    a.mov(ecx, RawRecord::SIZE as i32)?;
    a.xadd(qword_ptr(POSITION).gs(), rcx)?;
    a.mov(eax, ecx)?;
    a.not(eax)?;
    a.test(eax, PAST_END_MASK as i32)?;
    a.je(no_room)
}

/// Reads the clock and publishes the record at rcx with it. Clobbers rax and rdx.
pub(crate) fn stamp(a: &mut CodeAssembler) -> Result<(), IcedError> {
    a.rdtsc()?;
    a.shl(rdx, 32)?;
    a.or(rax, rdx)?;
    a.mov(qword_ptr(rcx), rax)
}

/// Compares the thread with its state's owner. Clobbers rax.
pub(crate) fn compare_owner(a: &mut CodeAssembler, options: &StubOptions) -> Result<(), IcedError> {
    if options.owner_by_word {
        a.mov(rax, qword_ptr(0).fs())?;
    } else {
        a.rdfsbase(rax)?;
    }
    a.cmp(rax, qword_ptr(OWNER).gs())
}

pub(crate) fn save(a: &mut CodeAssembler) -> Result<(), IcedError> {
    a.push(rax)?;
    a.push(rcx)?;
    a.push(rdx)?;
    a.lahf()?;
    a.seto(al)?;
    a.push(rax)
}

pub(crate) fn restore(a: &mut CodeAssembler) -> Result<(), IcedError> {
    a.pop(rax)?;
    // 1 + 0x7f overflows, 0 + 0x7f does not; sahf leaves the overflow flag alone.
    a.add(al, 0x7f)?;
    a.sahf()?;
    a.pop(rdx)?;
    a.pop(rcx)?;
    a.pop(rax)
}

fn compare_switch(a: &mut CodeAssembler) -> Result<(), IcedError> {
    let switch = MemoryOperand::with_base_displ(Register::RIP, External::Switch.placeholder() as i64);
    a.add_instruction(Instruction::with2(Code::Cmp_rm8_imm8, switch, 0)?)
}
