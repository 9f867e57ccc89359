//! Packed files that were cut, and packed files with bits flipped: a block is whole or gone, and never another one.

use ada_event::Event;
use ada_format::atf::packed::{EventDecoder, PackedShape, unpack_detail, unpack_index};
use ada_format::atf::{BlockFault, Damage};
use ada_testkit::atf::{LINUX, detail, index};
use ada_testkit::packed::{Block, EventParts, file};
use proptest::prelude::*;

use super::packed::{Visited, events_of, packed_detail, packed_index, program, records};

const COUNT: usize = 40_000;

/// Compares what can be read with the whole, and gives how much is missing and what is said of it.
fn read(packed: &[u8], whole: &[[u8; 32]]) -> Option<(usize, Vec<Damage>)> {
    let shape = PackedShape::of_index(packed).ok()?;
    let mut damage = shape.damage().to_vec();
    let (mut decoder, mut events, mut found) = (EventDecoder::default(), Vec::new(), 0);
    for block in 0..shape.block_count() {
        let range = shape.block_range(block);
        match shape.read_events(packed, block, &mut decoder, &mut events) {
            Ok(()) => {
                assert!(whole[range.start as usize..range.end as usize] == events, "a block that is another one");
                found += events.len();
            }
            Err(reason) => damage.push(reason),
        }
    }
    Some((whole.len() - found, damage))
}

#[test]
fn a_cut_file_loses_its_last_block_at_most() {
    let events = program(COUNT, 4);
    let packed = packed_index(&index(LINUX, 5, false, &events));
    let shape = PackedShape::of_index(&packed).unwrap();
    let ends: Vec<usize> = (0..shape.block_count()).map(|block| shape.block_range(block).end as usize).collect();
    let mut seen = Vec::new();
    for len in (0..packed.len()).step_by(211).chain(packed.len() - 300..packed.len()) {
        let Some((missing, damage)) = read(&packed[..len], &events) else { panic!("cut at {len}: no file any more") };
        assert!(!damage.is_empty(), "cut at {len}");
        let readable = events.len() - missing;
        assert!(readable == 0 || ends.contains(&readable), "cut at {len}: {readable} events");
        seen.push(readable);
        if len >= 32 {
            // What is readable can be had as a raw file that was not finished.
            let raw = unpack_index(&packed[..len], Vec::new()).unwrap();
            assert!(raw[64..].as_chunks().0.starts_with(&events[..readable.min(1)]) && raw.len() >= 64 + 32 * readable);
        }
    }
    assert!(seen.is_sorted() || seen.iter().all(|readable| *readable == 0 || ends.contains(readable)));
    assert_eq!(seen.iter().max(), Some(&COUNT));
}

#[test]
fn a_block_that_cannot_be_read_leaves_the_others() {
    let events = program(COUNT, 4);
    let mut packed = packed_index(&index(LINUX, 5, false, &events));
    packed[1000] ^= 1;
    let (missing, damage) = read(&packed, &events).unwrap();
    assert!(missing > 0 && missing < COUNT / 2, "{missing}");
    assert!(matches!(damage[..], [Damage::BlockDamaged { offset: 32, .. }]), "{damage:?}");
    assert!(unpack_index(&packed, Vec::new()).is_err());
}

/// A block of one event, which lists so many functions.
fn block_with_functions(count: u32, control: u8, functions: Vec<u8>) -> Vec<u8> {
    let mut list = Vec::new();
    for number in 0..count {
        // Function after function, as varying numbers; none states a module.
        let mut coded = number << 3;
        while coded >= 0x80 {
            list.push(coded as u8 | 0x80);
            coded >>= 7;
        }
        list.push(coded as u8);
    }
    let parts = [vec![], vec![], vec![], functions, list, vec![], vec![]];
    let payload = EventParts { usual: [20; 4], functions_listed: count, controls: vec![control], parts }.payload();
    let block = Block { kind: b'E', count: 1, thread: 5, ..Block::default() };
    file(b"ATPI", LINUX, 5, &[(block, payload, vec![])], (&[], &[], false))
}

