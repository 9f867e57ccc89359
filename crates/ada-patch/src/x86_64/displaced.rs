//! The instructions that a patch overwrites, and how they run elsewhere.

use ada_event::RuntimeAddr;
use ada_ring::arch::RAX;
use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionBlock,
    MemoryOperand, Mnemonic, OpKind, Register,
};

use super::jump::{JUMP_BYTES, push_jump};
use super::stub::StackUse;
use crate::SkipReason;
use crate::moved_code::{MovedCode, MovedWay};

/// How a displaced sequence ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It goes on behind the patch.
    FallsThrough,
    /// It leaves for good.
    Leaves,
    /// It calls, and the callee comes back behind the patch.
    Calls,
}

/// Up to four bytes are short of a jump, and the instruction that completes it has at most fifteen.
const MOST_DISPLACED: usize = JUMP_BYTES - 1 + 15;

/// Whole instructions that cover at least the bytes of a jump at a function's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Displaced {
    /// Their bytes, as they stand in the image, and zeroes.
    bytes: [u8; MOST_DISPLACED],
    length: u8,
    end: End,
    /// Whether the bytes mean the same anywhere.
    movable_as_bytes: bool,
}

impl Displaced {
    /// The instructions that a jump of `jump` bytes overwrites, from `bytes` that begin where it goes and reach to the end
    /// of the code.
    pub(crate) fn decode(bytes: &[u8], jump: usize) -> Result<Self, SkipReason> {
        if bytes.len() < jump {
            return Err(SkipReason::TooShort);
        }
        let mut decoder = Decoder::new(64, bytes, DecoderOptions::NONE);
        let mut length = 0;
        let mut end = End::FallsThrough;
        let mut movable_as_bytes = true;
        let mut kept = 0;
        while length < jump {
            let instruction = decoder.decode();
            if instruction.is_invalid() {
                return Err(SkipReason::Undecodable);
            }
            length += instruction.len();
            if end != End::FallsThrough {
                // Behind a leaving instruction only padding may be overwritten.
                if !matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3) {
                    return Err(SkipReason::TooShort);
                }
                continue;
            }
            kept = length;
            movable_as_bytes &= is_movable_as_bytes(&instruction);
            end = match instruction.flow_control() {
                FlowControl::Return | FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => End::Leaves,
                // What a call returns to must not be overwritten.
                FlowControl::Call | FlowControl::IndirectCall
                    if length < jump && instruction.mnemonic() != Mnemonic::Syscall =>
                {
                    return Err(SkipReason::Unmovable);
                }
                // A system call counts as a call, but comes back like any instruction.
                FlowControl::Call if instruction.mnemonic() == Mnemonic::Syscall => End::FallsThrough,
                FlowControl::Call => End::Calls,
                FlowControl::IndirectCall if is_movable_call(&instruction) => End::Calls,
                FlowControl::IndirectCall | FlowControl::XbeginXabortXend => return Err(SkipReason::Unmovable),
                // A handler may go on behind an instruction that traps.
                FlowControl::Next
                | FlowControl::ConditionalBranch
                | FlowControl::Interrupt
                | FlowControl::Exception => End::FallsThrough,
            };
            if matches!(
                instruction.mnemonic(),
                Mnemonic::Loop | Mnemonic::Loope | Mnemonic::Loopne | Mnemonic::Jrcxz | Mnemonic::Jecxz
            ) {
                return Err(SkipReason::Unmovable);
            }
        }
        let patched = 1..jump as u64;
        let mut displaced = Self { bytes: [0; MOST_DISPLACED], length: kept as u8, end, movable_as_bytes };
        displaced.bytes[..kept].copy_from_slice(&bytes[..kept]);
        let branches_into_itself = displaced.instructions(0).iter().any(|instruction| {
            instruction.op0_kind() == OpKind::NearBranch64 && patched.contains(&instruction.near_branch64())
        });
        if branches_into_itself { Err(SkipReason::BranchIntoPatch) } else { Ok(displaced) }
    }

    /// The instructions' bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Whether the last of the instructions leaves for elsewhere.
    pub(crate) fn leaves(&self) -> bool {
        self.end == End::Leaves
    }

    /// Whether a copy has the same bytes.
    pub(crate) fn moves_as_bytes(&self) -> bool {
        self.movable_as_bytes && self.end != End::Calls
    }

    /// The instructions, with the addresses that they have at `start`.
    fn instructions(&self, start: u64) -> Vec<Instruction> {
        Decoder::with_ip(64, self.bytes(), start, DecoderOptions::NONE).iter().collect()
    }

    pub(crate) const STORED_BYTES: usize = 3 + MOST_DISPLACED;

    pub(crate) fn store(&self) -> [u8; Self::STORED_BYTES] {
        let mut stored = [0; Self::STORED_BYTES];
        stored[..3].copy_from_slice(&[self.length, self.end as u8, u8::from(self.movable_as_bytes)]);
        stored[3..].copy_from_slice(&self.bytes);
        stored
    }

    pub(crate) fn restore(stored: &[u8; Self::STORED_BYTES]) -> Option<Self> {
        let [length, end, movable_as_bytes @ 0..=1, bytes @ ..] = *stored else { return None };
        let end = [End::FallsThrough, End::Leaves, End::Calls].into_iter().find(|known| *known as u8 == end)?;
        let fits = (1..=MOST_DISPLACED).contains(&usize::from(length));
        fits.then_some(Self { bytes, length, end, movable_as_bytes: movable_as_bytes == 1 })
    }

    /// The most bytes that [`Self::relocate`] appends.
    pub(crate) const MOST_BYTES: usize = 128;

    /// Appends code for address `at` that does what the instructions did at `start`, and goes on behind them.
    /// Notes which instructions are where.
    pub(crate) fn relocate(
        &self,
        start: RuntimeAddr,
        at: RuntimeAddr,
        out: &mut Vec<u8>,
        moved: &mut Vec<MovedCode>,
    ) -> Result<(), SkipReason> {
        let behind = RuntimeAddr(start.0 + u64::from(self.length));
        if self.moves_as_bytes() {
            out.extend_from_slice(self.bytes());
            MovedCode::push(moved, at, start, self.length.into());
            if self.end == End::FallsThrough {
                push_jump(RuntimeAddr(at.0 + u64::from(self.length)), behind, out)?;
            }
            return Ok(());
        }
        let mut instructions = self.instructions(start.0);
        let originals: Vec<(u64, usize)> = instructions.iter().map(|it| (it.ip(), it.len())).collect();
        // Invented addresses, or the encoder takes `lea rax, [rip → own entry]` for a reference within the block and
        // makes it point at the copy: function pointers then compare unequal (python and gdb looped for ever).
        for (number, instruction) in instructions.iter_mut().enumerate() {
            instruction.set_ip(0x10 + number as u64);
        }
        let before = out.len();
        if self.end == End::Calls {
            // A callee that looks at its return address must find the original one: push it, and jump.
            let call = instructions.pop().ok_or(SkipReason::Unmovable)?;
            instructions.extend(push_address(behind)?);
            instructions.push(jump_of(&call)?);
        } else if self.end == End::FallsThrough {
            instructions
                .push(Instruction::with_branch(Code::Jmp_rel32_64, behind.0).map_err(|_| SkipReason::Unmovable)?);
        }
        let block = InstructionBlock::new(&instructions, at.0);
        let encoded = BlockEncoder::encode(64, block, BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS)
            .map_err(|_| SkipReason::Unmovable)?;
        out.extend_from_slice(&encoded.code_buffer);
        let mut last = None;
        for ((from, length), offset) in originals.into_iter().zip(encoded.new_instruction_offsets) {
            if offset != u32::MAX {
                let (at, from) = (RuntimeAddr(at.0 + u64::from(offset)), RuntimeAddr(from));
                MovedCode::push(moved, at, from, length);
                last = Some((at, from));
            }
        }
        if let Some((at, from)) = last.filter(|_| self.end == End::Calls) {
            moved.push(MovedCode { at, from, length: 0, way: MovedWay::PushesAddress });
        }
        if out.len() - before > Self::MOST_BYTES { Err(SkipReason::Unmovable) } else { Ok(()) }
    }
}

