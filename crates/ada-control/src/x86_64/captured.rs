//! A detail record, and the payload that is made of it.

use std::mem::offset_of;

use ada_event::{FunctionId, RuntimeAddr};
use ada_format::atf::{DetailType, MAX_PROBES, Payload, Probes, X86Call, X86Captured, X86Return};
use ada_ring::arch::{CallRegisters, ReturnRegisters};
use ada_ring::detail::{self, RawDetail};
use ada_ring::probe::{PROBE_WORDS, RawProbe};
use ada_ring::{DetailShape, RecordLayout};

/// A detail record as a stub wrote it. Which kind it is of is the target's word: an event may say that it was probed, and have
/// registers alone, or the other way round. What a record is too short for is 0, or not there.
#[derive(Clone, Copy)]
pub(crate) struct Captured<'a> {
    bytes: &'a [u8],
    /// What is behind a probe's words.
    tail: &'a [u8],
}

impl<'a> Captured<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, tail: &[] }
    }

    /// A record of a probe, which ends with so many bytes for its stack window and vector registers.
    pub(crate) fn with_tail(bytes: &'a [u8], tail: usize) -> Self {
        let (bytes, tail) = bytes.split_at(bytes.len().saturating_sub(tail));
        Self { bytes, tail }
    }

    /// The word at an offset of [`RawDetail`] or [`RawProbe`].
    fn word(&self, offset: usize) -> u64 {
        let word = self.bytes.get(offset..).and_then(<[u8]>::first_chunk);
        word.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    fn mark(&self) -> u32 {
        self.word(offset_of!(RawDetail, mark)) as u32
    }

    /// Of a record that only goes on with the one before: its words.
    pub(crate) fn more_words(&self) -> Option<&'a [u8]> {
        const WORDS: usize = offset_of!(RawProbe, words);
        // Records of other lanes are shorter, and none of them has this mark.
        if self.mark() != detail::MORE || self.bytes.len() < RawProbe::SIZE {
            return None;
        }
        let count = (self.word(offset_of!(RawProbe, count)) as usize).min(PROBE_WORDS);
        self.bytes.get(WORDS..WORDS + 8 * count)
    }

    /// The register at an offset of [`CallRegisters`] or [`ReturnRegisters`].
    fn register(&self, offset: usize) -> u64 {
        self.word(offset_of!(RawDetail, registers) + offset)
    }

    pub(crate) fn tsc(&self) -> u64 {
        self.word(offset_of!(RawDetail, tsc))
    }

    /// The handler that a probed call registers, where the function is one that does.
    pub(crate) fn registered_handler(&self) -> Option<u64> {
        let is_read = self.word(offset_of!(RawProbe, count)) > 0;
        let handler = || {
            if is_read { self.word(offset_of!(RawProbe, words)) } else { self.register(offset_of!(CallRegisters, rsi)) }
        };
        (self.mark() == detail::CALL).then(handler)
    }

    /// An argument that is a number, by its position, where it is in a register.
    pub(crate) fn argument(&self, position: usize) -> Option<u64> {
        const OFFSETS: [usize; 4] = [
            offset_of!(CallRegisters, rdi),
            offset_of!(CallRegisters, rsi),
            offset_of!(CallRegisters, rdx),
            offset_of!(CallRegisters, rcx),
        ];
        OFFSETS.get(position).map(|offset| self.register(*offset))
    }

    /// What a call gave back.
    pub(crate) fn result(&self) -> u64 {
        self.register(offset_of!(ReturnRegisters, rax))
    }

    /// The first word that a probe has read.
    pub(crate) fn first_word(&self) -> Option<u64> {
        (self.word(offset_of!(RawProbe, count)) > 0).then(|| self.word(offset_of!(RawProbe, words)))
    }

    /// All words that a probe has read.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        let (words, _) = self.bytes.get(offset_of!(RawProbe, words)..).unwrap_or_default().as_chunks();
        let count = (self.word(offset_of!(RawProbe, count)) as usize).min(words.len());
        words[..count].iter().map(|word| u64::from_le_bytes(*word))
    }

    /// The payload of a runtime probe, without what is behind its words.
    pub(crate) fn probe_payload(&self, function: FunctionId) -> Payload<'a> {
        self.whole_probe_payload(function, &DetailShape::default().probe_layout())
    }

    /// The payload of a runtime probe.
    pub(crate) fn whole_probe_payload(&self, function: FunctionId, layout: &RecordLayout) -> Payload<'a> {
        const WORDS: usize = offset_of!(RawProbe, words);
        let context = Some(std::array::from_fn(|number| self.word(offset_of!(RawProbe, context) + 8 * number)));
        let (words, _) = self.bytes.get(WORDS..).unwrap_or_default().as_chunks();
        let count = (self.word(offset_of!(RawProbe, count)) as usize).min(words.len()).min(MAX_PROBES);
        let words = &words[..count];
        let probes = (count > 0).then(|| Probes::from_le_bytes(words));
        let stack_bytes = self.word(offset_of!(RawDetail, stack_bytes));
        let stack = &self.tail[..layout.window.min(stack_bytes as u32 as usize).min(self.tail.len())];
        let has_vectors = stack_bytes & detail::WITHOUT_VECTORS == 0;
        let vectors_at = layout.vectors_at.filter(|_| has_vectors).map(|at| at - layout.window_at);
        match self.payload(function, &DetailShape::default()) {
            Payload::X86Call(call) => {
                let vectors = vectors(self.tail, vectors_at);
                Payload::X86Call(X86Call { vectors, context, probes, stack, ..call })
            }
            Payload::X86Return(back) => {
                let vectors = vectors(self.tail, vectors_at);
                Payload::X86Return(X86Return { vectors, context, probes, ..back })
            }
            other => other,
        }
    }

    /// The same as [`Self::payload`], as it lies in the record.
    #[inline]
    pub(crate) fn stored(&self, function: FunctionId, shape: &DetailShape) -> X86Captured<'a> {
        const REGISTERS: usize = offset_of!(RawDetail, registers);
        const RETURN_ADDRESS: usize = offset_of!(RawDetail, return_address);
        const STACK_BYTES: usize = offset_of!(RawDetail, stack_bytes);
        let bytes = self.bytes;
        let vectors = |count: usize| shape.layout().vectors_at.map_or(&[][..], |at| &bytes[at..][..16 * count]);
        if self.mark() == detail::RETURN {
            let registers = &bytes[REGISTERS..REGISTERS + size_of::<ReturnRegisters>()];
            let registers = [registers, &bytes[RETURN_ADDRESS..STACK_BYTES]];
            return X86Captured { kind: DetailType::RETURN, function, registers, vectors: vectors(2), stack: &[] };
        }
        let stack_bytes = shape.window.min(self.word(STACK_BYTES) as usize);
        X86Captured {
            kind: DetailType::CALL,
            function,
            registers: [&bytes[REGISTERS..STACK_BYTES], &[]],
            vectors: vectors(8),
            stack: &bytes[RawDetail::SIZE..][..stack_bytes],
        }
    }

    /// The payload for a session, for the function with this id.
    pub(crate) fn payload(&self, function: FunctionId, shape: &DetailShape) -> Payload<'a> {
        let return_address = RuntimeAddr(self.word(offset_of!(RawDetail, return_address)));
        let rbp = self.word(offset_of!(RawDetail, frame_pointer));
        let rsp = self.word(offset_of!(RawDetail, stack_pointer));
        if self.mark() == detail::RETURN {
            return Payload::X86Return(X86Return {
                function,
                rax: self.register(offset_of!(ReturnRegisters, rax)),
                rdx: self.register(offset_of!(ReturnRegisters, rdx)),
                return_address,
                rbp,
                rsp,
                vectors: vectors(self.bytes, shape.layout().vectors_at),
                ..X86Return::default()
            });
        }
        let stack = self.bytes.get(RawDetail::SIZE..).unwrap_or_default();
        let stack_bytes = self.word(offset_of!(RawDetail, stack_bytes)) as usize;
        Payload::X86Call(X86Call {
            function,
            rdi: self.register(offset_of!(CallRegisters, rdi)),
            rsi: self.register(offset_of!(CallRegisters, rsi)),
            rdx: self.register(offset_of!(CallRegisters, rdx)),
            rcx: self.register(offset_of!(CallRegisters, rcx)),
            r8: self.register(offset_of!(CallRegisters, r8)),
            r9: self.register(offset_of!(CallRegisters, r9)),
            rax: self.register(offset_of!(CallRegisters, rax)),
            return_address,
            rbp,
            rsp,
            vectors: vectors(self.bytes, shape.layout().vectors_at),
            stack: &stack[..shape.window.min(stack_bytes).min(stack.len())],
            ..X86Call::default()
        })
    }
}

