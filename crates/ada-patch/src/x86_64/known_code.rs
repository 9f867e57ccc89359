//! Code that is known by its bytes, and what the unwind tables say of it.

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

/// Bytes of the `nop` at the start of code; 0 for none.
pub(crate) fn nop_bytes(code: &[u8]) -> usize {
    usize::from(code.first() == Some(&NOP))
}

/// Bytes of the instruction at the start of code that indirect branches have to find, `endbr64`; 0 for none.
pub(crate) fn marker_bytes(code: &[u8]) -> usize {
    if code.starts_with(&ENDBR64) { ENDBR64.len() } else { 0 }
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
