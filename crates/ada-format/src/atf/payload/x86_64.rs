//! The x86-64 payloads, which are ada's own: `docs/formats/atf-v2.md` is normative.
//!
//! Everything up to the stack bytes is made of 8-byte units, so that the code in a traced program can write a record
//! with plain 8-byte stores; a record's length is a multiple of 8 for the same reason.

use ada_event::{FunctionId, RuntimeAddr};

use super::{MAX_PROBES, checked_stack_size, need, stack_size};
use crate::atf::layout::{u16_at, u64_at};
use crate::atf::{AtfError, DetailType, WriteError};

/// Group bits, in the order in which the groups follow each other.
const VECTORS: u16 = 1;
const CONTEXT: u16 = 1 << 1;
const PROBES: u16 = 1 << 2;

/// The words of a call before its sizes: [`X86Call::words`] has them in their order.
const CALL_WORDS: usize = 11;
/// The same for a return: [`X86Return::words`].
const RETURN_WORDS: usize = 6;
/// Bytes of the word behind them: stack size, groups and a reserved half.
const SIZES: usize = 8;

/// Registers and stack when a function was entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct X86Call<'a> {
    /// Which function.
    pub function: FunctionId,
    /// The first integer argument.
    pub rdi: u64,
    /// The second.
    pub rsi: u64,
    /// The third.
    pub rdx: u64,
    /// The fourth.
    pub rcx: u64,
    /// The fifth.
    pub r8: u64,
    /// The sixth.
    pub r9: u64,
    /// For variadic functions, the number of vector registers in use.
    pub rax: u64,
    /// Where the function will return to.
    pub return_address: RuntimeAddr,
    /// The caller's frame pointer, if it keeps one.
    pub rbp: u64,
    /// The stack pointer at entry: it points at the slot of the return address.
    pub rsp: u64,
    /// `xmm0` to `xmm7`.
    pub vectors: Option<[u128; 8]>,
    /// `r10`, `r12`, `r13`, `r14`: the static chain, and the registers that Swift keeps its context in.
    pub context: Option<[u64; 4]>,
    /// What a runtime probe read from memory.
    pub probes: Option<Probes<'a>>,
    /// The stack from `rsp` upwards; its first eight bytes are the slot of the return address.
    pub stack: &'a [u8],
}

/// Registers when a function returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct X86Return<'a> {
    /// Which function.
    pub function: FunctionId,
    /// The return value.
    pub rax: u64,
    /// Its second half.
    pub rdx: u64,
    /// Where the function returned to.
    pub return_address: RuntimeAddr,
    /// The frame pointer.
    pub rbp: u64,
    /// The stack pointer after the return.
    pub rsp: u64,
    /// `xmm0` and `xmm1`.
    pub vectors: Option<[u128; 2]>,
    /// `rcx`, `r8`, `r12`, `r13`: the rest of a Swift return value, its error and its context.
    pub context: Option<[u64; 4]>,
    /// What a runtime probe read from memory.
    pub probes: Option<Probes<'a>>,
    /// Stack bytes; ada writes none on return.
    pub stack: &'a [u8],
}

/// Values that a runtime probe read from the target's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probes<'a>(&'a [[u8; 8]]);

impl<'a> Probes<'a> {
    /// Values as files store them, little-endian.
    pub fn from_le_bytes(values: &'a [[u8; 8]]) -> Self {
        Self(values)
    }

    /// The values in the order in which they were read.
    pub fn values(&self) -> impl ExactSizeIterator<Item = u64> + use<'a> {
        self.0.iter().map(|value| u64::from_le_bytes(*value))
    }
}

/// A payload whose parts lie in memory as files store them, and are written from there.
#[derive(Clone, Copy, Debug)]
pub struct X86Captured<'a> {
    /// [`DetailType::CALL`] or [`DetailType::RETURN`].
    pub kind: DetailType,
    /// Which function.
    pub function: FunctionId,
    /// From the first register to rsp, in two pieces of whole words.
    pub registers: [&'a [u8]; 2],
    /// The vector registers of a call or return, or nothing.
    pub vectors: &'a [u8],
    /// The stack.
    pub stack: &'a [u8],
}

impl X86Captured<'_> {
    /// Bytes of the payload.
    pub(crate) fn len(&self) -> usize {
        let [first, second] = self.registers.map(<[u8]>::len);
        (8 + first + second + SIZES + self.vectors.len() + self.stack.len()).next_multiple_of(8)
    }

    /// The word behind the registers.
    pub(crate) fn sizes(&self) -> Result<[u8; SIZES], WriteError> {
        let groups = if self.vectors.is_empty() { 0 } else { VECTORS };
        let sizes = u64::from(checked_stack_size(self.stack)?) | u64::from(groups) << 16;
        Ok(sizes.to_le_bytes())
    }
}