/// The first vector registers, where these are captured.
fn vectors<const COUNT: usize>(bytes: &[u8], at: Option<usize>) -> Option<[u128; COUNT]> {
    let (vectors, _) = bytes.get(at?..)?.as_chunks::<16>();
    vectors.first_chunk().map(|vectors: &[_; COUNT]| vectors.map(u128::from_le_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A target that says of its records what is not so.
    #[test]
    fn a_record_of_another_kind_lacks_what_it_has_no_room_for() {
        let shape = DetailShape { window: detail::MAX_WINDOW, vectors: true, probes_too: true };
        for (length, mark) in
            [RawDetail::SIZE, 112, RawProbe::SIZE].into_iter().flat_map(|it| [(it, detail::CALL), (it, detail::RETURN)])
        {
            let mut bytes = vec![0xff; length];
            bytes[..4].copy_from_slice(&mark.to_le_bytes());
            let record = Captured::new(&bytes);
            let is_probe = length == RawProbe::SIZE;
            assert_eq!(record.first_word(), is_probe.then_some(u64::MAX));
            assert_eq!(record.registered_handler().is_some(), mark == detail::CALL);
            for payload in [
                record.whole_probe_payload(FunctionId(1), &shape.probe_layout()),
                record.payload(FunctionId(1), &shape),
            ] {
                let vectors = match payload {
                    Payload::X86Call(call) => call.vectors.is_some(),
                    Payload::X86Return(back) => back.vectors.is_some(),
                    _ => panic!("a call or a return"),
                };
                assert!(!vectors);
            }
        }
    }
}
