//! The packets behind a [`Read`].

use std::io::{self, Read};

use super::{Decoder, Error, Framed, Totals};

const PIECE: usize = 64 << 10;

/// Reads packets from a file, standard input, a socket.
///
/// Reads in large pieces: the input needs no buffer of its own.
#[derive(Debug)]
pub struct PacketReader<R> {
    input: R,
    decoder: Decoder,
    piece: Box<[u8]>,
}

impl<R: Read> PacketReader<R> {
    /// Reads packets of up to [`DEFAULT_MAX_PACKET`](super::DEFAULT_MAX_PACKET) bytes.
    pub fn new(input: R) -> Self {
        Self::with_decoder(input, Decoder::new())
    }

    /// Reads what `decoder`, which sets the limits, makes of the input.
    pub fn with_decoder(input: R, decoder: Decoder) -> Self {
        Self { input, decoder, piece: vec![0; PIECE].into_boxed_slice() }
    }

    /// The next packet, or what is wrong where it should be; nothing at the end of the input.
    ///
    /// The outer error is the input's: reading may be tried again, and nothing is lost by it.
    pub fn next_packet(&mut self) -> io::Result<Option<Result<Framed<'_>, Error>>> {
        while !self.decoder.is_ready() && !self.decoder.is_finished() {
            match self.input.read(&mut self.piece) {
                Ok(0) => self.decoder.finish(),
                Ok(length) => self.decoder.push(&self.piece[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.decoder.next_packet())
    }

    /// What was found so far.
    pub const fn totals(&self) -> Totals {
        self.decoder.totals()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A terminal can go on after its end: the trace does not.
    #[test]
    fn the_first_end_is_the_end() {
        struct GoesOn(u8);
        impl Read for GoesOn {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                buffer[0] = self.0;
                Ok(usize::from(self.0 != 2))
            }
        }
        let mut reader = PacketReader::new(GoesOn(0));
        let cut_short = Error::Truncated { offset: 0, needed: 8, available: 1 };
        assert_eq!(reader.next_packet().unwrap(), Some(Err(cut_short)));
        assert_eq!(reader.next_packet().unwrap(), None);
        assert_eq!(reader.totals().skipped, 1);
    }

    #[test]
    fn reads_to_the_end_and_stays_there() {
        let input = b"\x75\xD1\x1D\x4D\0\0\0\x0a\0\0oops".as_slice();
        let mut reader = PacketReader::new(input);
        assert_eq!(reader.next_packet().unwrap().unwrap().unwrap().offset, 0);
        let error = Error::NotAPacket { offset: 10, found: u32::from_be_bytes(*b"oops") };
        assert_eq!(reader.next_packet().unwrap(), Some(Err(error)));
        assert_eq!(reader.next_packet().unwrap(), None);
        assert_eq!(reader.next_packet().unwrap(), None);
        assert_eq!(reader.totals(), Totals { packets: 1, malformed: 1, skipped: 4 });
    }
}