fn is_movable_as_bytes(instruction: &Instruction) -> bool {
    !instruction.is_ip_rel_memory_operand()
        && !(0..instruction.op_count()).any(|operand| {
            matches!(instruction.op_kind(operand), OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64)
        })
}

/// A call whose operand is the same after the return address has been pushed by another instruction.
fn is_movable_call(call: &Instruction) -> bool {
    call.code() == Code::Call_rm64
        && call.memory_base() != Register::RSP
        && !(call.op0_kind() == OpKind::Register && call.op0_register() == Register::RSP)
}

/// Pushes an address, computed from its distance, so that the code is the same wherever it is as far away. Registers and
/// flags are kept; what is written below the address is the callee's to write to.
fn push_address(address: RuntimeAddr) -> Result<[Instruction; 5], SkipReason> {
    let address = MemoryOperand::with_base_displ(Register::RIP, address.0 as i64);
    let pushed = MemoryOperand::with_base_displ(Register::RSP, 8);
    let instructions = [
        Instruction::with1(Code::Push_r64, Register::RAX),
        Instruction::with1(Code::Push_r64, Register::RAX),
        Instruction::with2(Code::Lea_r64_m, Register::RAX, address),
        Instruction::with2(Code::Mov_rm64_r64, pushed, Register::RAX),
        Instruction::with1(Code::Pop_r64, Register::RAX),
    ];
    let [slot, save, load, store, restore] = instructions.map(|made| made.map_err(|_| SkipReason::Unmovable));
    Ok([slot?, save?, load?, store?, restore?])
}

