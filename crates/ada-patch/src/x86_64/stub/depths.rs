//! How much a stub has on the program's stack at each of its instructions.

use std::collections::BTreeMap;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::external::TEMPLATE_IP;

/// Where the depth changes, in order: from so many bytes on, it is so much, or not known. `starts` are the offsets at which
/// the code is entered, with the depth there.
pub(super) fn depths(code: &[u8], starts: &[(usize, u32)]) -> Vec<(u16, Option<u32>)> {
    let decoder = Decoder::with_ip(64, code, TEMPLATE_IP, DecoderOptions::NONE);
    let instructions: BTreeMap<u64, Instruction> = decoder.into_iter().map(|it| (it.ip(), it)).collect();
    let mut known: BTreeMap<u64, u32> = BTreeMap::new();
    let mut open: Vec<(u64, u32)> = starts.iter().map(|&(at, depth)| (TEMPLATE_IP + at as u64, depth)).collect();
    while let Some((at, depth)) = open.pop() {
        let Some(instruction) = instructions.get(&at).filter(|_| !known.contains_key(&at)) else { continue };
        known.insert(at, depth);
        let behind = match instruction.mnemonic() {
            Mnemonic::Push => depth + 8,
            Mnemonic::Pop => depth.saturating_sub(8),
            _ => depth,
        };
        // Where the stack is changed for another, or by some other distance, nothing is told any more.
        let is_moved = instruction.op_count() > 0
            && instruction.op0_kind() == OpKind::Register
            && instruction.op0_register() == Register::RSP
            && !matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Cmp | Mnemonic::Test);
        if is_moved {
            continue;
        }
        if instruction.op0_kind() == OpKind::NearBranch64 {
            // A part of the code that is called has the way back on the stack.
            let is_call = instruction.flow_control() == FlowControl::Call;
            open.push((instruction.near_branch64(), behind + if is_call { 8 } else { 0 }));
        }
        if !matches!(instruction.flow_control(), FlowControl::UnconditionalBranch | FlowControl::Return) {
            open.push((instruction.next_ip(), behind));
        }
    }
    let mut changes: Vec<(u16, Option<u32>)> = Vec::new();
    for at in instructions.keys() {
        let depth = known.get(at).copied();
        if changes.last().is_none_or(|(_, last)| *last != depth) {
            changes.push(((at - TEMPLATE_IP) as u16, depth));
        }
    }
    changes.push((code.len() as u16, None));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_called_have_the_way_back_on_the_stack() {
        // call +2; jmp +2; push rax; ret; nop
        let code = [0xe8, 2, 0, 0, 0, 0xeb, 2, 0x50, 0xc3, 0x90];
        let expected = [(0, Some(0)), (7, Some(8)), (8, Some(16)), (9, Some(0)), (10, None)];
        assert_eq!(depths(&code, &[(0, 0)]), expected);
    }

    #[test]
    fn pushes_and_branches_are_followed() {
        // push rax; je +2; push rcx; pop rcx; pop rax; ret; nop
        let code = [0x50, 0x74, 2, 0x51, 0x59, 0x58, 0xc3, 0x90];
        let expected = [(0, Some(0)), (1, Some(8)), (4, Some(16)), (5, Some(8)), (6, Some(0)), (7, None), (8, None)];
        assert_eq!(depths(&code, &[(0, 0)]), expected);
    }
}
