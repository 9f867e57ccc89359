//! The packed form: any bytes as a block are read or refused, and any bytes as events or records come back.
#![no_main]
use std::io::Cursor;

use ada_event::{Event, EventSeq};
use ada_format::atf::EventVisitor;
use ada_format::atf::packed::{EventDecoder, PackedShape, pack_detail, pack_index, unpack_detail, unpack_index};
use ada_testkit::atf::{LINUX, index, index_placeholder};
use ada_testkit::packed::{Block, file};
use libfuzzer_sys::fuzz_target;

/// Events as they are visited.
struct Visited(Vec<[u8; Event::SIZE]>);

impl EventVisitor for Visited {
    fn begin(&mut self, _: EventSeq, _: u64) {}

    fn event(&mut self, event: Event) {
        self.0.push(event.to_le_bytes());
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [kind, low, high, extent, rest @ ..] = bytes else { return };
    let count = u32::from(u16::from_le_bytes([*low, *high]));
    match kind % 6 {
        // A block of events, with the checksums that it needs to be looked at.
        0 => {
            let block = Block { kind: b'E', count, thread: 5, extent: u32::from(*extent), ..Block::default() };
            let packed = file(b"ATPI", LINUX, 5, &[(block, rest.to_vec(), Vec::new())], (&[], &[], false));
            let shape = PackedShape::of_index(&packed).expect("the file is one");
            let (mut decoder, mut events, mut visited) = (EventDecoder::default(), Vec::new(), Visited(Vec::new()));
            if shape.block_count() == 0 {
                return;
            }
            let result = shape.visit_block(&packed, 0, &mut decoder, &mut visited);
            assert_eq!(result, shape.read_events(&packed, 0, &mut decoder, &mut events));
            // Both ways to read it give the same.
            assert!(visited.0 == events);
            if result.is_ok() {
                // What could be read can be written, and is the same again.
                let raw = index(LINUX, 5, false, &events);
                let again = pack_index(&raw, Cursor::new(Vec::new()), |_| ()).expect("a sound file").into_inner();
                assert!(unpack_index(&again, Vec::new()).expect("a sound file") == raw);
            }
        }
        // A block of records.
        1 => {
            let extent = u32::from(*extent) * 64;
            let block = Block { kind: b'D', count, thread: 5, extent, origin: 64, ..Block::default() };
            let packed = file(b"ATPD", LINUX, 5, &[(block, rest.to_vec(), Vec::new())], (&[], &[], false));
            let _ = unpack_detail(&packed, Vec::new());
        }
        // Any events.
        2 => {
            let raw = index(LINUX, 5, false, rest.as_chunks().0);
            let packed = pack_index(&raw, Cursor::new(Vec::new()), |_| ()).expect("a sound file").into_inner();
            assert!(unpack_index(&packed, Vec::new()).expect("a sound file") == raw);
        }
        // Any index file, and any detail file.
        3 => {
            let raw = [&index_placeholder(LINUX, 5)[..usize::from(*extent) % 65], rest].concat();
            if let Ok(packed) = pack_index(&raw, Cursor::new(Vec::new()), |_| ()) {
                assert!(unpack_index(&packed.into_inner(), Vec::new()).expect("what was packed") == raw);
            }
        }
        4 => {
            if let Ok(packed) = pack_detail(rest, Cursor::new(Vec::new()), |_| ()) {
                assert!(unpack_detail(&packed.into_inner(), Vec::new()).expect("what was packed") == rest);
            }
        }
        // Any packed file.
        _ => {
            let _ = unpack_index(rest, Vec::new());
            let _ = unpack_detail(rest, Vec::new());
        }
    }
});
