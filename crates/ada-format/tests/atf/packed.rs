//! The packed form: whatever goes in comes out, to the last byte.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::path::Path;
use std::rc::Rc;

use ada_event::{DetailSeq, Event, EventKind, EventSeq, FunctionId, ThreadId, TraceNanos};
use ada_format::atf::packed::{
    Comparison, ConvertError, EventDecoder, PackedShape, pack_detail, pack_index, unpack_detail, unpack_index,
};
use ada_format::atf::{Damage, DetailType, DetailWriter, EventVisitor, IndexWriter, Payload, Platform};
use ada_testkit::atf::{LINUX, NO_DETAIL, detail, event, index, record, x86_call, x86_return};
use ada_testkit::packed::{Block, EventParts, file};
use proptest::prelude::*;

/// Packs an index file.
pub(super) fn packed_index(raw: &[u8]) -> Vec<u8> {
    pack_index(raw, Cursor::new(Vec::new()), |_| ()).expect("it can be packed").into_inner()
}

/// Packs a detail file.
pub(super) fn packed_detail(raw: &[u8]) -> Vec<u8> {
    pack_detail(raw, Cursor::new(Vec::new()), |_| ()).expect("it can be packed").into_inner()
}

/// Events with their positions, as they were visited one by one.
#[derive(Default)]
pub(super) struct Visited {
    pub(super) events: Vec<(u64, Event)>,
    next: u64,
    /// What each index in the list at hand stands for.
    listed: HashMap<u16, FunctionId>,
}

impl EventVisitor for Visited {
    fn begin(&mut self, first: EventSeq, _: u64) {
        self.next = first.0;
        self.listed.clear();
    }

    fn event(&mut self, event: Event) {
        self.events.push((self.next, event));
        self.next += 1;
    }

    fn event_of(&mut self, index: u16, event: Event) {
        assert_eq!(*self.listed.entry(index).or_insert(event.function), event.function);
        self.event(event);
    }
}

/// All events of a packed file whose blocks are all right, which are the same when they are visited one by one.
pub(super) fn events_of(packed: &[u8]) -> Vec<[u8; 32]> {
    let shape = PackedShape::of_index(packed).expect("it is one");
    let (mut decoder, mut events, mut all) = (EventDecoder::default(), Vec::new(), Vec::new());
    for block in 0..shape.block_count() {
        shape.read_events(packed, block, &mut decoder, &mut events).expect("the block is right");
        assert_eq!(shape.block_range(block), all.len() as u64..(all.len() + events.len()) as u64);
        let mut visited = Visited::default();
        shape.visit_block(packed, block, &mut decoder, &mut visited).expect("the block is right");
        let positions = all.len() as u64..;
        assert!(positions.zip(events.iter().map(Event::from_le_bytes)).eq(visited.events));
        all.extend_from_slice(&events);
    }
    all
}

fn check_index(events: &[[u8; 32]]) -> Vec<u8> {
    let raw = index(LINUX, 5, false, events);
    let packed = packed_index(&raw);
    assert_eq!(PackedShape::of_index(&packed).unwrap().damage(), []);
    assert!(events_of(&packed) == events);
    assert!(unpack_index(&packed, Vec::new()).unwrap() == raw);
    assert!(unpack_index(&packed, Comparison::with(&raw)).unwrap().is_equal());
    packed
}

/// What a thread does that calls a few functions as programs do: some leave no end, some end by an exception.
pub(super) fn program(count: usize, seed: u64) -> Vec<[u8; 32]> {
    let mut state = seed | 1;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let (mut time, mut stack, mut events, mut detail) = (1_000_000, Vec::new(), Vec::new(), 0);
    while events.len() < count {
        time += 20 + random(30) + if random(50) == 0 { random(100_000) } else { 0 };
        let link = if random(40) == 0 {
            detail += 1;
            detail - 1
        } else {
            NO_DETAIL
        };
        let depth = stack.len() as u32;
        if stack.len() < 3 || stack.len() < 200 && random(2) == 0 {
            let function = ((1 + random(3)) << 32) | (random(3) * random(20));
            // Every function numbered 7 has no end that is recorded.
            let kind = if random(100) == 0 { 4 } else { 1 };
            events.push(event(time, function, 5, kind, depth, link));
            if function as u32 != 7 && kind == 1 {
                stack.push(function);
            }
        } else if let Some(function) = stack.pop() {
            let kind = match random(60) {
                0 => 3,
                1..6 => EventKind::TAIL.0,
                _ => 2,
            };
            events.push(event(time, function, 5, kind, depth - 1, link));
            if random(500) == 0 {
                // A jump over several frames.
                stack.truncate(stack.len() / 2);
            }
        }
    }
    events
}

