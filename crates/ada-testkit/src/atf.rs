//! ATF V2 files by hand: each field is put where `docs/formats/atf-v2.md` says, in the order in which it says so.

/// What a file says of where it was recorded.
#[derive(Clone, Copy)]
pub struct Machine {
    /// 1 x86_64, 2 arm64.
    pub arch: u8,
    /// 3 macOS, 4 Linux.
    pub os: u8,
    /// 1 mach continuous, 3 boottime.
    pub clock: u8,
}

/// A Linux machine with an x86-64 processor.
pub const LINUX: Machine = Machine { arch: 1, os: 4, clock: 3 };
/// A Mac with an arm64 processor.
pub const MAC: Machine = Machine { arch: 2, os: 3, clock: 1 };

/// The link of an event without detail.
pub const NO_DETAIL: u32 = u32::MAX;

/// One event of an index file.
pub fn event(time: u64, function: u64, thread: u32, kind: u32, depth: u32, detail: u32) -> [u8; 32] {
    let mut bytes = Bytes::default();
    bytes.u64(time).u64(function).u32(thread).u32(kind).u32(depth).u32(detail);
    bytes.0.try_into().expect("8 + 8 + 4 × 4 bytes")
}

/// So many calls, a nanosecond apart.
pub fn calls(count: u64, thread: u32) -> Vec<[u8; 32]> {
    (0..count).map(|n| event(1000 + n, 1 << 32 | n, thread, 1, 0, NO_DETAIL)).collect()
}

/// An index file whose writer got to its end.
pub fn index(machine: Machine, thread: u32, has_detail: bool, events: &[[u8; 32]]) -> Vec<u8> {
    let (start, end) = times(events.first(), events.last());
    let length = 32 * events.len() as u64;
    let mut bytes = Bytes::default();
    bytes.raw(b"ATI2").raw(&[1, 1, machine.arch, machine.os]);
    bytes.u32(has_detail.into()).u32(thread);
    bytes.raw(&[machine.clock]).raw(&[0; 7]);
    bytes.u32(32).u32(events.len() as u32).u64(64).u64(64 + length).u64(start).u64(end);
    bytes.raw(events.as_flattened());
    bytes.raw(b"2ITA").u32(crc32(events.as_flattened())).u64(events.len() as u64).u64(start).u64(end).u64(length);
    bytes.raw(&[0; 24]);
    bytes.0
}

/// The header of an index file whose writer has just begun.
pub fn index_placeholder(machine: Machine, thread: u32) -> Vec<u8> {
    let mut bytes = Bytes::default();
    bytes.raw(b"ATI2").raw(&[1, 1, machine.arch, machine.os]);
    bytes.u32(0).u32(thread);
    bytes.raw(&[machine.clock]).raw(&[0; 7]);
    bytes.u32(32).u32(0).u64(64).u64(0).u64(0).u64(0);
    bytes.0
}

/// One record of a detail file.
pub fn record(kind: u16, index_seq: u32, thread: u32, time: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Bytes::default();
    bytes.u32(24 + payload.len() as u32).u16(kind).u16(0).u32(index_seq).u32(thread).u64(time).raw(payload);
    bytes.0
}

/// A detail file whose writer got to its end. Records are as [`record`] makes them.
pub fn detail(machine: Machine, thread: u32, records: &[Vec<u8>]) -> Vec<u8> {
    let section = records.concat();
    let links: Vec<u32> =
        records.iter().map(|record| u32::from_le_bytes([record[8], record[9], record[10], record[11]])).collect();
    let time =
        |record: Option<&Vec<u8>>| record.map_or(0, |it| u64::from_le_bytes(it[16..24].try_into().expect("8 bytes")));
    let mut bytes = Bytes::default();
    bytes.raw(b"ATD2").raw(&[1, 1, machine.arch, machine.os]);
    bytes.u32(0).u32(thread).u32(0);
    bytes.u64(64).u64(records.len() as u64).u64(section.len() as u64);
    bytes.u64(links.iter().min().copied().unwrap_or(0).into()).u64(links.iter().max().copied().unwrap_or(0).into());
    bytes.u32(0).raw(&section);
    bytes.raw(b"2DTA").u32(crc32(&section)).u64(records.len() as u64).u64(section.len() as u64);
    bytes.u64(time(records.first())).u64(time(records.last())).raw(&[0; 24]);
    bytes.0
}

/// The header of a detail file whose writer has just begun.
pub fn detail_placeholder(machine: Machine, thread: u32) -> Vec<u8> {
    let mut bytes = Bytes::default();
    bytes.raw(b"ATD2").raw(&[1, 1, machine.arch, machine.os]);
    bytes.u32(0).u32(thread).u32(0).u64(64).raw(&[0; 36]);
    bytes.0
}

/// An x86-64 call: function, rdi to rax, return address, rbp and rsp; then the stack.
pub fn x86_call(registers: [u64; 11], stack: &[u8]) -> Vec<u8> {
    let mut bytes = Bytes::default();
    bytes.words(&registers);
    bytes.u16(stack.len() as u16).u16(0).u32(0).raw(stack);
    bytes.raw(&[0; 8][..(8 - stack.len() % 8) % 8]);
    bytes.0
}

/// An x86-64 return: function, rax, rdx, return address, rbp and rsp.
pub fn x86_return(registers: [u64; 6]) -> Vec<u8> {
    let mut bytes = Bytes::default();
    bytes.words(&registers);
    bytes.u16(0).u16(0).u32(0);
    bytes.0
}

/// An arm64 call or return: function, x0 to x7, lr, fp and sp; then the stack.
pub fn arm64(registers: [u64; 12], stack: &[u8]) -> Vec<u8> {
    let mut bytes = Bytes::default();
    bytes.words(&registers);
    bytes.u16(stack.len() as u16).u16(0).raw(stack);
    bytes.0
}

/// CRC-32 as in zip and PNG, a bit at a time.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

fn times(first: Option<&[u8; 32]>, last: Option<&[u8; 32]>) -> (u64, u64) {
    let time =
        |event: Option<&[u8; 32]>| event.map_or(0, |it| u64::from_le_bytes(it[..8].try_into().expect("8 bytes")));
    (time(first), time(last))
}

#[derive(Default)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Bytes {
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn u16(&mut self, value: u16) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    fn words(&mut self, values: &[u64]) -> &mut Self {
        values.iter().fold(self, |bytes, &value| bytes.u64(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_well_known_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn headers_and_footers_have_64_bytes() {
        assert_eq!(index_placeholder(LINUX, 1).len(), 64);
        assert_eq!(detail_placeholder(LINUX, 1).len(), 64);
        assert_eq!(index(LINUX, 1, false, &[]).len(), 128);
        assert_eq!(detail(LINUX, 1, &[]).len(), 128);
    }
}