/// What is on the stack while an address is pushed so, until the jump.
pub(crate) fn address_push() -> StackUse {
    StackUse { depths: vec![(0, 0), (1, 8), (2, 16), (15, 8)], saved: vec![(16, RAX as u32)] }
}

fn jump_of(call: &Instruction) -> Result<Instruction, SkipReason> {
    if call.op0_kind() == OpKind::NearBranch64 {
        return Instruction::with_branch(Code::Jmp_rel32_64, call.near_branch64()).map_err(|_| SkipReason::Unmovable);
    }
    let mut jump = *call;
    jump.set_code(Code::Jmp_rm64);
    Ok(jump)
}

#[cfg(test)]
mod tests {
    use super::super::jump::SHORT_JUMP_BYTES;
    use super::*;

    const START: RuntimeAddr = RuntimeAddr(0x40_1000);
    const COPY: RuntimeAddr = RuntimeAddr(0x41_0000);

    fn relocated(bytes: &[u8]) -> Vec<String> {
        let mut padded = bytes.to_vec();
        padded.resize(32, 0x90);
        let mut out = Vec::new();
        Displaced::decode(&padded, JUMP_BYTES).unwrap().relocate(START, COPY, &mut out, &mut Vec::new()).unwrap();
        Decoder::with_ip(64, &out, COPY.0, DecoderOptions::NONE)
            .iter()
            .map(|i| format!("{:?} {}", i.code(), show(&i)))
            .collect()
    }

    fn show(instruction: &Instruction) -> String {
        if instruction.is_ip_rel_memory_operand() {
            format!("[{:#x}]", instruction.ip_rel_memory_address())
        } else if instruction.op0_kind() == OpKind::NearBranch64 {
            format!("{:#x}", instruction.near_branch64())
        } else {
            String::new()
        }
    }

