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
//! A switch per function says whether this happens at all. It is a word of the arena, changed from outside while the
//! program runs: 0 for the whole of it; otherwise the call is only counted, and the word is the place of the function's
//! counter in the thread's block of them. That way is the shortest there is: one register, no flags where the function
//! does not look at them (see [`crate::x86_64::flags`]), nothing that another thread writes. It lies right before the displaced
//! instructions and close to those of its neighbours, because with calls every few nanoseconds the processor's caches
//! for instructions, branches and pages are what it costs most.
//!
//! Every register and flag is as it was when the function itself runs: with inter-procedural register allocation,
//! compilers rely even on r10 and r11 surviving a call. The return is caught by a *balanced* call of the relocated
//! prologue, so that the processor's return predictor stays right.
//!
//! A signal can arrive between any two instructions, and its handler may never come back. The handler's own events use
//! the same thread state: hence the position is advanced by one `xadd`, a frame is complete before the top is moved
//! over it, and the record's time stamp is stored last.

pub(crate) mod capture;
pub(crate) mod shared_code;

use ada_ring::chunk::PAST_END_MASK;
use ada_ring::record::{HAS_DETAIL, IS_PROBED, RecordKind};
use ada_ring::state::{OWNER_DISTANCE, ThreadState, covered};
use ada_ring::{DetailShape, RawRecord, ShadowFrame, StackChange};
use iced_x86::code_asm::{
    AsmRegister32, AsmRegister64, CodeAssembler, CodeLabel, al, ax, byte_ptr, dword_ptr, eax, ecx, qword_ptr, rax, rcx,
    rdx, rsp,
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
    /// The word that switches the function: see [`crate::Arena`].
    Switch,
    /// In the function's recorder: what is done where the thread has no state yet.
    NoState,
    /// In the function's recorder: what is done where the call is to be recorded.
    Recording,
    /// The function's displaced instructions.
    Displaced,
}

