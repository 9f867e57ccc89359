//! Code that is known by its bytes, and what the unwind tables say of it.

use std::ops::Range;

use ada_image::{Cfa, Row};
use iced_x86::{Decoder, DecoderOptions, Mnemonic};

/// `mov rax, 15; syscall`.
const SIGRETURN: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
const NOP: u8 = 0x90;
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

/// Whether the kernel returns here from a signal handler.
pub(crate) fn is_signal_return(code: &[u8]) -> bool {
    code.starts_with(&SIGRETURN)
}

/// Whether some of the instructions tell the processor that this is a loop that waits.
pub(crate) fn spins(code: &[u8]) -> bool {
    Decoder::new(64, code, DecoderOptions::NONE).iter().any(|instruction| instruction.mnemonic() == Mnemonic::Pause)
}

/// Bytes of the `nop` at the start of code; 0 for none.
pub(crate) fn nop_bytes(code: &[u8]) -> usize {
    usize::from(code.first() == Some(&NOP))
}

/// Bytes of the instruction at the start of code that indirect branches have to find, `endbr64`; 0 for none.
pub(crate) fn marker_bytes(code: &[u8]) -> usize {
    if code.starts_with(&ENDBR64) { MARKER_BYTES } else { 0 }
}

/// Whether a function of this many bytes is a jump through a pointer with data behind it.
pub(crate) fn is_import_stub(code: &[u8], size: u64) -> bool {
    const JUMP: usize = 6;
    let Some(code) = usize::try_from(size).ok().and_then(|size| code.get(marker_bytes(code)..size)) else {
        return false;
    };
    let is_padding = |behind: &[u8]| padding_lengths(behind).sum::<usize>() == behind.len();
    code.starts_with(&[0xff, 0x25]) && code.len() > JUMP && !is_padding(&code[JUMP..])
}

/// What lies between two long runs of traps, in code that starts at an address. No compiler makes such runs.
pub(crate) fn fenced(start: u64, code: &[u8]) -> Vec<Range<u64>> {
    const UD2: [u8; 2] = [0x0f, 0x0b];
    /// Every run of twice as many has one that begins at a multiple.
    const BLOCK: usize = 32;
    /// Further apart they have nothing to do with each other.
    const MOST: usize = 4096;
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (number, block) in code.chunks_exact(BLOCK).enumerate() {
        let at = number * BLOCK;
        let is_known = runs.last().is_some_and(|run| at < run.end);
        let is_trap = |from: usize| block[from..].chunks_exact(2).all(|pair| pair == UD2);
        if is_known || !(is_trap(0) || is_trap(1)) {
            continue;
        }
        let mut run = at + usize::from(!is_trap(0))..at + BLOCK - usize::from(!is_trap(0));
        while run.start >= 2 && code[run.start - 2..run.start] == UD2 {
            run.start -= 2;
        }
        while code.get(run.end..run.end + 2) == Some(&UD2) {
            run.end += 2;
        }
        runs.push(run);
    }
    let between = runs.windows(2).map(|pair| pair[0].end..pair[1].start);
    let near = between.filter(|between| between.len() <= MOST);
    near.map(|between| start + between.start as u64..start + between.end as u64).collect()
}

/// The most bytes of such an instruction.
pub(crate) const MARKER_BYTES: usize = ENDBR64.len();

/// Whether a function begins with words on top of its return address.
pub(crate) fn has_pushed_arguments(row: &Row) -> bool {
    matches!(row.cfa, Cfa::Rsp(offset) if offset > 8) && !row.saves_registers && row.return_address_at_cfa_minus_8
}

/// The lengths of the instructions at the start of `bytes` that are only there to fill the space.
pub(crate) fn padding_lengths(bytes: &[u8]) -> impl Iterator<Item = usize> {
    Decoder::new(64, bytes, DecoderOptions::NONE)
        .into_iter()
        .take_while(|instruction| matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3))
        .map(|instruction| instruction.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_runs_of_traps_is_fenced() {
        let mut code = vec![0x90; 256];
        code.extend([0x0f, 0x0b].repeat(51));
        code.extend([0xc3; 7]);
        code.extend([0x0f, 0x0b].repeat(40));
        code.extend([0xc3; 100]);
        let found: Vec<(u64, u64)> = fenced(0x1000, &code).into_iter().map(|it| (it.start, it.end)).collect();
        assert_eq!(found, [(0x1000 + 358, 0x1000 + 365)]);
        assert!(fenced(0x1000, &code[..380]).is_empty(), "a few traps are none");
    }

    #[test]
    fn a_jump_through_a_pointer_with_data_behind_it_is_an_import() {
        assert!(is_import_stub(&[0xff, 0x25, 1, 2, 3, 4, 0x10, 0, 0, 0, 0xff], 10));
        assert!(!is_import_stub(&[0xff, 0x25, 1, 2, 3, 4, 0x90, 0x90, 0x90, 0xff], 9));
        assert!(!is_import_stub(&[0xff, 0x25, 1, 2, 3, 4, 0x10, 0, 0, 0], 6));
        assert!(!is_import_stub(&[0xff, 0x25, 1], 10));
    }
}
