//! Leaving instructions, as they are decoded.

use iced_x86::{Code, Decoder, FlowControl, Instruction, Mnemonic, OpKind, Register};

use crate::leave::{Before, Leave, LeaveKind, REMEMBERED};

/// Remembers the instructions of a piece of code as they are decoded. Most are never asked for again, so they are kept as
/// they are.
pub(crate) struct Recent {
    /// The newest ones, in a circle.
    instructions: [Instruction; KEPT],
    /// How many have been decoded.
    count: usize,
    /// How many had been when the last leaving one was.
    last_leave: usize,
    /// The registers that a table of cases may have been added up in.
    summed: [Register; 2],
}

/// Those before a leaving one, and itself.
const KEPT: usize = (REMEMBERED + 1).next_power_of_two();

impl Recent {
    pub(crate) fn new() -> Self {
        Self { instructions: [Instruction::default(); KEPT], count: 0, last_leave: 0, summed: [Register::None; 2] }
    }

    /// The next instruction.
    #[inline]
    pub(crate) fn decode(&mut self, decoder: &mut Decoder<'_>) -> &Instruction {
        self.count += 1;
        let next = &mut self.instructions[self.count % KEPT];
        decoder.decode_out(next);
        next
    }

    /// The last one that was decoded.
    #[inline]
    pub(crate) fn newest(&self) -> &Instruction {
        &self.instructions[self.count % KEPT]
    }

    /// The newest instruction as a leaving one, if it is.
    #[inline]
    pub(crate) fn leave(&mut self) -> Option<Leave> {
        let newest = self.newest();
        let written = newest.op0_register();
        match (newest.flow_control(), newest.mnemonic()) {
            (FlowControl::Next, Mnemonic::Add) if newest.op1_kind() == OpKind::Register => self.note_sum(written),
            (FlowControl::Next, Mnemonic::Lea) if newest.memory_index() != Register::None => self.note_sum(written),
            // What is loaded is no sum.
            (FlowControl::Next, Mnemonic::Mov)
                if newest.op1_kind() == OpKind::Memory && self.summed.contains(&written) =>
            {
                self.summed = self.summed.map(|summed| if summed == written { Register::None } else { summed });
            }
            (FlowControl::Next, Mnemonic::Hlt) => return Some(self.leave_by(LeaveKind::Trap)),
            (FlowControl::Next, _) => {}
            (flow, _) => return self.kind_of(newest, flow).map(|kind| self.leave_by(kind)),
        }
        None
    }

    fn note_sum(&mut self, register: Register) {
        self.summed = [register, self.summed[0]];
    }

    fn leave_by(&mut self, kind: LeaveKind) -> Leave {
        let newest = self.newest();
        let before = std::array::from_fn(|number| self.before(number + 1).map_or(Before::default(), remembered));
        let leave = Leave { at: newest.ip(), length: newest.len() as u8, kind, before };
        (self.last_leave, self.summed) = (self.count, [Register::None; 2]);
        leave
    }

    /// The instruction so many before the newest, up to the last leaving one.
    fn before(&self, number: usize) -> Option<&Instruction> {
        let count = self.count.checked_sub(number).filter(|&count| count > self.last_leave)?;
        Some(&self.instructions[count % KEPT])
    }

    fn kind_of(&self, instruction: &Instruction, flow: FlowControl) -> Option<LeaveKind> {
        Some(match flow {
            FlowControl::Return if instruction.op_count() == 1 => LeaveKind::Return(instruction.immediate16()),
            FlowControl::Return => LeaveKind::Return(0),
            FlowControl::UnconditionalBranch => LeaveKind::Jump(instruction.near_branch64()),
            FlowControl::IndirectBranch => self.indirect(instruction),
            FlowControl::Exception => LeaveKind::Trap,
            _ => return None,
        })
    }

    fn indirect(&self, jump: &Instruction) -> LeaveKind {
        let is_case = jump.memory_index() != Register::None || jump.segment_prefix() == Register::DS;
        let popped = self.before(1).filter(|it| it.mnemonic() == Mnemonic::Pop).map(Instruction::op0_register);
        match jump.op0_kind() {
            OpKind::Memory if jump.is_ip_rel_memory_operand() => {
                LeaveKind::JumpThroughWord(jump.ip_rel_memory_address())
            }
            OpKind::Memory if !is_case => LeaveKind::JumpThroughPointer,
            OpKind::Register if popped == Some(jump.op0_register()) => LeaveKind::JumpToPopped,
            OpKind::Register if !is_case && !self.summed.contains(&jump.op0_register()) => LeaveKind::JumpToRegister,
            _ => LeaveKind::Switch,
        }
    }
}

fn remembered(instruction: &Instruction) -> Before {
    Before { length: instruction.len() as u8, raises_stack: raises_stack(instruction), is_plain: is_plain(instruction) }
}

/// Whether an instruction can be run elsewhere: it goes on behind itself, or by a jump that can be made longer.
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
