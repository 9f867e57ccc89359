//! Finds packets in bytes, and the way back to them after garbage.
//!
//! The scanner holds no bytes: its callers show it what they have, and drop what it used. Its answers depend on the
//! bytes alone, never on where they were cut, because it decides nothing about a packet before it sees all of it (or
//! the end of the input).
//!
//! After a bad packet the search for the next magic constant starts right behind the bad one's own magic, not behind
//! the size it claims: a size that lies must not swallow the good packets after it.

use super::layout::{EVENT_MAGIC, MAGIC_SIZE, METADATA_MAGIC, PREFIX_SIZE};
use super::packet::Prefix;
use super::{Error, Framed};

/// Looking into a bad packet for the next magic means to look at its bytes again, and hostile input can nest claims
/// to have them looked at thousands of times. Up to this many looks a byte are spent; then the search goes on where
/// the bad packet went wrong.
const LOOKS_PER_BYTE: u64 = 16;
/// Looks that each trace has from the start, so that ordinary damage near the start is searched in full.
const FREE_LOOKS: u64 = 64 << 20;

/// What was found so far. Every byte of the input ends up in a packet or among the skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Good packets.
    pub packets: u64,
    /// Errors.
    pub malformed: u64,
    /// Bytes that are in no good packet.
    pub skipped: u64,
}

#[derive(Debug)]
pub(super) struct Scanner {
    max_packet: u32,
    /// Where in the trace the next byte is that the scanner has not used.
    position: u64,
    /// Whether an error is reported and the next magic not yet found.
    lost: bool,
    looks: u64,
    totals: Totals,
}

/// What the next bytes turn out to be.
enum Claim {
    Whole(Prefix),
    Broken(Error),
    /// More bytes are needed to know, or there are none.
    Open,
}

impl Scanner {
    pub(super) const fn new(max_packet: u32) -> Self {
        Self { max_packet, position: 0, lost: false, looks: 0, totals: Totals { packets: 0, malformed: 0, skipped: 0 } }
    }

    pub(super) const fn totals(&self) -> Totals {
        self.totals
    }

    /// How many of `bytes` are garbage that an earlier error stands for. `ended`: nothing follows them.
    pub(super) fn skip_garbage(&mut self, bytes: &[u8], ended: bool) -> usize {
        if !self.lost {
            return 0;
        }
        let garbage = match find_magic(bytes) {
            Some(at) => {
                self.lost = false;
                at
            }
            None if ended => bytes.len(),
            // The last bytes may be the first of a magic.
            None => bytes.len().saturating_sub(MAGIC_SIZE - 1),
        };
        self.skip(garbage);
        garbage
    }

    /// Whether [`Self::take`] has something to say about `bytes`, which begin behind all garbage.
    pub(super) fn is_ready(&self, bytes: &[u8], ended: bool) -> bool {
        !matches!(self.claim(bytes, ended), Claim::Open)
    }

    /// The packet or the error at the start of `bytes`, and how many of them it uses up.
    pub(super) fn take<'a>(&mut self, bytes: &'a [u8], ended: bool) -> Option<(usize, Result<Framed<'a>, Error>)> {
        let error = match self.claim(bytes, ended) {
            Claim::Open => return None,
            Claim::Broken(error) => error,
            Claim::Whole(prefix) => {
                let size = prefix.size as usize;
                match prefix.decode_packet(&bytes[..size]) {
                    Ok(framed) => {
                        self.position += size as u64;
                        self.totals.packets += 1;
                        return Some((size, Ok(framed)));
                    }
                    Err(error) => error,
                }
            }
        };
        let used = self.give_up(&error).min(bytes.len());
        self.totals.malformed += 1;
        self.lost = true;
        self.skip(used);
        Some((used, Err(error)))
    }

    fn claim(&self, bytes: &[u8], ended: bool) -> Claim {
        if self.lost || bytes.is_empty() {
            return Claim::Open;
        }
        let needed = match Prefix::decode(bytes, self.position) {
            Err(error) => return Claim::Broken(error),
            Ok(Some(Prefix { size, .. })) if size > self.max_packet => {
                return Claim::Broken(Error::PacketTooLarge { offset: self.position, size, limit: self.max_packet });
            }
            Ok(Some(prefix)) if bytes.len() >= prefix.size as usize => return Claim::Whole(prefix),
            Ok(Some(prefix)) => prefix.size,
            Ok(None) => PREFIX_SIZE as u32,
        };
        if ended {
            Claim::Broken(Error::Truncated { offset: self.position, needed, available: bytes.len() as u64 })
        } else {
            Claim::Open
        }
    }

    /// How far behind the start of a bad packet the search for the next magic begins.
    fn give_up(&mut self, error: &Error) -> usize {
        if matches!(error, Error::NotAPacket { .. }) {
            return 1;
        }
        let looked_at = error.offset().map_or(0, |offset| offset - self.position);
        if self.looks + looked_at <= FREE_LOOKS + LOOKS_PER_BYTE * self.position {
            self.looks += looked_at;
            return MAGIC_SIZE;
        }
        MAGIC_SIZE.max(looked_at as usize)
    }

    const fn skip(&mut self, bytes: usize) {
        self.position += bytes as u64;
        self.totals.skipped += bytes as u64;
    }
}

/// Where in `bytes` the first magic constant is.
fn find_magic(bytes: &[u8]) -> Option<usize> {
    const METADATA: [u8; MAGIC_SIZE] = METADATA_MAGIC.to_be_bytes();
    const EVENT: [u8; MAGIC_SIZE] = EVENT_MAGIC.to_be_bytes();
    bytes.windows(MAGIC_SIZE).position(|window| window == METADATA || window == EVENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_magic_is_found_at_any_offset() {
        for padding in 0..20 {
            let mut bytes = vec![0xC1; padding];
            bytes.extend_from_slice(&EVENT_MAGIC.to_be_bytes());
            bytes.extend_from_slice(&METADATA_MAGIC.to_be_bytes());
            assert_eq!(find_magic(&bytes), Some(padding));
        }
        assert_eq!(find_magic(&EVENT_MAGIC.to_be_bytes()[..3]), None);
    }

    /// Claims of a packet each few bytes, each sound but for its last byte: to look into each to its end would be
    /// quadratic.
    #[test]
    fn nested_claims_cost_a_bounded_number_of_looks() {
        let mut scanner = Scanner::new(u32::MAX);
        scanner.position = 1000;
        let far = Error::ArrayWithoutType { offset: 1000 + FREE_LOOKS };
        assert_eq!(scanner.give_up(&far), MAGIC_SIZE);
        assert_eq!(scanner.give_up(&far), FREE_LOOKS as usize, "the looks are spent");
    }
}
