//! Damage, and what is saved from it.

use ada_format::heph::{Error, Field, Nanos, Packets, Totals};
use ada_testkit::heph::{EXAMPLE_EVENT, EXAMPLE_METADATA, attribute, event, packet};

/// The offsets of the packets, the errors, and what was skipped.
fn read(trace: &[u8]) -> (Vec<u64>, Vec<Error>, u64) {
    let mut packets = Packets::with_max_packet(trace, 1000);
    let (mut offsets, mut errors) = (Vec::new(), Vec::new());
    for found in packets.by_ref() {
        match found {
            Ok(framed) => offsets.push(framed.offset),
            Err(error) => errors.push(error),
        }
    }
    let Totals { skipped, .. } = packets.totals();
    (offsets, errors, skipped)
}

#[test]
fn garbage_between_packets_is_one_error() {
    let trace = [&EXAMPLE_EVENT, b"garbage that says nothing".as_slice(), &EXAMPLE_METADATA].concat();
    let garbage = Error::NotAPacket { offset: 91, found: u32::from_be_bytes(*b"garb") };
    assert_eq!(read(&trace), (vec![0, 91 + 25], vec![garbage], 25));
}

#[test]
fn garbage_at_the_start_that_ends_like_a_magic() {
    let trace = [[0xC1, 0xFC, 0x1F, 0xC1].as_slice(), &EXAMPLE_EVENT].concat();
    let garbage = Error::NotAPacket { offset: 0, found: 0xC1FC_1FC1 };
    assert_eq!(read(&trace), (vec![4], vec![garbage], 4));
}

#[test]
fn a_size_that_lies_swallows_nothing() {
    let mut trace = [EXAMPLE_EVENT, EXAMPLE_EVENT, EXAMPLE_EVENT].concat();
    trace[7] = 91 + 60;
    let (offsets, errors, skipped) = read(&trace);
    assert_eq!((offsets, errors.len(), skipped), (vec![91, 182], 1, 91));
}

#[test]
fn a_size_beyond_the_end_is_truncation_and_hides_nothing() {
    let mut trace = [EXAMPLE_EVENT, EXAMPLE_EVENT].concat();
    trace[6] = 3;
    let truncated = Error::Truncated { offset: 0, needed: 0x35B, available: 182 };
    assert_eq!(read(&trace), (vec![91], vec![truncated], 91));
}

#[test]
fn a_size_above_the_limit_is_refused() {
    let mut trace = [EXAMPLE_EVENT, EXAMPLE_EVENT].concat();
    trace[4] = 0xFF;
    let too_large = Error::PacketTooLarge { offset: 0, size: 0xFF00_005B, limit: 1000 };
    assert_eq!(read(&trace), (vec![91], vec![too_large], 91));
}

#[test]
fn an_event_that_ends_before_it_starts_is_one_error() {
    let backwards = event((0, 0, 0), (10, 9), "x", &[]);
    let trace = [&EXAMPLE_METADATA, backwards.as_slice(), &EXAMPLE_METADATA].concat();
    let error = Error::ReadEndBeforeStart { offset: 23, start: Nanos(10), end: Nanos(9) };
    assert_eq!(read(&trace), (vec![0, 23 + 43], vec![error], 43));
}

#[test]
fn errors_inside_a_packet_name_their_byte() {
    let errors = |packet: &[u8]| read(&[&EXAMPLE_METADATA, packet].concat()).1;
    let with = |attribute: Vec<u8>| event((0, 0, 0), (0, 0), "", &[attribute]);

    assert_eq!(errors(&with(attribute("a", 0x80, &[0, 0]))), [Error::ArrayWithoutType { offset: 23 + 42 + 3 }]);
    assert_eq!(
        errors(&with(attribute("a", 0x05, &[0; 8]))),
        [Error::UnknownValueType { offset: 23 + 42 + 3, found: 0x05 }]
    );
    let short = Error::FieldOutsidePacket { offset: 23 + 46, field: Field::Value, needed: 8, available: 7 };
    assert_eq!(errors(&with(attribute("a", 0x01, &[0; 7]))), [short]);
    let not_text = Error::NotUtf8 { offset: 23 + 10 + 1, field: Field::OptionName };
    assert_eq!(errors(&packet(0x75D1_1D4D, b"\0\x02a\xFF")), [not_text]);
    assert_eq!(errors(&packet(0x75D1_1D4D, b"\0")), [Error::PacketTooSmall { offset: 23, size: 9, minimum: 10 }]);
}

#[test]
fn a_datagram_with_something_behind_its_packets() {
    let datagram = [&EXAMPLE_METADATA, EXAMPLE_EVENT.as_slice(), b"??"].concat();
    let rest = Error::Truncated { offset: 114, needed: 8, available: 2 };
    assert_eq!(read(&datagram), (vec![0, 23], vec![rest], 2));
}

/// 8 MiB in which each 53 bytes claim to be a packet of all that follows. Each claim is sound until the very last
/// bytes; without a bound on second looks this takes many minutes.
#[test]
fn nested_claims_take_no_time() {
    const SIZE: usize = 8 << 20;
    // An attribute of six numbers that are the head of an event with a description of six bytes: what follows it is
    // the next attribute of the packet around it, and the first of the packet that it claims.
    let claim = |length: usize| {
        let head = [&0xC1FC_1FB7_u32.to_be_bytes(), &(length as u32).to_be_bytes(), [0; 32].as_slice()].concat();
        attribute("", 0x81, &[&[0, 6], head.as_slice(), b"\0\x06nested"].concat())
    };
    let mut trace = event((0, 0, 0), (0, 0), "", &[]);
    trace[4..8].copy_from_slice(&(SIZE as u32).to_be_bytes());
    while trace.len() + 100 < SIZE {
        trace.extend(claim(SIZE - trace.len() - 5));
    }
    trace.resize(SIZE, 0xFF);

    let mut packets = Packets::new(&trace);
    let Some(Err(error)) = packets.next() else { panic!("the outermost claim does not hold") };
    assert!(error.offset() > Some(SIZE as u64 - 100), "{error}: the claims are not nested");
    assert!(packets.all(|found| found.is_err()));
}
