//! Moves instructions that leave a function into a stub, where their leaving is recorded first.

use ada_event::RuntimeAddr;
use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionBlock,
    MemoryOperand, Mnemonic, OpKind, Register,
};

use crate::SkipReason;
use crate::leaving::{Behind, Leaving};
use crate::moved_code::{MovedCode, MovedWay};

/// Where the code lies that records how a function is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExitCode {
    /// Jumped to in place of a `ret`: records the return, and returns.
    pub(crate) returns: RuntimeAddr,
    /// Called before a `ret n`: records the return.
    pub(crate) before_return: RuntimeAddr,
    /// Called before a jump into another function.
    pub(crate) before_tail: RuntimeAddr,
}

/// Addresses that no instruction of the program has: the encoder takes a branch to one of them for a branch within the
/// block.
const INVENTED: u64 = 0x10;
/// A jump to an address in a register may turn out to stay in the function, as in an interpreter's loop that keeps its
/// variables below the stack pointer.
pub(crate) const RED_ZONE: i32 = ada_ring::arch::RED_ZONE as i32;

/// The most instructions that are moved at once.
pub(crate) const MOST_INSTRUCTIONS: usize = 8;

/// Appends code for address `at` that does what `bytes` did at `start`, but reports that the function is left: by a `ret`, and
/// in the ways that `leaving` names. Goes on behind unless the last instruction leaves. Jumps that stay in the function lead where `again`
/// says, if it does.
#[expect(clippy::too_many_arguments, reason = "what is moved, where to, and two lists to add to")]
pub(crate) fn relocate(
    bytes: &[u8],
    start: RuntimeAddr,
    at: RuntimeAddr,
    leaving: Leaving,
    code: &ExitCode,
    again: impl Fn(RuntimeAddr) -> Option<RuntimeAddr>,
    out: &mut Vec<u8>,
    runs: &mut Vec<MovedCode>,
) -> Result<(), SkipReason> {
    let unmovable = |_| SkipReason::Unmovable;
    let originals: Vec<Instruction> = Decoder::with_ip(64, bytes, start.0, DecoderOptions::NONE).iter().collect();
    if originals.len() > MOST_INSTRUCTIONS || originals.iter().any(Instruction::is_invalid) {
        return Err(SkipReason::Unmovable);
    }
    // Where a jump to the function's own start goes instead.
    let turn = |instruction: &Instruction| {
        let is_direct = instruction.op0_kind() == OpKind::NearBranch64;
        let target = again(RuntimeAddr(instruction.near_branch64())).filter(|_| is_direct)?;
        let mut branch = *instruction;
        branch.set_near_branch64(target.0);
        Some(branch)
    };
    let mut moved: Vec<Instruction> = Vec::new();
    // Conditional jumps into other functions: where they stand in `moved`, and where they lead.
    let mut conditional = Vec::new();
    let mut leaves = false;
    // Which original instruction some of those in `moved` stand for, and whether they report a tail call before.
    let mut moved_to = Vec::new();
    for (number, instruction) in originals.iter().enumerate() {
        let is_tail = leaving.tails & (1 << number) != 0;
        let returns = leaving.returns & (1 << number) != 0;
        let turn = if is_tail || returns { None } else { turn(instruction) };
        leaves = false;
        match instruction.flow_control() {
            FlowControl::Return => {
                leaves = true;
                if instruction.op_count() == 0 && instruction.mnemonic() == Mnemonic::Ret {
                    moved.push(jump_to(code.returns.0)?);
                } else {
                    moved.push(call_to(code.before_return.0)?);
                    moved.push(*instruction);
                }
            }
            FlowControl::ConditionalBranch if is_tail => {
                conditional.push((moved.len(), number, instruction.near_branch64()));
                moved.push(*instruction);
            }
            FlowControl::ConditionalBranch if returns => {
                let mut branch = *instruction;
                branch.set_near_branch64(code.returns.0);
                moved.push(branch);
            }
            FlowControl::UnconditionalBranch if returns => {
                leaves = true;
                moved.push(jump_to(code.returns.0)?);
            }
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch if turn.is_some() => {
                leaves = instruction.flow_control() == FlowControl::UnconditionalBranch;
                moved.extend(turn);
            }
            FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => {
                leaves = true;
                if is_tail {
                    moved_to.push((moved.len(), number, true));
                    moved.extend(report_tail(code)?);
                }
                moved.push(*instruction);
            }
            FlowControl::Next | FlowControl::ConditionalBranch | FlowControl::Interrupt | FlowControl::Exception => {
                moved.push(*instruction)
            }
            FlowControl::Call if instruction.mnemonic() == Mnemonic::Syscall => moved.push(*instruction),
            FlowControl::Call | FlowControl::IndirectCall | FlowControl::XbeginXabortXend => {
                return Err(SkipReason::Unmovable);
            }
        }
        // What reports the exit comes before the instruction itself.
        moved_to.push((moved.len() - 1, number, false));
        if leaves {
            break;
        }
    }
    if !leaves {
        let behind = start.0 + bytes.len() as u64;
        if leaving.behind == Behind::Other {
            let last = originals.len().checked_sub(1).ok_or(SkipReason::Unmovable)?;
            moved_to.push((moved.len(), last, true));
            moved.extend(report_tail(code)?);
            moved_to.push((moved.len(), last, false));
        }
        moved.push(jump_to(if leaving.behind == Behind::Return { code.returns.0 } else { behind })?);
    }
    for (index, number, target) in conditional {
        let call = INVENTED + moved.len() as u64;
        moved[index].set_near_branch64(call);
        moved_to.push((moved.len(), number, true));
        moved.extend(report_tail(code)?);
        moved_to.push((moved.len(), number, false));
        moved.push(jump_to(target)?);
    }
    for (number, instruction) in moved.iter_mut().enumerate() {
        instruction.set_ip(INVENTED + number as u64);
    }
    let block = InstructionBlock::new(&moved, at.0);
    let encoded =
        BlockEncoder::encode(64, block, BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS).map_err(unmovable)?;
    out.extend_from_slice(&encoded.code_buffer);
    let address_of = |index: usize| {
        let offset = encoded.new_instruction_offsets[index];
        (offset != u32::MAX).then(|| RuntimeAddr(at.0 + u64::from(offset)))
    };
    for (index, number, reports_tail) in moved_to {
        let Some(at) = address_of(index) else { continue };
        let original = &originals[number];
        let from = RuntimeAddr(original.ip());
        MovedCode::push(runs, at, from, original.len());
        if reports_tail && let Some(at) = address_of(index + 1) {
            runs.push(MovedCode { at, from, length: 0, way: MovedWay::BelowRedZone });
        }
    }
    Ok(())
}

