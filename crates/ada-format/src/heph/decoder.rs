//! Packets out of pieces of a stream, wherever it is cut.

use super::scanner::Scanner;
use super::{DEFAULT_MAX_PACKET, Error, Framed, Totals};

/// Takes pieces of a trace and gives its packets.
///
/// [`push`](Self::push) a piece, then call [`next_packet`](Self::next_packet) until it gives nothing; at the end of
/// the input call [`finish`](Self::finish) and ask for packets once more. A caller that keeps to this holds at most
/// about twice the largest packet that is allowed, plus the piece.
///
/// ```
/// use ada_format::heph::{Decoder, Error};
///
/// let mut decoder = Decoder::new();
/// for piece in [b"\x75\xD1\x1D".as_slice(), b"\x4D\0\0\0\x0a\0\0\x75\xD1"] {
///     decoder.push(piece);
///     while let Some(found) = decoder.next_packet() {
///         assert_eq!(found?.offset, 0);
///     }
/// }
/// decoder.finish();
/// let cut_short = Error::Truncated { offset: 10, needed: 8, available: 2 };
/// assert_eq!(decoder.next_packet(), Some(Err(cut_short)));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    scanner: Scanner,
    buffer: Vec<u8>,
    /// What of `buffer` is used up.
    used: usize,
    ended: bool,
}

impl Decoder {
    /// A decoder for packets of up to [`DEFAULT_MAX_PACKET`] bytes.
    pub const fn new() -> Self {
        Self::with_max_packet(DEFAULT_MAX_PACKET)
    }

    /// A decoder that refuses packets of more than `max_packet` bytes, which bounds the memory it takes.
    pub const fn with_max_packet(max_packet: u32) -> Self {
        Self { scanner: Scanner::new(max_packet), buffer: Vec::new(), used: 0, ended: false }
    }

    /// Takes the next piece of the trace.
    pub fn push(&mut self, piece: &[u8]) {
        // Moving only what is at most half of the buffer keeps the cost of moving proportional to the input.
        if self.used >= self.buffer.len() - self.used {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
        self.buffer.extend_from_slice(piece);
    }

    /// Says that no piece follows: what remains is a truncated packet, and perhaps good ones behind its false size.
    pub const fn finish(&mut self) {
        self.ended = true;
    }

    pub(super) const fn is_finished(&self) -> bool {
        self.ended
    }

    /// Whether [`next_packet`](Self::next_packet) has something to give before the next piece.
    pub fn is_ready(&mut self) -> bool {
        self.used += self.scanner.skip_garbage(&self.buffer[self.used..], self.ended);
        self.scanner.is_ready(&self.buffer[self.used..], self.ended)
    }

    /// The next packet or error, or nothing before the next piece.
    pub fn next_packet(&mut self) -> Option<Result<Framed<'_>, Error>> {
        self.used += self.scanner.skip_garbage(&self.buffer[self.used..], self.ended);
        let (taken, found) = self.scanner.take(&self.buffer[self.used..], self.ended)?;
        self.used += taken;
        Some(found)
    }

    /// What was found so far.
    pub const fn totals(&self) -> Totals {
        self.scanner.totals()
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY_OPTION: &[u8] = b"\x75\xD1\x1D\x4D\0\0\0\x0a\0\0";

    #[test]
    fn garbage_is_not_kept() {
        let mut decoder = Decoder::new();
        for _ in 0..1000 {
            decoder.push(&[0xAA; 1000]);
            while decoder.next_packet().is_some() {}
        }
        assert!(decoder.buffer.capacity() < 10_000);
        decoder.push(EMPTY_OPTION);
        let offset = decoder.next_packet().expect("a packet").expect("a sound one").offset;
        assert_eq!(offset, 1_000_000);
        assert_eq!(decoder.totals(), Totals { packets: 1, malformed: 1, skipped: 1_000_000 });
    }

    #[test]
    fn used_packets_are_dropped() {
        let mut decoder = Decoder::new();
        for _ in 0..10_000 {
            decoder.push(EMPTY_OPTION);
            assert!(decoder.is_ready());
            assert!(decoder.next_packet().is_some());
            assert!(!decoder.is_ready());
        }
        assert!(decoder.buffer.capacity() < 100);
    }

    #[test]
    fn a_claim_above_the_limit_is_refused_at_once() {
        let mut decoder = Decoder::with_max_packet(1000);
        decoder.push(b"\xC1\xFC\x1F\xB7\0\0\x03\xe9");
        let refused = Error::PacketTooLarge { offset: 0, size: 1001, limit: 1000 };
        assert_eq!(decoder.next_packet(), Some(Err(refused)));
    }
}