    /// push rbp; mov rbp, rsp; sub rsp, 16
    #[test]
    fn a_plain_prologue_moves_as_bytes() {
        let code = relocated(&[0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10]);
        assert_eq!(code.len(), 4);
        assert_eq!(code[3], "Jmp_rel32_64 0x401008");
    }

    /// lea rax, [rip - 7]: the function's own address must stay the original's.
    #[test]
    fn a_reference_to_the_own_entry_is_not_redirected() {
        let code = relocated(&[0x48, 0x8d, 0x05, 0xf9, 0xff, 0xff, 0xff]);
        assert_eq!(code[0], "Lea_r64_m [0x401000]");
    }

    /// call rel32 as first instruction: pushes the original return address.
    #[test]
    fn a_displaced_call_returns_to_the_original() {
        let code = relocated(&[0xe8, 0x00, 0x01, 0x00, 0x00]);
        assert_eq!(code[2], "Lea_r64_m [0x401005]");
        assert_eq!(code.last().unwrap(), "Jmp_rel32_64 0x401105");
    }

    /// push rbx; call rel32: who is interrupted while the address is pushed is shown the call.
    #[test]
    fn a_displaced_call_is_shown_as_one() {
        let (mut code, mut moved) = (Vec::new(), Vec::new());
        let bytes = [0x53, 0xe8, 0x00, 0x01, 0x00, 0x00];
        Displaced::decode(&bytes, JUMP_BYTES).unwrap().relocate(START, COPY, &mut code, &mut moved).unwrap();
        let [all, call] = moved[..] else { panic!("two: {moved:?}") };
        assert_eq!((all.at, all.from, all.length, all.way), (COPY, START, 6, MovedWay::AsItWas));
        let at = RuntimeAddr(COPY.0 + 1);
        assert_eq!((call.at, call.from, call.way), (at, RuntimeAddr(START.0 + 1), MovedWay::PushesAddress));
        let (mut depth, mut depths) = (0_u32, Vec::new());
        for instruction in &Decoder::with_ip(64, &code[1..], 0, DecoderOptions::NONE).iter().collect::<Vec<_>>() {
            depths.push((instruction.ip() as u16, depth));
            depth = depth.wrapping_add_signed(-instruction.stack_pointer_increment());
        }
        depths.dedup_by_key(|it| it.1);
        assert_eq!(depths, address_push().depths);
    }

    /// xor eax, eax; ret, then another function's push.
    #[test]
    fn a_short_function_needs_padding_behind_it() {
        let bytes = [0x31, 0xc0, 0xc3, 0x55, 0x48, 0x89, 0xe5];
        assert_eq!(Displaced::decode(&bytes, JUMP_BYTES).unwrap_err(), SkipReason::TooShort);
        assert_eq!(relocated(&[0x31, 0xc0, 0xc3]).len(), 2);
    }

    /// jmp to the next instruction, as a function's start that is only there to be an address of its own.
    #[test]
    fn a_short_jump_leaves_room_for_what_is_branched_to_behind_it() {
        let bytes = [0xeb, 0x00, 0x48, 0x83, 0xec, 0x18];
        assert_eq!(Displaced::decode(&bytes, JUMP_BYTES).unwrap_err(), SkipReason::TooShort);
        let mut out = Vec::new();
        Displaced::decode(&bytes, SHORT_JUMP_BYTES).unwrap().relocate(START, COPY, &mut out, &mut Vec::new()).unwrap();
        let jump = Decoder::with_ip(64, &out, COPY.0, DecoderOptions::NONE).decode();
        assert_eq!((jump.code(), jump.near_branch64()), (Code::Jmp_rel32_64, START.0 + 2));
    }

    /// nop; nop; jmp back onto the second nop.
    #[test]
    fn a_branch_into_the_patch_is_refused() {
        let bytes = [0x90, 0x90, 0xeb, 0xfd, 0x90, 0x90];
        assert_eq!(Displaced::decode(&bytes, JUMP_BYTES).unwrap_err(), SkipReason::BranchIntoPatch);
    }
}
