//! A datagram: exactly one packet, or several, or anything.
#![no_main]

use ada_format::heph::{Encoder, Packet, Packets};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|datagram: &[u8]| {
    let mut encoder = Encoder::new();
    if let Ok(packet) = Packet::decode(datagram) {
        encoder.packet(&packet).expect("what was read can be written");
        assert_eq!(encoder.bytes(), datagram);
        let mut packets = Packets::new(datagram);
        assert_eq!(packets.next().map(|found| found.map(|framed| framed.packet)), Some(Ok(packet)));
        assert_eq!(packets.next(), None);
    }
    for found in Packets::new(datagram) {
        match found {
            Ok(framed) => {
                let end = framed.offset as usize + framed.bytes.len();
                assert_eq!(framed.bytes, &datagram[framed.offset as usize..end]);
            }
            Err(error) => assert!(error.offset().is_some_and(|offset| offset <= datagram.len() as u64), "{error}"),
        }
    }
});