#[test]
fn a_program_takes_a_tenth_of_the_bytes() {
    let events = program(100_000, 3);
    let packed = check_index(&events);
    assert!(packed.len() < 32 * events.len() / 10, "{} bytes for {} events", packed.len(), events.len());
}

#[test]
fn a_file_without_events_can_be_packed() {
    check_index(&[]);
    assert!(unpack_index(&packed_index(b"ATI2\x01"), Vec::new()).unwrap() == b"ATI2\x01");
}

#[test]
fn recursion_deeper_than_is_remembered_is_packed_too() {
    let calls = (0..30_000).map(|depth| event(u64::from(depth), 7, 5, 1, depth, NO_DETAIL));
    let ends = (0..30_000).rev().map(|depth| event(40_000 - u64::from(depth), 7, 5, 2, depth, NO_DETAIL));
    check_index(&calls.chain(ends).collect::<Vec<_>>());
}

#[test]
fn more_functions_than_events_of_a_block_are_packed_too() {
    let events: Vec<_> = (0..70_000_u64).map(|n| event(n, n << 20, 5, 1, n as u32, NO_DETAIL)).collect();
    check_index(&events);
}

#[test]
fn every_cut_of_a_raw_file_can_be_packed() {
    let raw = index(LINUX, 5, false, &program(40, 9));
    for len in 0..raw.len() {
        let unpacked = unpack_index(&packed_index(&raw[..len]), Vec::new()).unwrap();
        assert!(unpacked == raw[..len], "cut at {len}");
    }
    let behind = [&raw[..], b"something else"].concat();
    assert!(unpack_index(&packed_index(&behind), Vec::new()).unwrap() == behind);
}

#[test]
fn a_wrong_checksum_of_a_raw_file_is_kept() {
    let mut raw = index(LINUX, 5, false, &program(40, 9));
    raw[100] ^= 1;
    assert!(unpack_index(&packed_index(&raw), Vec::new()).unwrap() == raw);
}

#[test]
fn blocks_are_found_by_position_time_and_function() {
    let mut events = program(50_000, 3);
    events[40_000] = event(u64::from_le_bytes(*events[39_999].first_chunk().unwrap()), 99 << 32, 5, 4, 0, NO_DETAIL);
    let packed = packed_index(&index(LINUX, 5, false, &events));
    let shape = PackedShape::of_index(&packed).unwrap();
    assert!(shape.block_count() >= 3);
    let times: Vec<u64> = events.iter().map(|event| u64::from_le_bytes(*event.first_chunk().unwrap())).collect();
    for seq in [0, 1, 16_383, 16_384, 30_000, 49_999] {
        let block = shape.block_with(seq).unwrap();
        assert!(shape.block_range(block).contains(&seq));
        let by_time = shape.block_not_before(TraceNanos(times[seq as usize]));
        assert!(
            by_time <= block
                && shape.block_range(by_time).end > times.partition_point(|&it| it < times[seq as usize]) as u64
        );
    }
    assert_eq!((shape.block_with(50_000), shape.block_not_before(TraceNanos(u64::MAX))), (None, shape.block_count()));
    let with_function: Vec<usize> =
        (0..shape.block_count()).filter(|&block| shape.may_have(block, &[FunctionId(99 << 32)])).collect();
    assert!(with_function.contains(&shape.block_with(40_000).unwrap()));
    assert!(with_function.len() < shape.block_count());
}