#[test]
fn a_block_lists_no_more_functions_than_have_a_number() {
    // The last function that has one is called.
    let packed = block_with_functions(65_535, 3, 65_534_u16.to_le_bytes().to_vec());
    let events = events_of(&packed);
    assert_eq!(events.iter().map(|it| Event::from_le_bytes(it).function.0).collect::<Vec<_>>(), [65_534]);
    // One more, and the frame that is not there would return from it.
    let packed = block_with_functions(65_536, 0, vec![]);
    let shape = PackedShape::of_index(&packed).unwrap();
    let (mut decoder, mut events, mut visited) = (EventDecoder::default(), Vec::new(), Visited::default());
    let read = shape.read_events(&packed, 0, &mut decoder, &mut events).unwrap_err();
    let visit = shape.visit_block(&packed, 0, &mut decoder, &mut visited).unwrap_err();
    assert!(matches!(read, Damage::BlockDamaged { reason: BlockFault::TooLarge, .. }), "{read}");
    assert_eq!(read, visit);
    assert!(events.is_empty() && visited.events.is_empty());
}

#[test]
fn blocks_are_found_without_the_directory() {
    let events = program(COUNT, 4);
    let packed = packed_index(&index(LINUX, 5, false, &events));
    for cut in [1, 16, 17, 200] {
        let (missing, damage) = read(&packed[..packed.len() - cut], &events).unwrap();
        assert_eq!(missing, 0);
        assert!(!damage.is_empty());
    }
    // The first block's magic, in a file without its end.
    let mut headless = packed[..packed.len() - 1].to_vec();
    headless[32] ^= 1;
    let (missing, damage) = read(&headless, &events).unwrap();
    assert!(missing > 0 && missing < COUNT / 2);
    assert!(damage.iter().any(|it| matches!(it, Damage::BytesSkipped { offset: 32, .. })), "{damage:?}");
}

#[test]
fn a_cut_detail_file_loses_its_last_block_at_most() {
    let records = records(9000);
    let raw = detail(LINUX, 5, &records);
    let packed = packed_detail(&raw);
    let count = PackedShape::of_detail(&packed).unwrap().block_count();
    assert!(count >= 3);
    for len in (32..packed.len()).step_by(509) {
        let shape = PackedShape::of_detail(&packed[..len]).unwrap();
        assert!(!shape.damage().is_empty(), "cut at {len}");
        let unpacked = unpack_detail(&packed[..len], Vec::new()).unwrap();
        let end = unpacked.len().max(64);
        assert!(unpacked.len() < 64 + 1 || unpacked[64..end] == raw[64..end], "cut at {len}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_flipped_bit_is_found_or_matters_not(flips in prop::collection::vec((any::<prop::sample::Index>(), 0_u32..8), 1..4)) {
        let events = program(20_000, 4);
        let whole = packed_index(&index(LINUX, 5, false, &events));
        let mut packed = whole.clone();
        for (at, bit) in flips {
            packed[at.index(whole.len())] ^= 1 << bit;
        }
        if let Some((missing, damage)) = read(&packed, &events) {
            // What is missing is reported.
            prop_assert!(missing == 0 || !damage.is_empty());
        }
    }

    #[test]
    fn a_flipped_bit_of_a_detail_file_is_found_or_matters_not(at: prop::sample::Index, bit in 0_u32..8) {
        let raw = detail(LINUX, 5, &records(3000));
        let mut packed = packed_detail(&raw);
        let at = at.index(packed.len());
        packed[at] ^= 1 << bit;
        if let Ok(shape) = PackedShape::of_detail(&packed) {
            match unpack_detail(&packed, Vec::new()) {
                Ok(unpacked) => prop_assert!(unpacked == raw || !shape.damage().is_empty()),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for magic in [b"ATPI\x01\x01", b"ATPD\x01\x01"] {
            let bytes = [&magic[..], &bytes].concat();
            let _ = unpack_index(&bytes, Vec::new());
            let _ = unpack_detail(&bytes, Vec::new());
        }
    }
}
