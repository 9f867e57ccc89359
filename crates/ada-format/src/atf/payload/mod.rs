//! What a detail record holds of a call or return: registers and stack, by architecture.

mod arm64;
mod x86_64;

pub use arm64::Arm64Frame;
pub use x86_64::{Probes, X86Call, X86Captured, X86Return};

use super::{Arch, AtfError, DetailType, WriteError};

/// The largest stack window.
pub const MAX_STACK_WINDOW: usize = 512;
/// The most probe reads that a record can have.
pub const MAX_PROBES: usize = 192;

/// A payload, borrowed from the record's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Payload<'a> {
    /// A call on x86-64.
    X86Call(X86Call<'a>),
    /// A return on x86-64.
    X86Return(X86Return<'a>),
    /// A call on arm64.
    Arm64Call(Arm64Frame<'a>),
    /// A return on arm64.
    Arm64Return(Arm64Frame<'a>),
    /// A record of a type or an architecture that this version does not know.
    Unknown {
        /// The record's type.
        kind: DetailType,
        /// The payload as it is.
        bytes: &'a [u8],
    },
}

impl<'a> Payload<'a> {
    /// Reads a payload that begins at `offset` of its file; errors count from there.
    pub fn decode(arch: Arch, kind: DetailType, bytes: &'a [u8], offset: u64) -> Result<Self, AtfError> {
        match (arch, kind) {
            (Arch::X86_64, DetailType::CALL) => X86Call::decode(bytes, offset).map(Self::X86Call),
            (Arch::X86_64, DetailType::RETURN) => X86Return::decode(bytes, offset).map(Self::X86Return),
            (Arch::ARM64, DetailType::CALL) => Arm64Frame::decode(bytes, offset).map(Self::Arm64Call),
            (Arch::ARM64, DetailType::RETURN) => Arm64Frame::decode(bytes, offset).map(Self::Arm64Return),
            _ => Ok(Self::Unknown { kind, bytes }),
        }
    }

    /// Appends the payload as files store it.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), WriteError> {
        match self {
            Self::X86Call(call) => call.encode(out),
            Self::X86Return(back) => back.encode(out),
            Self::Arm64Call(frame) | Self::Arm64Return(frame) => frame.encode(out),
            Self::Unknown { bytes, .. } => {
                out.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// The type of the record that holds this payload.
    pub fn kind(&self) -> DetailType {
        match self {
            Self::X86Call(_) | Self::Arm64Call(_) => DetailType::CALL,
            Self::X86Return(_) | Self::Arm64Return(_) => DetailType::RETURN,
            Self::Unknown { kind, .. } => *kind,
        }
    }
}

/// The size of the stack window, which is stated at `size_at`.
fn stack_size(bytes: &[u8], size_at: usize, offset: u64) -> Result<usize, AtfError> {
    let found = super::layout::u16_at(bytes, size_at);
    if usize::from(found) > MAX_STACK_WINDOW {
        return Err(AtfError::StackSize { offset: offset + size_at as u64, found });
    }
    Ok(found.into())
}

/// Fails unless a payload has the bytes that its fields ask for.
fn need(bytes: &[u8], needed: usize, offset: u64) -> Result<(), AtfError> {
    if bytes.len() < needed {
        return Err(AtfError::PayloadTooShort { offset, needed: needed as u64, found: bytes.len() as u64 });
    }
    Ok(())
}

/// A stack window's size, if it is one that readers accept.
fn checked_stack_size(stack: &[u8]) -> Result<u16, WriteError> {
    if stack.len() > MAX_STACK_WINDOW {
        return Err(WriteError::StackTooLong { len: stack.len() });
    }
    Ok(stack.len() as u16)
}