/// Which instruction of `bytes` starts at an offset.
pub(crate) fn instruction_number(bytes: &[u8], offset: usize) -> usize {
    Decoder::new(64, bytes, DecoderOptions::NONE).iter().take_while(|it| (it.ip() as usize) < offset).count()
}

/// Whether moved code is the same wherever it was before, but for how far it is to the exit code, and cannot fault: nobody
/// could say whose fault it was.
pub(crate) fn can_be_shared(bytes: &[u8]) -> bool {
    let is_harmless = |instruction: &Instruction| {
        // Those of string instructions too.
        let has_memory = instruction.op_kinds().any(|kind| kind >= OpKind::MemorySegSI);
        let is_address = matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop);
        (!has_memory || is_address)
            && !instruction.is_ip_rel_memory_operand()
            && instruction.op0_kind() != OpKind::NearBranch64
            && !matches!(instruction.mnemonic(), Mnemonic::Div | Mnemonic::Idiv)
            && instruction.flow_control() != FlowControl::Exception
    };
    Decoder::new(64, bytes, DecoderOptions::NONE).iter().all(|instruction| is_harmless(&instruction))
}

/// Calls what hears of a tail call, from below the red zone.
fn report_tail(code: &ExitCode) -> Result<[Instruction; 3], SkipReason> {
    let by = |distance: i32| {
        let new_top = MemoryOperand::with_base_displ(Register::RSP, distance.into());
        Instruction::with2(Code::Lea_r64_m, Register::RSP, new_top).map_err(|_| SkipReason::Unmovable)
    };
    Ok([by(-RED_ZONE)?, call_to(code.before_tail.0)?, by(RED_ZONE)?])
}

fn jump_to(target: u64) -> Result<Instruction, SkipReason> {
    Instruction::with_branch(Code::Jmp_rel32_64, target).map_err(|_| SkipReason::Unmovable)
}

