//! A trace in pieces: the cuts make no difference, and what is read encodes to what it was.
#![no_main]

use ada_format::heph::{Decoder, Encoder, Error, Packets};
use libfuzzer_sys::fuzz_target;

const MAX_PACKET: u32 = 4096;

type Found = Result<(u64, Vec<u8>), Error>;

fn drain(decoder: &mut Decoder, found: &mut Vec<Found>) {
    while let Some(next) = decoder.next_packet() {
        found.push(next.map(|framed| (framed.offset, framed.bytes.to_vec())));
    }
}

fuzz_target!(|input: &[u8]| {
    // The first byte says how the rest is cut: pieces of that length, growing by one each.
    let Some((&first_cut, trace)) = input.split_first() else { return };

    let mut whole = Packets::with_max_packet(trace, MAX_PACKET);
    let mut expected: Vec<Found> = Vec::new();
    let mut encoder = Encoder::new();
    for next in whole.by_ref() {
        if let Ok(framed) = next {
            encoder.clear();
            encoder.packet(&framed.packet).expect("what was read can be written");
            assert_eq!(encoder.bytes(), framed.bytes);
        }
        expected.push(next.map(|framed| (framed.offset, framed.bytes.to_vec())));
    }

    let mut decoder = Decoder::with_max_packet(MAX_PACKET);
    let mut found = Vec::new();
    let (mut rest, mut cut) = (trace, usize::from(first_cut) + 1);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(cut.min(rest.len()));
        decoder.push(piece);
        drain(&mut decoder, &mut found);
        (rest, cut) = (after, cut + 1);
    }
    decoder.finish();
    drain(&mut decoder, &mut found);

    assert_eq!(found, expected);
    assert_eq!(decoder.totals(), whole.totals());
    let in_packets: usize = found.iter().flatten().map(|(_, bytes)| bytes.len()).sum();
    assert_eq!(in_packets as u64 + decoder.totals().skipped, trace.len() as u64);
});
