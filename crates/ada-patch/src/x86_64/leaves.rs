//! Leaving instructions, as they are decoded.

use iced_x86::{Code, FlowControl, Instruction, Mnemonic, OpKind, Register};

use crate::leave::{Before, Leave, LeaveKind, REMEMBERED};

/// Remembers the instructions of a piece of code as they are decoded.
#[derive(Default)]
pub(crate) struct Recent {
    before: [Before; REMEMBERED],
    /// The registers that a table of cases was added up in.
    summed: [Register; 2],
    /// What the instruction before took off the stack.
    popped: Register,
}

impl Recent {
    /// Notes an instruction; gives the leaving one that it is.
    pub(crate) fn note(&mut self, instruction: &Instruction) -> Option<Leave> {
        if let Some(kind) = self.kind_of(instruction) {
            let leave = Leave { at: instruction.ip(), length: instruction.len() as u8, kind, before: self.before };
            *self = Self::default();
            return Some(leave);
        }
        self.before.rotate_right(1);
        self.before[0] = Before {
            length: instruction.len() as u8,
            raises_stack: raises_stack(instruction),
            is_plain: is_plain(instruction),
        };
        self.popped = if instruction.mnemonic() == Mnemonic::Pop { instruction.op0_register() } else { Register::None };
        let is_sum = match instruction.mnemonic() {
            Mnemonic::Add => instruction.op1_kind() == OpKind::Register,
            Mnemonic::Lea => instruction.memory_index() != Register::None,
            _ => false,
        };
        if is_sum {
            self.summed = [instruction.op0_register(), self.summed[0]];
        }
        None
    }

    fn kind_of(&self, instruction: &Instruction) -> Option<LeaveKind> {
        Some(match instruction.flow_control() {
            FlowControl::Return if instruction.op_count() == 1 => LeaveKind::Return(instruction.immediate16()),
            FlowControl::Return => LeaveKind::Return(0),
            FlowControl::UnconditionalBranch => LeaveKind::Jump(instruction.near_branch64()),
            FlowControl::IndirectBranch => self.indirect(instruction),
            FlowControl::Exception => LeaveKind::Trap,
            FlowControl::Next if instruction.mnemonic() == Mnemonic::Hlt => LeaveKind::Trap,
            _ => return None,
        })
    }

    fn indirect(&self, jump: &Instruction) -> LeaveKind {
        let is_case = jump.memory_index() != Register::None || jump.segment_prefix() == Register::DS;
        match jump.op0_kind() {
            OpKind::Memory if jump.is_ip_rel_memory_operand() => LeaveKind::JumpThroughLinker,
            OpKind::Memory if !is_case => LeaveKind::JumpThroughPointer,
            OpKind::Register if self.popped == jump.op0_register() => LeaveKind::JumpToPopped,
            OpKind::Register if !is_case && !self.summed.contains(&jump.op0_register()) => LeaveKind::JumpToRegister,
            _ => LeaveKind::Switch,
        }
    }
}

/// Whether an instruction can be run in another place: it goes on behind itself, or by a jump that can be made longer.
pub(crate) fn is_plain(instruction: &Instruction) -> bool {
    !instruction.is_invalid() && (instruction.flow_control() == FlowControl::Next || instruction.is_jcc_short_or_near())
}

/// Whether an instruction takes words off the stack, as epilogues do.
fn raises_stack(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Pop => instruction.op0_register() != Register::RSP,
        Mnemonic::Leave => true,
        Mnemonic::Add => instruction.op0_register() == Register::RSP && constant(instruction).is_some_and(|by| by > 0),
        // `sub rsp, -128` is shorter than `add rsp, 128`.
        Mnemonic::Sub => instruction.op0_register() == Register::RSP && constant(instruction).is_some_and(|by| by < 0),
        Mnemonic::Lea => {
            instruction.code() == Code::Lea_r64_m
                && instruction.op0_register() == Register::RSP
                && instruction.memory_base() == Register::RSP
                && instruction.memory_index() == Register::None
                && instruction.memory_displacement64() as i64 > 0
        }
        _ => false,
    }
}

/// The constant that is added or subtracted.
fn constant(instruction: &Instruction) -> Option<i64> {
    instruction.try_immediate(1).ok().map(|by| by as i64)
}