fn call_to(target: u64) -> Result<Instruction, SkipReason> {
    Instruction::with_branch(Code::Call_rel32_64, target).map_err(|_| SkipReason::Unmovable)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 0x40_1000;
    const COPY: u64 = 0x41_0000;
    const RETURNS: u64 = 0x42_0000;
    const BEFORE_RETURN: u64 = 0x42_0100;
    const BEFORE_TAIL: u64 = 0x42_0200;
    const CODE: ExitCode = ExitCode {
        returns: RuntimeAddr(RETURNS),
        before_return: RuntimeAddr(BEFORE_RETURN),
        before_tail: RuntimeAddr(BEFORE_TAIL),
    };

    fn relocated(bytes: &[u8], tails: u8) -> Vec<(Code, u64)> {
        relocated_as(bytes, Leaving { tails, ..Leaving::default() })
    }

    fn relocated_as(bytes: &[u8], leaving: Leaving) -> Vec<(Code, u64)> {
        let mut out = Vec::new();
        relocate(bytes, RuntimeAddr(START), RuntimeAddr(COPY), leaving, &CODE, |_| None, &mut out, &mut Vec::new())
            .unwrap();
        let instructions = Decoder::with_ip(64, &out, COPY, DecoderOptions::NONE);
        instructions.into_iter().map(|it| (it.code(), it.near_branch_target())).collect()
    }

    /// pop rbx; pop rbp; ret
    #[test]
    fn a_return_is_recorded_in_its_place() {
        let code = relocated(&[0x5b, 0x5d, 0xc3], 0);
        assert_eq!(code, [(Code::Pop_r64, 0), (Code::Pop_r64, 0), (Code::Jmp_rel32_64, RETURNS)]);
    }

    /// ret 16
    #[test]
    fn a_return_that_pops_arguments_pops_them() {
        let code = relocated(&[0xc2, 0x10, 0x00], 0);
        assert_eq!(code, [(Code::Call_rel32_64, BEFORE_RETURN), (Code::Retnq_imm16, 0)]);
    }

    /// test edi, edi; je START + 0x100; ret
    #[test]
    fn a_conditional_jump_leads_on_or_reports_that_the_function_is_left() {
        let bytes = [0x85, 0xff, 0x0f, 0x84, 0xf8, 0x00, 0x00, 0x00, 0xc3];
        let target = START + 0x100;
        let inside = relocated(&bytes, 0);
        assert_eq!(inside[1], (Code::Je_rel32_64, target));
        assert_eq!(inside[2], (Code::Jmp_rel32_64, RETURNS));
        let tail = relocated(&bytes, 2);
        assert_eq!(tail.len(), 7);
        assert_eq!(tail[2], (Code::Jmp_rel32_64, RETURNS));
        assert_eq!(tail[4], (Code::Call_rel32_64, BEFORE_TAIL));
        assert_eq!(tail[6], (Code::Jmp_rel32_64, target));
        // The jump leads to the call.
        assert!(tail[1].1 > COPY && tail[1].1 < COPY + 32);
    }

    /// nop, and another function behind
    #[test]
    fn running_on_into_a_function_is_reported() {
        let bytes = [0x0f, 0x1f, 0x44, 0x00, 0x00];
        let leaving = Leaving { behind: Behind::Other, ..Leaving::default() };
        let code = relocated_as(&bytes, leaving);
        assert_eq!(code[0].0, Code::Nop_rm32);
        assert_eq!(code[2], (Code::Call_rel32_64, BEFORE_TAIL));
        assert_eq!(code[4], (Code::Jmp_rel32_64, START + 5));
        let mut runs = Vec::new();
        relocate(&bytes, RuntimeAddr(START), RuntimeAddr(COPY), leaving, &CODE, |_| None, &mut Vec::new(), &mut runs)
            .unwrap();
        let last = runs.iter().max_by_key(|run| run.at).expect("some");
        assert_eq!(last.way, MovedWay::AsItWas, "the stack is as it was when it goes on");
    }

    /// test edi, edi; je START + 0x20, where a `ret` is; xor eax, eax; and a `ret` behind
    #[test]
    fn jumps_to_a_return_and_what_runs_into_one_are_returns() {
        let code = relocated_as(
            &[0x85, 0xff, 0x74, 0x1c, 0x31, 0xc0],
            Leaving { returns: 2, behind: Behind::Return, ..Leaving::default() },
        );
        assert_eq!(code[1], (Code::Je_rel32_64, RETURNS));
        assert_eq!(code[3], (Code::Jmp_rel32_64, RETURNS));
        assert_eq!(
            relocated_as(&[0xeb, 0x20], Leaving { returns: 1, ..Leaving::default() }),
            [(Code::Jmp_rel32_64, RETURNS)]
        );
    }

    /// mov eax, edi; sub rsp, 8
    #[test]
    fn what_does_not_leave_goes_on_behind() {
        let code = relocated(&[0x89, 0xf8, 0x48, 0x83, 0xec, 0x08], 0);
        assert_eq!(code[2], (Code::Jmp_rel32_64, START + 6));
    }

    /// jmp [rip + 0x10]
    #[test]
    fn a_jump_through_the_linkers_table_goes_the_same_way() {
        let mut out = Vec::new();
        let (bytes, leaving) = ([0xff, 0x25, 0x10, 0x00, 0x00, 0x00], Leaving { tails: 1, ..Leaving::default() });
        relocate(&bytes, RuntimeAddr(START), RuntimeAddr(COPY), leaving, &CODE, |_| None, &mut out, &mut Vec::new())
            .unwrap();
        let all: Vec<Instruction> = Decoder::with_ip(64, &out, COPY, DecoderOptions::NONE).iter().collect();
        assert_eq!(all[1].near_branch_target(), BEFORE_TAIL);
        assert_eq!(all[3].ip_rel_memory_address(), START + 6 + 0x10);
    }
}
