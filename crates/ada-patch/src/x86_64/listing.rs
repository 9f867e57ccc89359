//! The instructions of one function, for a closer look than all of an image get.

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::leaves::is_plain;
use super::pieces::named_address;
use crate::leave::{Listed, Listing, Through};

/// What was last written to a register.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Written {
    /// What the function was called with.
    #[default]
    Argument,
    /// A word from memory.
    Word,
    /// A sum, or what else is computed.
    Sum,
    /// It depends on the way here.
    Unknown,
}

/// The registers, by number.
type Registers = [Written; 16];

impl Listing {
    /// Adds a piece of code at `from`. `is_landing` says where something else may lead to; at its first instruction a
    /// function has its arguments in registers if it `starts` there.
    pub(crate) fn add(&mut self, bytes: &[u8], from: u64, starts: bool, is_landing: impl Fn(u64) -> bool) {
        let mut registers: Registers = [if starts { Written::Argument } else { Written::Unknown }; 16];
        let mut instruction = Instruction::default();
        let mut decoder = Decoder::with_ip(64, bytes, from, DecoderOptions::NONE);
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            let at = instruction.ip();
            if at != from && is_landing(at) {
                registers = [Written::Unknown; 16];
            }
            let flow = instruction.flow_control();
            let target = (instruction.op0_kind() == OpKind::NearBranch64 && !instruction.is_call_near())
                .then(|| instruction.near_branch64());
            self.instructions.push(Listed {
                at,
                length: instruction.len() as u8,
                is_plain: is_plain(&instruction),
                falls_through: !matches!(
                    flow,
                    FlowControl::Return
                        | FlowControl::UnconditionalBranch
                        | FlowControl::IndirectBranch
                        | FlowControl::Exception
                ),
                is_return: instruction.mnemonic() == Mnemonic::Ret && instruction.op_count() == 0,
                target,
            });
            self.addresses.extend(named_address(&instruction));
            if flow == FlowControl::IndirectBranch {
                self.jumps.push((at, through(&instruction, &registers)));
            }
            note_write(&instruction, &mut registers);
            if !matches!(flow, FlowControl::Next | FlowControl::ConditionalBranch | FlowControl::Call) {
                registers = [Written::Unknown; 16];
            }
        }
    }
}

fn number(register: Register) -> Option<usize> {
    let full = register.full_register();
    full.is_gpr64().then(|| full.number())
}

fn note_write(instruction: &Instruction, registers: &mut Registers) {
    if instruction.flow_control() == FlowControl::Call || instruction.flow_control() == FlowControl::IndirectCall {
        *registers = [Written::Unknown; 16];
        return;
    }
    if instruction.op0_kind() != OpKind::Register
        || matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push | Mnemonic::Bt)
    {
        return;
    }
    let Some(written) = number(instruction.op0_register()) else { return };
    registers[written] = match instruction.code() {
        Code::Mov_r64_rm64 | Code::Pop_r64 if instruction.op1_kind() != OpKind::Register => Written::Word,
        Code::Mov_r64_rm64 | Code::Mov_rm64_r64 => {
            number(instruction.op1_register()).map_or(Written::Unknown, |from| registers[from])
        }
        Code::Add_r64_rm64 | Code::Add_rm64_r64 | Code::Lea_r64_m => Written::Sum,
        _ => Written::Unknown,
    };
}

/// How an indirect jump finds its target.
fn through(jump: &Instruction, registers: &Registers) -> Through {
    match jump.op0_kind() {
        OpKind::Memory => Through::Pointer,
        OpKind::Register => match number(jump.op0_register()).map(|number| registers[number]) {
            Some(Written::Argument | Written::Word) => Through::Pointer,
            Some(Written::Sum) => Through::Sum,
            Some(Written::Unknown) | None => Through::Unknown,
        },
        _ => Through::Unknown,
    }
}