impl External {
    const ALL: [Self; 14] = [
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
        Self::NoState,
        Self::Recording,
        Self::Displaced,
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
const COUNTERS: i32 = offset_of!(ThreadState, counters) as i32;
const FRAME: i32 = ShadowFrame::SIZE as i32;
const SLOT: i32 = 32;
pub(crate) const RECORD: i32 = offset_of!(ShadowFrame, record_and_flags) as i32;

/// Code with holes: relative references to the arena's common code, and the function's number.
pub(crate) struct Template {
    pub(crate) code: Vec<u8>,
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

/// The two parts of a stub.
pub(crate) struct StubTemplate {
    /// Counts the call, or leaves for the recorder. Right in front of the displaced instructions; nothing for a
    /// function whose return is not caught.
    pub(crate) counter: Template,
    /// Records the call.
    pub(crate) recorder: Template,
    /// Where in the recorder it goes on, by way.
    no_state: usize,
    recording: usize,
}

impl StubTemplate {
    /// `keeps_flags` where the function may look at the flags that its caller has left.
    pub(crate) fn new(kind: StubKind, keeps_flags: bool, options: &StubOptions) -> Result<Self, IcedError> {
        let mut a = CodeAssembler::new(64)?;
        let mut ways = Ways { no_state: a.create_label(), recording: a.create_label() };
        match kind {
            StubKind::Loader => loader_stub(&mut a, &mut ways)?,
            _ => recorder(&mut a, &mut ways, kind, keeps_flags, options)?,
        }
        let assembled = a.assemble_options(TEMPLATE_IP, BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS)?;
        let offset = |label| Ok::<_, IcedError>((assembled.label_ip(label)? - TEMPLATE_IP) as usize);
        let (no_state, recording) = (offset(&ways.no_state)?, offset(&ways.recording)?);
        let mut counter = CodeAssembler::new(64)?;
        if kind.catches_return() {
            counting_way(&mut counter, keeps_flags, options)?;
        }
        Ok(Self {
            counter: Template::with_holes(counter.assemble(TEMPLATE_IP)?),
            recorder: Template::with_holes(assembled.inner.code_buffer),
            no_state,
            recording,
        })
    }

    /// Where a stub whose recorder is at `recorder` has one of the places in it.
    pub(crate) fn place(&self, external: External, recorder: u64) -> Option<u64> {
        match external {
            External::NoState => Some(recorder + self.no_state as u64),
            External::Recording => Some(recorder + self.recording as u64),
            _ => None,
        }
    }

    /// Where the function's jump leads.
    pub(crate) fn entry(&self, counter: u64, recorder: u64) -> u64 {
        if self.counter.code.is_empty() { recorder + self.recording as u64 } else { counter }
    }
}

/// The places in a recorder that something leads to.
struct Ways {
    no_state: CodeLabel,
    recording: CodeLabel,
}

impl Template {
    fn with_holes(code: Vec<u8>) -> Self {
        let (references, [function_numbers, probe_numbers]) = find_holes(&code);
        Self { code, references, function_numbers, probe_numbers }
    }

    /// Appends the code for address `at`, with its holes filled.
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

fn recorder(
    a: &mut CodeAssembler,
    ways: &mut Ways,
    kind: StubKind,
    keeps_flags: bool,
    options: &StubOptions,
) -> Result<(), IcedError> {
    let (mut off, mut owned, mut fixed, mut reserved) =
        (a.create_label(), a.create_label(), a.create_label(), a.create_label());
    let (mut fix, mut no_room, mut uncaught, mut after) =
        (a.create_label(), a.create_label(), a.create_label(), a.create_label());
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
        load_switch(a, eax)?;
        a.test(eax, eax)?;
        a.je(owned)?;
        count(a, rax)?;
        a.jmp(off)?;
    } else {
        a.jmp(owned)?;
    }
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
        // Not before this: such a function may look at its return slot, which has to be a real one by then.
        load_switch(a, eax)?;
        a.test(eax, eax)?;
        a.jne(counted)?;
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
        a.call(External::Displaced.placeholder())?;
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
    a.jmp(External::Displaced.placeholder())
}

/// The start of a stub that catches returns: counts the call, or leaves for the recorder.
fn counting_way(a: &mut CodeAssembler, keeps_flags: bool, options: &StubOptions) -> Result<(), IcedError> {
    a.push(rax)?;
    if keeps_flags {
        a.lahf()?;
        a.seto(al)?;
        a.push(rcx)?;
    }
    let (word, half) = if keeps_flags { (rcx, ecx) } else { (rax, eax) };
    compare_owner(a, word, options)?;
    a.jne(External::NoState.placeholder())?;
    load_switch(a, half)?;
    a.test(half, half)?;
    a.je(External::Recording.placeholder())?;
    count(a, word)?;
    if keeps_flags {
        a.pop(rcx)?;
        restore_flags(a)?;
    }
    a.pop(rax)
}

/// Counts a call; the switch's word is in `word`. One instruction, so that a signal handler finds it counted or not.
fn count(a: &mut CodeAssembler, word: AsmRegister64) -> Result<(), IcedError> {
    a.add(word, qword_ptr(COUNTERS).gs())?;
    a.inc(qword_ptr(word))
}

/// What [`save`] does behind the start of [`counting_way`].
fn save_rest(a: &mut CodeAssembler, keeps_flags: bool) -> Result<(), IcedError> {
    if !keeps_flags {
        a.push(rcx)?;
    }
    a.push(rdx)?;
    a.push(rax)
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

fn loader_stub(a: &mut CodeAssembler, ways: &mut Ways) -> Result<(), IcedError> {
    a.set_label(&mut ways.recording)?;
    save(a)?;
    a.call(External::Loader.placeholder())?;
    a.set_label(&mut ways.no_state)?;
    restore(a)?;
    a.jmp(External::Displaced.placeholder())
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

/// Compares the thread with its state's owner.
pub(crate) fn compare_owner(
    a: &mut CodeAssembler,
    scratch: AsmRegister64,
    options: &StubOptions,
) -> Result<(), IcedError> {
    if options.owner_by_word {
        a.mov(scratch, qword_ptr(0).fs())?;
    } else {
        a.rdfsbase(scratch)?;
    }
    a.cmp(scratch, qword_ptr(OWNER).gs())
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
    restore_flags(a)?;
    a.pop(rdx)?;
    a.pop(rcx)?;
    a.pop(rax)
}

/// From what `lahf` and `seto` have left in rax.
fn restore_flags(a: &mut CodeAssembler) -> Result<(), IcedError> {
    // 1 + 0x7f overflows, 0 + 0x7f does not; sahf leaves the overflow flag alone.
    a.add(al, 0x7f)?;
    a.sahf()
}

fn load_switch(a: &mut CodeAssembler, into: AsmRegister32) -> Result<(), IcedError> {
    let switch = MemoryOperand::with_base_displ(Register::RIP, External::Switch.placeholder() as i64);
    a.add_instruction(Instruction::with2(Code::Mov_r32_rm32, into.into(), switch)?)
}
