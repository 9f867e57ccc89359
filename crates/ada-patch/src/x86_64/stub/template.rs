//! Assembled code that is copied for each function, and what has to be filled in.

use ada_event::RuntimeAddr;
use iced_x86::{Decoder, DecoderOptions, OpKind};

use super::external::{External, TEMPLATE_IP};

/// Stands for the function's number in a template.
pub(super) const FUNCTION_PLACEHOLDER: i32 = 0x1122_3344;
/// Stands for the number of its probe.
pub(super) const PROBE_PLACEHOLDER: i32 = 0x1122_3355;
/// Stand for what the probe's guard looks at: two offsets, bits, and what these usually are.
pub(super) const OFFSET_PLACEHOLDERS: [i32; 2] = [0x1122_3366, 0x1122_3377];
pub(super) const BITS_PLACEHOLDER: i32 = 0x1122_3388;
pub(super) const USUAL_PLACEHOLDER: i32 = 0x1122_3399;

/// All of them, in the order of what they stand for.
const PLACEHOLDERS: [i32; 6] = {
    let [first, second] = OFFSET_PLACEHOLDERS;
    [FUNCTION_PLACEHOLDER, PROBE_PLACEHOLDER, first, second, BITS_PLACEHOLDER, USUAL_PLACEHOLDER]
};

/// Code with holes: relative references to the arena's common code, and the function's number.
pub(crate) struct Template {
    pub(crate) code: Vec<u8>,
    references: Vec<Reference>,
    /// Where the numbers are, by placeholder.
    numbers: [Vec<usize>; PLACEHOLDERS.len()],
}

struct Reference {
    at: usize,
    /// The end of the instruction, from which the processor counts.
    from: usize,
    external: External,
}

impl Template {
    pub(super) fn with_holes(code: Vec<u8>) -> Self {
        let (references, numbers) = find_holes(&code);
        Self { code, references, numbers }
    }

    /// Appends the code for address `at`, with its holes filled.
    pub(crate) fn emit(
        &self,
        at: RuntimeAddr,
        numbers: [u32; PLACEHOLDERS.len()],
        address_of: impl Fn(External) -> RuntimeAddr,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        out.extend_from_slice(&self.code);
        for (holes, number) in self.numbers.iter().zip(numbers) {
            for hole in holes {
                out[start + hole..][..4].copy_from_slice(&number.to_le_bytes());
            }
        }
        for reference in &self.references {
            let distance = address_of(reference.external).0.wrapping_sub(at.0 + reference.from as u64) as u32;
            out[start + reference.at..][..4].copy_from_slice(&distance.to_le_bytes());
        }
    }
}

fn find_holes(code: &[u8]) -> (Vec<Reference>, [Vec<usize>; PLACEHOLDERS.len()]) {
    let (mut references, mut numbers) = (Vec::new(), [const { Vec::new() }; PLACEHOLDERS.len()]);
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
        for (holes, placeholder) in numbers.iter_mut().zip(PLACEHOLDERS) {
            if is_number && code[immediate..immediate + 4] == placeholder.to_le_bytes() {
                holes.push(immediate);
            }
        }
    }
    (references, numbers)
}