/// The worked example of `docs/formats/packed.md`, byte by byte.
fn example() -> (Vec<u8>, Vec<u8>) {
    let (main, work) = (1 << 32, 1 << 32 | 2);
    let events = [
        event(1000, main, 5, 1, 0, NO_DETAIL),
        event(1025, work, 5, 1, 1, 0),
        event(1060, work, 5, 2, 1, NO_DETAIL),
        event(1400, work, 5, 1, 1, NO_DETAIL),
        event(1430, work, 5, 2, 1, NO_DETAIL),
    ];
    let raw = index(LINUX, 5, true, &events);
    let payload = EventParts {
        usual: [20; 4],
        functions_listed: 2,
        controls: vec![61 << 2 | 3, 5 << 2 | 3, 15 << 2, 62 << 2 | 3, 10 << 2],
        parts: [
            vec![0],
            340_u16.to_le_bytes().to_vec(),
            vec![],
            vec![0, 0, 1, 0, 1, 0],
            vec![1, 1, 2 << 3],
            vec![],
            vec![1, 1, 0],
        ],
    }
    .payload();
    let block =
        Block { kind: b'E', count: 5, thread: 5, earliest: 1000, latest: 1430, origin: 1000, ..Block::default() };
    let mut tail = raw[raw.len() - 64..].to_vec();
    tail[4..8].fill(0);
    // Of 64 bits, each of the two functions sets two.
    let mut filter = [0_u8; 8];
    for function in [main, work] {
        let hash = function.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64);
        for bit in [hash >> 48, hash >> 24] {
            filter[bit as usize % 64 / 8] |= 1 << (bit % 8);
        }
    }
    let packed = file(b"ATPI", LINUX, 5, &[(block, payload, filter.to_vec())], (&raw[..64], &tail, true));
    (raw, packed)
}

#[test]
fn the_example_of_the_document_is_what_is_written() {
    let (raw, packed) = example();
    assert_eq!(packed_index(&raw), packed);
    assert_eq!(unpack_index(&packed, Vec::new()).unwrap(), raw);
}

fn call(n: u64) -> Vec<u8> {
    let stack: Vec<u8> = (0..8 * (n % 5)).map(|at| (at * n % 7) as u8).collect();
    x86_call(
        [(1 << 32) | (n % 11), n, n * 3, 0, 0, 0, 0, 0, 0x40_1000 + n % 3, 0x7fff_0000, 0x7ffe_0000 + 16 * (n % 4)],
        &stack,
    )
}

pub(super) fn records(count: u32) -> Vec<Vec<u8>> {
    (0..count)
        .map(|n| match n % 3 {
            0 => record(4, n, 5, 1000 + 37 * u64::from(n), &x86_return([1 << 32 | 4, n.into(), 0, 0x40_1000, 0, 0])),
            1 => record(16, n, 5, 1000 + 37 * u64::from(n), &vec![n as u8; n as usize % 23]),
            _ => record(3, n, 5, 1000 + 37 * u64::from(n), &call(n.into())),
        })
        .collect()
}

fn check_detail(records: &[Vec<u8>]) -> Vec<u8> {
    let raw = detail(LINUX, 5, records);
    let packed = packed_detail(&raw);
    assert_eq!(PackedShape::of_detail(&packed).unwrap().damage(), []);
    assert!(unpack_detail(&packed, Vec::new()).unwrap() == raw);
    packed
}

#[test]
fn records_are_packed_and_come_back() {
    check_detail(&[]);
    let records = records(10_000);
    let packed = check_detail(&records);
    assert!(packed.len() < records.concat().len() * 2 / 5, "{} of {}", packed.len(), records.concat().len());
}

/// Where the first block of a file has its method.
const FIRST_METHOD: usize = 32 + 64;

/// The example of the document.
#[test]
fn records_are_packed_to_the_bytes_of_the_document() {
    let function = 1_u64 << 32;
    let records = [(6, 1000), (7, 1050)].map(|(seq, time)| record(4, seq, 5, time, &function.to_le_bytes()));
    let packed = check_detail(&records);
    let mut payload = vec![2, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 8, 0, 0, 0];
    payload.extend([0, 0x0f, 0, 0x04]);
    payload.extend([0x11, 0x11, 0x03, 0x10, 0x01]);
    payload.extend([0x20, 0x04, 0x06, 0x05, 0xe8, 0x03, 0x01, 0x32]);
    assert_eq!(packed[FIRST_METHOD..][..payload.len()], payload);
}

