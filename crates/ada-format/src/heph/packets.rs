//! The packets of a trace that is in memory.

use super::scanner::Scanner;
use super::{Error, Framed, Totals};

/// Iterates over the packets of a whole trace, or of one datagram, and over what is wrong between them.
///
/// A datagram may hold several packets; whatever follows the last one is an error, as in a file.
#[derive(Debug)]
pub struct Packets<'a> {
    scanner: Scanner,
    rest: &'a [u8],
}

impl<'a> Packets<'a> {
    /// The packets in `bytes`. Packets of any size are accepted: they are in memory already.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self::with_max_packet(bytes, u32::MAX)
    }

    /// The packets in `bytes`, without those of more than `max_packet` bytes, which are errors.
    pub const fn with_max_packet(bytes: &'a [u8], max_packet: u32) -> Self {
        Self { scanner: Scanner::new(max_packet), rest: bytes }
    }

    /// What was found so far.
    pub const fn totals(&self) -> Totals {
        self.scanner.totals()
    }
}

impl<'a> Iterator for Packets<'a> {
    type Item = Result<Framed<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let garbage = self.scanner.skip_garbage(self.rest, true);
        self.rest = &self.rest[garbage..];
        let (used, found) = self.scanner.take(self.rest, true)?;
        self.rest = &self.rest[used..];
        Some(found)
    }
}