impl<'a> X86Call<'a> {
    pub(super) fn decode(bytes: &'a [u8], offset: u64) -> Result<Self, AtfError> {
        let (words, tail) = decode::<CALL_WORDS, 8>(bytes, offset)?;
        let [function, rdi, rsi, rdx, rcx, r8, r9, rax, return_address, rbp, rsp] = words;
        Ok(Self {
            function: FunctionId(function),
            rdi,
            rsi,
            rdx,
            rcx,
            r8,
            r9,
            rax,
            return_address: RuntimeAddr(return_address),
            rbp,
            rsp,
            vectors: tail.vectors,
            context: tail.context,
            probes: tail.probes,
            stack: tail.stack,
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<(), WriteError> {
        let tail = Tail { vectors: self.vectors, context: self.context, probes: self.probes, stack: self.stack };
        tail.encode(&self.words(), out)
    }

    fn words(&self) -> [u64; CALL_WORDS] {
        let Self { function, rdi, rsi, rdx, rcx, r8, r9, rax, return_address, rbp, rsp, .. } = *self;
        [function.0, rdi, rsi, rdx, rcx, r8, r9, rax, return_address.0, rbp, rsp]
    }

    /// The integer arguments in the order of the System V ABI.
    pub fn arguments(&self) -> [u64; 6] {
        [self.rdi, self.rsi, self.rdx, self.rcx, self.r8, self.r9]
    }
}

impl<'a> X86Return<'a> {
    pub(super) fn decode(bytes: &'a [u8], offset: u64) -> Result<Self, AtfError> {
        let (words, tail) = decode::<RETURN_WORDS, 2>(bytes, offset)?;
        let [function, rax, rdx, return_address, rbp, rsp] = words;
        Ok(Self {
            function: FunctionId(function),
            rax,
            rdx,
            return_address: RuntimeAddr(return_address),
            rbp,
            rsp,
            vectors: tail.vectors,
            context: tail.context,
            probes: tail.probes,
            stack: tail.stack,
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<(), WriteError> {
        let tail = Tail { vectors: self.vectors, context: self.context, probes: self.probes, stack: self.stack };
        tail.encode(&self.words(), out)
    }

    fn words(&self) -> [u64; RETURN_WORDS] {
        let Self { function, rax, rdx, return_address, rbp, rsp, .. } = *self;
        [function.0, rax, rdx, return_address.0, rbp, rsp]
    }
}

/// The words of a payload, and what follows them.
fn decode<const W: usize, const V: usize>(bytes: &[u8], offset: u64) -> Result<([u64; W], Tail<'_, V>), AtfError> {
    let tail = Tail::decode(bytes, 8 * W + SIZES, offset)?;
    Ok((std::array::from_fn(|number| u64_at(bytes, 8 * number)), tail))
}

/// What follows the registers in both payloads: sizes, groups and stack. They differ in the number of vectors.
struct Tail<'a, const V: usize> {
    vectors: Option<[u128; V]>,
    context: Option<[u64; 4]>,
    probes: Option<Probes<'a>>,
    stack: &'a [u8],
}

impl<'a, const V: usize> Tail<'a, V> {
    fn decode(bytes: &'a [u8], fixed: usize, offset: u64) -> Result<Self, AtfError> {
        need(bytes, fixed, offset)?;
        let stack_size = stack_size(bytes, fixed - SIZES, offset)?;
        let groups_at = fixed - SIZES + 2;
        let groups = u16_at(bytes, groups_at);
        if groups & !(VECTORS | CONTEXT | PROBES) != 0 {
            return Err(AtfError::PayloadGroups { offset: offset + groups_at as u64, found: groups });
        }
        let mut at = fixed;
        let mut take = |len: usize| {
            need(bytes, at + len, offset)?;
            at += len;
            Ok(&bytes[at - len..at])
        };
        let vectors = match groups & VECTORS {
            0 => None,
            _ => take(16 * V)?.as_chunks().0.first_chunk().map(|raw| raw.map(u128::from_le_bytes)),
        };
        let context = match groups & CONTEXT {
            0 => None,
            _ => take(32)?.as_chunks().0.first_chunk().map(|raw| raw.map(u64::from_le_bytes)),
        };
        let probes = match groups & PROBES {
            0 => None,
            _ => {
                let found = u64_at(take(8)?, 0);
                if found > MAX_PROBES as u64 {
                    // The count is the eight bytes before the offset that `at` has reached.
                    return Err(AtfError::ProbeCount { offset: offset + at as u64 - 8, found });
                }
                Some(Probes(take(8 * found as usize)?.as_chunks().0))
            }
        };
        let stack = take(stack_size)?;
        let padded = at.next_multiple_of(8);
        if bytes.len() > padded {
            return Err(AtfError::PayloadTooLong { offset, expected: padded as u64, found: bytes.len() as u64 });
        }
        Ok(Self { vectors, context, probes, stack })
    }

    fn encode(&self, words: &[u64], out: &mut Vec<u8>) -> Result<(), WriteError> {
        let stack_size = checked_stack_size(self.stack)?;
        if let Some(count) = self.probes.map(|probes| probes.0.len()).filter(|&count| count > MAX_PROBES) {
            return Err(WriteError::TooManyProbes { count });
        }
        let groups = self.vectors.map_or(0, |_| VECTORS)
            | self.context.map_or(0, |_| CONTEXT)
            | self.probes.map_or(0, |_| PROBES);
        let begin = out.len();
        out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        out.extend(stack_size.to_le_bytes());
        out.extend(groups.to_le_bytes());
        out.extend([0; 4]);
        out.extend(self.vectors.iter().flatten().flat_map(|value| value.to_le_bytes()));
        out.extend(self.context.iter().flatten().flat_map(|value| value.to_le_bytes()));
        if let Some(probes) = self.probes {
            out.extend((probes.0.len() as u64).to_le_bytes());
            out.extend_from_slice(probes.0.as_flattened());
        }
        out.extend_from_slice(self.stack);
        out.resize(begin + (out.len() - begin).next_multiple_of(8), 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full_call<'a>(probes: &'a [[u8; 8]]) -> X86Call<'a> {
        X86Call {
            function: FunctionId(1),
            rax: 7,
            rsp: 0x7fff_0000,
            vectors: Some([1, 2, 3, 4, 5, 6, 7, u128::MAX]),
            context: Some([10, 12, 13, 14]),
            probes: Some(Probes(probes)),
            stack: &[0xaa; 13],
            ..X86Call::default()
        }
    }

    #[test]
    fn all_groups_survive_a_round_trip_and_any_cut_is_noticed() {
        let probes = [1_u64.to_le_bytes(), 2_u64.to_le_bytes()];
        let call = full_call(&probes);
        let mut bytes = Vec::new();
        call.encode(&mut bytes).unwrap();
        assert_eq!(bytes.len(), 96 + 128 + 32 + 8 + 16 + 16);
        assert_eq!(X86Call::decode(&bytes, 0), Ok(call));
        for len in 0..bytes.len() - 3 {
            assert!(matches!(X86Call::decode(&bytes[..len], 9), Err(AtfError::PayloadTooShort { offset: 9, .. })));
        }
        bytes.push(0);
        assert!(matches!(X86Call::decode(&bytes, 0), Err(AtfError::PayloadTooLong { expected: 296, found: 297, .. })));
    }

    #[test]
    fn a_plain_return_has_56_bytes() {
        let back = X86Return { rax: 3, rdx: 4, rsp: 5, ..X86Return::default() };
        let mut bytes = Vec::new();
        back.encode(&mut bytes).unwrap();
        assert_eq!(bytes.len(), 56);
        assert_eq!(X86Return::decode(&bytes, 0), Ok(back));
    }

    #[test]
    fn impossible_sizes_are_refused_where_they_stand() {
        let mut bytes = Vec::new();
        full_call(&[]).encode(&mut bytes).unwrap();
        let with = |at: usize, value: u16| {
            let mut bytes = bytes.clone();
            bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
            X86Call::decode(&bytes, 100).map(drop)
        };
        assert_eq!(with(88, 513), Err(AtfError::StackSize { offset: 188, found: 513 }));
        assert_eq!(with(90, 15), Err(AtfError::PayloadGroups { offset: 190, found: 15 }));
        assert_eq!(with(256, 193), Err(AtfError::ProbeCount { offset: 356, found: 193 }));
    }

    #[test]
    fn writers_refuse_what_readers_would() {
        let mut out = Vec::new();
        let call = X86Call { stack: &[0; 513], ..X86Call::default() };
        assert!(matches!(call.encode(&mut out), Err(WriteError::StackTooLong { len: 513 })));
        let back = X86Return { probes: Some(Probes(&[[0; 8]; 193])), ..X86Return::default() };
        assert!(matches!(back.encode(&mut out), Err(WriteError::TooManyProbes { count: 193 })));
        assert!(out.is_empty());
    }
}