/// A word that was written lately is found again, in a function that has nothing else in common with the first.
#[test]
fn a_result_that_becomes_an_argument_is_written_once() {
    let random = 0x1234_5678_9abc_def1_u64;
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let functions = |count: u64| -> Vec<Vec<u8>> {
        (0..count).map(|n| record(4, n as u32, 5, n, &words(&[n << 32, random, random, n]))).collect()
    };
    let (one, many) = (check_detail(&functions(1)), check_detail(&functions(50)));
    assert!(many.len() - one.len() < 50 * 16, "{} and {}", one.len(), many.len());
}

/// A record's map may have bits for words that it does not have.
#[test]
fn words_behind_the_end_of_a_record_are_refused() {
    let raw = detail(LINUX, 5, &[record(4, 6, 5, 1000, &[1; 8])]);
    let packed = packed_detail(&raw);
    let header = Block {
        kind: b'D',
        count: 1,
        thread: 5,
        earliest: 1000,
        latest: 1000,
        origin: 64,
        extent: 32,
        ..Block::default()
    };
    let around: (&[u8], &[u8], bool) = (&raw[..64], &raw[raw.len() - 64..], false);
    let payload = packed[FIRST_METHOD..][..16 + 1 + 5 + 14].to_vec();
    let file = |payload: Vec<u8>| file(b"ATPD", LINUX, 5, &[(header, payload, Vec::new())], around);
    assert_eq!(unpack_detail(&file(payload.clone()), Vec::new()).unwrap(), raw);
    let mut wrong = payload;
    wrong[17] |= 0x10;
    assert_ne!(unpack_detail(&file(wrong), Vec::new()).ok(), Some(raw));
}

#[test]
fn every_cut_of_a_raw_detail_file_can_be_packed() {
    let raw = detail(LINUX, 5, &records(20));
    for len in 0..raw.len() {
        let unpacked = unpack_detail(&packed_detail(&raw[..len]), Vec::new()).unwrap();
        assert!(unpacked == raw[..len], "cut at {len}");
    }
}

#[test]
fn a_detail_file_whose_records_contradict_themselves_is_refused() {
    let mut raw = detail(LINUX, 5, &records(20));
    raw[64..68].copy_from_slice(&7_u32.to_le_bytes());
    assert!(pack_detail(&raw, Cursor::new(Vec::new()), |_| ()).is_err());
}

#[test]
fn a_file_that_is_written_packed_is_the_one_that_is_written_raw() {
    let begin = |is_packed| {
        let (platform, thread) = (Platform::LINUX_X86_64, ThreadId(5));
        match is_packed {
            true => (
                IndexWriter::begin_packed(Cursor::new(Vec::new()), platform, thread).unwrap(),
                DetailWriter::begin_packed(Cursor::new(Vec::new()), platform, thread).unwrap(),
            ),
            false => (
                IndexWriter::begin(Cursor::new(Vec::new()), platform, thread).unwrap(),
                DetailWriter::begin(Cursor::new(Vec::new()), platform, thread).unwrap(),
            ),
        }
    };
    let [raw, packed] = [false, true].map(|is_packed| {
        let (mut index, mut detail) = begin(is_packed);
        let mut remembered = Vec::new();
        for (seq, bytes) in (0_u64..).zip(program(40_000, 8)) {
            let event = Event { detail: DetailSeq::NONE, ..Event::from_le_bytes(&bytes) };
            index.append(&event).unwrap();
            if seq % 7 == 0 {
                remembered.push((EventSeq(seq), event.timestamp));
            }
            // Detail that comes late, and out of order.
            if seq % 5000 == 4999 {
                for (seq, time) in remembered.drain(..).rev() {
                    let bytes = [seq.0 as u8; 40];
                    let payload = Payload::Unknown { kind: DetailType(16), bytes: &bytes };
                    let link = detail.append(seq, time, &payload).unwrap();
                    index.link(seq, link).unwrap();
                }
                index.flush().unwrap();
                detail.flush().unwrap();
            }
        }
        index.set_has_detail();
        (index.finish().unwrap().into_inner(), detail.finish().unwrap().into_inner())
    });
    assert!(unpack_index(&packed.0, Vec::new()).unwrap() == raw.0);
    assert!(unpack_detail(&packed.1, Vec::new()).unwrap() == raw.1);
    let linked = events_of(&packed.0).iter().filter(|bytes| Event::from_le_bytes(bytes).detail.get().is_some()).count();
    assert_eq!(linked, 40_000_usize.div_ceil(7));
}

