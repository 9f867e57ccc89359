//! A detail record, and the payload that is made of it.

use ada_event::{FunctionId, RuntimeAddr};
use ada_format::atf::{Payload, Probes, X86Call, X86Return};
use ada_ring::detail::{self, DetailShape, RawDetail};
use ada_ring::probe::PROBE_WORDS;

/// A detail record as a stub wrote it.
#[derive(Clone, Copy)]
pub(crate) struct Captured<'a> {
    bytes: &'a [u8],
}

impl<'a> Captured<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    fn word(&self, number: usize) -> u64 {
        u64::from_le_bytes(self.bytes[8 * number..8 * number + 8].try_into().expect("eight bytes"))
    }

    pub(crate) fn tsc(&self) -> u64 {
        self.word(1)
    }

    /// The handler that a probed call registers, where the function is one that does.
    pub(crate) fn registered_handler(&self) -> Option<u64> {
        const COUNT: usize = RawDetail::SIZE / 8 + 4;
        let is_read = self.word(COUNT) > 0;
        (self.word(0) as u32 == detail::CALL).then(|| if is_read { self.word(COUNT + 1) } else { self.word(3) })
    }

    /// The payload of a runtime probe.
    pub(crate) fn probe_payload(&self, function: FunctionId) -> Payload<'a> {
        const CONTEXT: usize = RawDetail::SIZE;
        const COUNT: usize = CONTEXT + 32;
        const WORDS: usize = COUNT + 8;
        let context = Some(std::array::from_fn(|number| self.word(CONTEXT / 8 + number)));
        let count = (self.word(COUNT / 8) as usize).min(PROBE_WORDS);
        let (words, _) = self.bytes[WORDS..WORDS + 8 * count].as_chunks();
        let probes = (count > 0).then(|| Probes::from_le_bytes(words));
        match self.payload(function, &DetailShape::default()) {
            Payload::X86Call(call) => Payload::X86Call(X86Call { context, probes, stack: &[], ..call }),
            Payload::X86Return(back) => Payload::X86Return(X86Return { context, probes, ..back }),
            other => other,
        }
    }

    fn vectors<const COUNT: usize>(&self, shape: &DetailShape) -> Option<[u128; COUNT]> {
        let (vectors, _) = self.bytes.get(shape.vectors_at()..)?.as_chunks::<16>();
        shape.vectors.then(|| std::array::from_fn(|number| u128::from_le_bytes(vectors[number])))
    }

    /// The payload for a session, for the function with this id.
    pub(crate) fn payload(&self, function: FunctionId, shape: &DetailShape) -> Payload<'a> {
        let register = |number: usize| self.word(2 + number);
        let (return_address, rbp, rsp) = (RuntimeAddr(self.word(9)), self.word(10), self.word(11));
        if self.word(0) as u32 == detail::RETURN {
            return Payload::X86Return(X86Return {
                function,
                rax: register(0),
                rdx: register(1),
                return_address,
                rbp,
                rsp,
                vectors: self.vectors(shape),
                ..X86Return::default()
            });
        }
        let stack = &self.bytes[RawDetail::SIZE..];
        Payload::X86Call(X86Call {
            function,
            rdi: register(0),
            rsi: register(1),
            rdx: register(2),
            rcx: register(3),
            r8: register(4),
            r9: register(5),
            rax: register(6),
            return_address,
            rbp,
            rsp,
            vectors: self.vectors(shape),
            stack: &stack[..shape.window.min(self.word(12) as usize)],
            ..X86Call::default()
        })
    }
}
