//! What a stub has on the program's stack at each of its instructions.

use std::collections::BTreeMap;

use ada_ring::arch::{CRASH_REGISTER_NAMES, FLAGS};
use ada_ring::origins::StubDepth;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::external::TEMPLATE_IP;

/// Bytes of a word on the stack.
const WORD: usize = 8;

/// What a part of a stub has on the stack.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StackUse {
    /// Where the depth changes, in order: from so many bytes on, it is as [`StubDepth`] has it.
    pub(crate) depths: Vec<(u16, u32)>,
    /// The registers that are pushed, by their numbers in a signal's context, and how deep each lies.
    pub(crate) saved: Vec<(u16, u32)>,
}

/// The stack before an instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Stack {
    /// What was pushed, the first one first.
    pub(super) pushed: Vec<Word>,
    /// The flags are in rax.
    pub(super) flags_in_rax: bool,
    /// How many words lay there when the frame pointer was set.
    pub(super) framed: Option<usize>,
    /// The stack pointer is not that of the program's stack, or is not known.
    pub(super) is_elsewhere: bool,
}

/// A word on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Register(Register),
    /// As `lahf` and `seto` leave them in rax.
    Flags,
    Other,
}

impl StackUse {
    /// `starts` are the offsets at which the code is entered, with what is on the stack there.
    pub(super) fn of(code: &[u8], starts: &[(usize, Stack)]) -> Self {
        let decoder = Decoder::with_ip(64, code, TEMPLATE_IP, DecoderOptions::NONE);
        let instructions: BTreeMap<u64, Instruction> = decoder.into_iter().map(|it| (it.ip(), it)).collect();
        let mut known: BTreeMap<u64, u32> = BTreeMap::new();
        let mut saved: BTreeMap<u16, u32> = BTreeMap::new();
        let start = |(at, stack): &(usize, Stack)| (TEMPLATE_IP + *at as u64, stack.clone());
        let mut open: Vec<(u64, Stack)> = starts.iter().map(start).collect();
        while let Some((at, mut stack)) = open.pop() {
            // Where two ways meet, the frame pointer is right for both.
            let is_news = known.get(&at).is_none_or(|depth| stack.is_elsewhere && *depth != stack.depth());
            let Some(instruction) = instructions.get(&at).filter(|_| is_news) else { continue };
            known.insert(at, stack.depth());
            saved.extend(stack.saved());
            stack.run(instruction);
            if instruction.op0_kind() == OpKind::NearBranch64 && instruction.flow_control() != FlowControl::Call {
                open.push((instruction.near_branch64(), stack.clone()));
            }
            if !matches!(instruction.flow_control(), FlowControl::UnconditionalBranch | FlowControl::Return) {
                open.push((instruction.next_ip(), stack));
            }
        }
        let mut depths: Vec<(u16, u32)> = Vec::new();
        for at in instructions.keys() {
            let depth = known.get(at).copied().unwrap_or(StubDepth::UNKNOWN);
            if depths.last().is_none_or(|(_, last)| *last != depth) {
                depths.push(((at - TEMPLATE_IP) as u16, depth));
            }
        }
        depths.push((code.len() as u16, StubDepth::UNKNOWN));
        Self { depths, saved: saved.into_iter().collect() }
    }
}

impl Stack {
    /// As [`StubDepth`] has it.
    fn depth(&self) -> u32 {
        let flags = if self.flags_in_rax { StubDepth::FLAGS_IN_RAX } else { 0 };
        match self.framed {
            _ if !self.is_elsewhere => (WORD * self.pushed.len()) as u32 | flags,
            Some(words) => (WORD * words) as u32 | StubDepth::FROM_FRAME_POINTER | flags,
            None => StubDepth::UNKNOWN,
        }
    }

    /// Where the program's registers are, by their numbers in a signal's context. What is pushed a second time is the stub's.
    fn saved(&self) -> impl Iterator<Item = (u16, u32)> {
        self.pushed.iter().enumerate().filter_map(|(number, word)| {
            let register = match word {
                Word::Register(register) if !self.pushed[..number].contains(word) => context_number(*register)?,
                Word::Flags => FLAGS as u32,
                _ => return None,
            };
            Some(((WORD * (number + 1)) as u16, register))
        })
    }

