//! What is read is what was sent, however it is cut.

use std::io::{self, Read};

use ada_format::heph::{Decoder, Encoder, Error, PacketReader, Packets, Totals};
use proptest::prelude::*;

use super::strategies::{any_cuts, any_damaged_trace, any_packets};

/// A packet's offset and bytes, or what was wrong.
type Found = Result<(u64, Vec<u8>), Error>;

fn whole(trace: &[u8], max_packet: u32) -> (Vec<Found>, Totals) {
    let mut packets = Packets::with_max_packet(trace, max_packet);
    let found = packets.by_ref().map(|found| found.map(|framed| (framed.offset, framed.bytes.to_vec()))).collect();
    (found, packets.totals())
}

fn in_pieces(trace: &[u8], cuts: &[usize], max_packet: u32) -> (Vec<Found>, Totals) {
    let mut decoder = Decoder::with_max_packet(max_packet);
    let mut found = Vec::new();
    let mut take_all = |decoder: &mut Decoder| {
        while let Some(next) = decoder.next_packet() {
            found.push(next.map(|framed| (framed.offset, framed.bytes.to_vec())));
        }
    };
    let (mut rest, mut cuts) = (trace, cuts.iter().cycle());
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.len().min(*cuts.next().expect("a cycle")));
        decoder.push(piece);
        take_all(&mut decoder);
        rest = after;
    }
    decoder.finish();
    take_all(&mut decoder);
    (found, decoder.totals())
}

/// Gives its bytes in pieces, with interruptions.
struct Dribble<'a> {
    rest: &'a [u8],
    length: usize,
    interrupted: bool,
}

impl Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let length = buffer.len().min(self.length);
        self.rest.read(&mut buffer[..length])
    }
}

proptest! {
    #[test]
    fn every_packet_comes_back_and_encodes_to_its_bytes(packets in any_packets()) {
        let trace = packets.concat();
        let mut encoder = Encoder::new();
        let mut found = Vec::new();
        for next in Packets::new(&trace) {
            let framed = next.expect("a sound packet");
            encoder.packet(&framed.packet).expect("what was read can be written");
            found.push(framed.bytes.to_vec());
        }
        prop_assert_eq!(found, packets);
        prop_assert_eq!(encoder.bytes(), &trace);
    }

    #[test]
    fn cuts_make_no_difference(trace in any_damaged_trace(), cuts in any_cuts(), max_packet in 10_u32..200) {
        let whole = whole(&trace, max_packet);
        prop_assert_eq!(&in_pieces(&trace, &cuts, max_packet), &whole);

        let (found, totals) = whole;
        let in_packets: usize = found.iter().flatten().map(|(_, bytes)| bytes.len()).sum();
        prop_assert_eq!(in_packets as u64 + totals.skipped, trace.len() as u64, "each byte counts once");
        prop_assert_eq!(totals.malformed, found.iter().filter(|found| found.is_err()).count() as u64);
    }

    #[test]
    fn a_reader_finds_the_same(trace in any_damaged_trace(), length in 1_usize..40) {
        let mut reader = PacketReader::new(Dribble { rest: &trace, length, interrupted: false });
        let mut found = Vec::new();
        while let Some(next) = reader.next_packet().expect("no failure to read") {
            found.push(next.map(|framed| (framed.offset, framed.bytes.to_vec())));
        }
        prop_assert_eq!((found, reader.totals()), whole(&trace, 16 << 20));
    }

    #[test]
    fn a_trace_cut_short_keeps_its_whole_packets(packets in any_packets(), at in any::<prop::sample::Index>()) {
        let trace = packets.concat();
        let length = at.index(trace.len() + 1);
        let (mut found, _) = whole(&trace[..length], u32::MAX);

        let mut end = 0;
        let ends: Vec<usize> = packets.iter().map(|packet| { end += packet.len(); end }).collect();
        let kept = ends.iter().filter(|end| **end <= length).count();
        let in_the_middle = length != 0 && !ends.contains(&length);
        prop_assert!(found[..kept].iter().all(|found| found.is_ok()));
        if in_the_middle {
            // A body may hold what looks like a magic, so more errors may follow.
            let truncated = found.drain(kept..).next();
            prop_assert!(matches!(truncated, Some(Err(Error::Truncated { .. }))), "{:?}", truncated);
        }
        prop_assert_eq!(found.len(), kept);
    }

    #[test]
    fn anything_at_all_is_read_to_its_end(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        let (found, totals) = whole(&bytes, u32::MAX);
        prop_assert!(found.len() <= bytes.len());
        prop_assert!(totals.skipped <= bytes.len() as u64);
    }
}