#[test]
fn what_was_flushed_can_be_read_while_more_is_written() {
    let events = program(40_000, 8);
    let file = SharedFile::default();
    let mut writer = IndexWriter::begin_packed(file.clone(), Platform::LINUX_X86_64, ThreadId(5)).unwrap();
    let mut written = 0;
    for part in events.chunks(7_001) {
        writer.append_raw(part.as_flattened()).unwrap();
        writer.flush().unwrap();
        written += part.len();
        let bytes = file.0.borrow().get_ref().clone();
        assert!(events_of(&bytes) == events[..written]);
        assert_eq!(
            PackedShape::of_index(&bytes).unwrap().damage(),
            [Damage::FooterMissing { offset: bytes.len() as u64 }]
        );
    }
}

#[test]
fn a_writer_that_is_killed_within_a_write_has_lost_a_second_at_most() {
    const SECOND: u64 = 1_000_000_000;
    // Few events, which come one at a time: a full block of them would be hours.
    let times: Vec<u64> = (0..400).map(|n| 7 * SECOND + n * SECOND / 37 + n / 100 * 60 * SECOND).collect();
    let file = SharedFile::default();
    let detail_file = SharedFile::default();
    let mut writer = IndexWriter::begin_packed(file.clone(), Platform::LINUX_X86_64, ThreadId(5)).unwrap();
    let mut details = DetailWriter::begin_packed(detail_file.clone(), Platform::LINUX_X86_64, ThreadId(5)).unwrap();
    let mut torn = 0;
    for (seq, &time) in (0..).zip(&times) {
        let [before, detail_before] = [&file, &detail_file].map(|file| file.0.borrow().get_ref().clone());
        let event =
            Event { timestamp: TraceNanos(time), thread: ThreadId(5), kind: EventKind::CALL, ..Event::default() };
        let payload = Payload::Unknown { kind: DetailType(16), bytes: &[seq as u8; 40] };
        let detail = details.append(EventSeq(seq), event.timestamp, &payload).unwrap();
        writer.append(&Event { detail, ..event }).unwrap();
        writer.flush().unwrap();
        details.flush().unwrap();
        let safe = times.iter().filter(|&&safe| safe + SECOND < time).count() as u64;
        for (old, new, length, unpack) in [
            (before, &file, 32, unpack_index as fn(&[u8], Vec<u8>) -> Result<Vec<u8>, ConvertError>),
            (detail_before, &detail_file, 24 + 40, unpack_detail),
        ] {
            let new = new.0.borrow().get_ref().clone();
            // Writes go from the front to the back, and may stop anywhere; what is before the last two blocks is not written.
            for cut in (32..new.len()).rev().take(3000).step_by(97) {
                let mut half = new[..cut].to_vec();
                half.extend_from_slice(old.get(cut..).unwrap_or_default());
                let readable = match unpack(&half, Vec::new()) {
                    Ok(raw) => ((raw.len() - 64) / length) as u64,
                    Err(ConvertError::Damaged(Damage::BlockDamaged { first, .. })) => {
                        torn += 1;
                        first.0
                    }
                    Err(error) => panic!("{error}"),
                };
                assert!(readable >= safe, "{readable} of {safe} at {seq}, cut at {cut}");
            }
        }
    }
    assert!(torn > 0, "no write was torn");
}