    fn run(&mut self, instruction: &Instruction) {
        let [first, second] = [instruction.op0_register(), instruction.op1_register()];
        match instruction.mnemonic() {
            Mnemonic::Push => {
                self.pushed.push(match first {
                    Register::None => Word::Other,
                    Register::RAX if self.flags_in_rax => Word::Flags,
                    register => Word::Register(register),
                });
                self.flags_in_rax &= first != Register::RAX;
            }
            Mnemonic::Pop => {
                let word = self.pushed.pop();
                if first == Register::RBP {
                    self.framed = None;
                }
                if first == Register::RAX {
                    self.flags_in_rax = word == Some(Word::Flags);
                }
            }
            Mnemonic::Seto => self.flags_in_rax = true,
            Mnemonic::Sahf => self.flags_in_rax = false,
            Mnemonic::Cmp | Mnemonic::Test => {}
            Mnemonic::Mov if [first, second] == [Register::RBP, Register::RSP] => self.framed = Some(self.pushed.len()),
            Mnemonic::Mov if [first, second] == [Register::RSP, Register::RBP] => self.back_to_frame(0),
            Mnemonic::Lea if first == Register::RSP && instruction.memory_base() == Register::RBP => {
                self.back_to_frame((instruction.memory_displacement64() as i64).unsigned_abs() as usize / WORD);
            }
            _ if instruction.op_count() > 0 && first == Register::RSP => self.is_elsewhere = true,
            _ => {}
        }
    }

    /// The stack pointer is so many words below where the frame pointer points.
    fn back_to_frame(&mut self, words: usize) {
        if let Some(framed) = self.framed {
            self.pushed.resize(framed + words, Word::Other);
            self.is_elsewhere = false;
        }
    }
}

/// The number that a register has in a signal's context.
fn context_number(register: Register) -> Option<u32> {
    let name = format!("{register:?}").to_lowercase();
    CRASH_REGISTER_NAMES.iter().position(|known| *known == name).map(|number| number as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNKNOWN: u32 = StubDepth::UNKNOWN;

    fn stack_use(code: &[u8]) -> StackUse {
        StackUse::of(code, &[(0, Stack::default())])
    }

    #[test]
    fn pushes_and_branches_are_followed() {
        // push rax; je +2; push rcx; pop rcx; pop rax; ret; nop
        let code = [0x50, 0x74, 2, 0x51, 0x59, 0x58, 0xc3, 0x90];
        let depths = vec![(0, 0), (1, 8), (4, 16), (5, 8), (6, 0), (7, UNKNOWN), (8, UNKNOWN)];
        assert_eq!(stack_use(&code), StackUse { depths, saved: vec![(8, 13), (16, 14)] });
    }

    #[test]
    fn a_frame_pointer_leads_back_from_another_stack() {
        // push rbp; mov rbp, rsp; mov rsp, rax; nop; lea rsp, [rbp-16]; mov rsp, rbp; pop rbp; ret
        let code =
            [0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xc4, 0x90, 0x48, 0x8d, 0x65, 0xf0, 0x48, 0x89, 0xec, 0x5d, 0xc3];
        let away = 8 | StubDepth::FROM_FRAME_POINTER;
        let depths = vec![(0, 0), (1, 8), (7, away), (12, 24), (15, 8), (16, 0), (17, UNKNOWN)];
        assert_eq!(stack_use(&code), StackUse { depths, saved: vec![(8, 10)] });
    }

    #[test]
    fn flags_are_where_they_were_put() {
        // push rax; lahf; seto al; push rax; pop rax; add al, 0x7f; sahf; pop rax; ret
        let code = [0x50, 0x9f, 0x0f, 0x90, 0xc0, 0x50, 0x58, 0x04, 0x7f, 0x9e, 0x58, 0xc3];
        let in_rax = 8 | StubDepth::FLAGS_IN_RAX;
        let depths = vec![(0, 0), (1, 8), (5, in_rax), (6, 16), (7, in_rax), (10, 8), (11, 0), (12, UNKNOWN)];
        assert_eq!(stack_use(&code), StackUse { depths, saved: vec![(8, 13), (16, FLAGS as u32)] });
    }

    #[test]
    fn what_is_pushed_twice_is_the_stubs_own() {
        // push rcx; push rcx; ret
        assert_eq!(stack_use(&[0x51, 0x51, 0xc3]).saved, [(8, 14)]);
    }
}