#[test]
fn the_last_block_of_a_growing_file_is_what_it_was_when_it_was_opened() {
    let events = program(30_000, 8);
    let file = SharedFile::default();
    let mut writer = IndexWriter::begin_packed(file.clone(), Platform::LINUX_X86_64, ThreadId(5)).unwrap();
    writer.append_raw(events[..20_000].as_flattened()).unwrap();
    writer.flush().unwrap();
    let opened = file.0.borrow().get_ref().clone();
    let shape = PackedShape::of_index(&opened).unwrap();
    writer.append_raw(events[20_000..].as_flattened()).unwrap();
    writer.flush().unwrap();
    // As a mapping has it: so long as it was, with what is there now.
    let now = file.0.borrow().get_ref()[..opened.len()].to_vec();
    assert!(now != opened, "the last block was written over");
    let (mut decoder, mut read, mut all) = (EventDecoder::default(), Vec::new(), Vec::new());
    for block in 0..shape.block_count() {
        shape.read_events(&now, block, &mut decoder, &mut read).unwrap();
        all.extend_from_slice(&read);
    }
    assert!(all == events[..20_000]);
}

/// A file that can be looked at while it is being written.
#[derive(Clone, Default)]
struct SharedFile(Rc<RefCell<Cursor<Vec<u8>>>>);

impl Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for SharedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.borrow_mut().seek(to)
    }
}

proptest! {
    #[test]
    fn any_events_come_back(events in prop::collection::vec(any_event(), 0..400)) {
        check_index(&events);
    }

    #[test]
    fn programs_come_back(count in 0_usize..3000, seed: u64) {
        check_index(&program(count, seed));
    }

    #[test]
    fn any_records_come_back(records in prop::collection::vec(any_record(), 0..60)) {
        check_detail(&records);
    }
}

/// Any event, most of them near to one that could be.
fn any_event() -> impl Strategy<Value = [u8; 32]> {
    let small = |most: u32| prop_oneof![9 => 0..most, 1 => any::<u32>()];
    let time = prop_oneof![9 => 0_u64..1000, 1 => any::<u64>()];
    (time, small(4), small(5), small(6), small(9), prop_oneof![8 => Just(NO_DETAIL), 2 => 0_u32..9]).prop_map(
        |(time, function, kind, depth, thread, detail)| {
            let event = Event {
                timestamp: TraceNanos(time),
                function: FunctionId(u64::from(function) << 30),
                thread: ThreadId(if thread > 2 { 5 } else { thread }),
                kind: if kind == 0 { EventKind::TAIL } else { EventKind(kind) },
                depth,
                detail: DetailSeq(detail),
            };
            event.to_le_bytes()
        },
    )
}

fn any_record() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..80),
        prop::collection::vec(0_u8..2, 0..80),
        (0_u64..40).prop_map(call)
    ];
    (0_u16..20, any::<u32>(), 0_u32..3, any::<u64>(), payload)
        .prop_map(|(kind, seq, thread, time, payload)| record(kind, seq, thread, time, &payload))
}

/// Files that were packed once, and have to be read for ever. Another Zstandard may pack details in other bytes.
#[test]
fn golden_packed_files_are_read() {
    let folder = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("tests/golden/packed");
    let (raw_index, index) = example();
    let raw_detail = detail(LINUX, 5, &records(12));
    if std::env::var_os("ADA_BLESS").is_some() {
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("index.atp"), &index).unwrap();
        fs::write(folder.join("sparse_detail.atp"), packed_detail(&raw_detail)).unwrap();
    }
    assert!(fs::read(folder.join("index.atp")).unwrap() == index);
    assert!(unpack_index(&index, Vec::new()).unwrap() == raw_index);
    // The first has the masks of all words, as ada wrote them before.
    for (name, is_sparse) in [("detail.atp", false), ("sparse_detail.atp", true)] {
        let detail = fs::read(folder.join(name)).unwrap();
        assert_eq!(detail[FIRST_METHOD] & 2 != 0, is_sparse);
        assert!(unpack_detail(&detail, Vec::new()).unwrap() == raw_detail, "{name}");
    }
}
