//! Heph packets by hand, from the tables of the format document.

/// The document's example of a metadata packet: `epoch` on 8 January 2021.
pub const EXAMPLE_METADATA: [u8; 23] = [
    0x75, 0xD1, 0x1D, 0x4D, // magic constant
    0x00, 0x00, 0x00, 0x17, // size: 23
    0x00, 0x05, // length of the option's name
    b'e', b'p', b'o', b'c', b'h', // the option's name
    0x16, 0x58, 0x45, 0xE9, 0x12, 0x14, 0xEC, 0x90, // 1610113734118010000
];

/// The document's example of an event packet.
pub const EXAMPLE_EVENT: [u8; 91] = [
    0xC1,
    0xFC,
    0x1F,
    0xB7, // magic constant
    0x00,
    0x00,
    0x00,
    0x5B, // size: 91
    0x00,
    0x00,
    0x00,
    0x00, // stream 0
    0x00,
    0x00,
    0x00,
    0x00, // event counter 0
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x01, // substream 1
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x64, // start: 100
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0xC8, // end: 200
    0x00,
    0x08, // length of the description
    b'M',
    b'y',
    b' ',
    b'e',
    b'v',
    b'e',
    b'n',
    b't', // the description
    0x00,
    0x04, // length of the attribute's name
    b'T',
    b'e',
    b's',
    b't',        // the attribute's name
    0b0000_0001, // an unsigned integer
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00,
    0x7B, // 123
    0x00,
    0x05, // length of the attribute's name
    b'T',
    b'e',
    b's',
    b't',
    b'2',        // the attribute's name
    0b1000_0011, // an array of floating point numbers
    0x00,
    0x02, // of two
    0x40,
    0x5E,
    0xDD,
    0x2F,
    0x1A,
    0x9F,
    0xBE,
    0x77, // 123.456
    0x40,
    0x88,
    0xA8,
    0x00,
    0x00,
    0x00,
    0x00,
    0x00, // 789.0
];

/// A metadata packet.
pub fn metadata(name: &str, value: &[u8]) -> Vec<u8> {
    packet(0x75D1_1D4D, &[&string(name), value].concat())
}

/// An event packet, its attributes from [`attribute`].
pub fn event(
    (stream, counter, substream): (u32, u32, u64),
    (start, end): (u64, u64),
    description: &str,
    attributes: &[Vec<u8>],
) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend_from_slice(&stream.to_be_bytes());
    body.extend_from_slice(&counter.to_be_bytes());
    body.extend_from_slice(&substream.to_be_bytes());
    body.extend_from_slice(&start.to_be_bytes());
    body.extend_from_slice(&end.to_be_bytes());
    body.extend_from_slice(&string(description));
    body.extend(attributes.iter().flatten());
    packet(0xC1FC_1FB7, &body)
}

/// An attribute: the byte of its value's type, and the value as it is stored.
pub fn attribute(name: &str, value_type: u8, value: &[u8]) -> Vec<u8> {
    [&string(name), [value_type].as_slice(), value].concat()
}

/// A string: its length in 16 bits, and its bytes.
pub fn string(text: &str) -> Vec<u8> {
    let length = u16::try_from(text.len()).expect("a string of the format");
    [&length.to_be_bytes(), text.as_bytes()].concat()
}

/// An array: its length in 16 bits, and its elements as they are stored.
pub fn array(elements: &[Vec<u8>]) -> Vec<u8> {
    let length = u16::try_from(elements.len()).expect("an array of the format");
    [&length.to_be_bytes(), elements.concat().as_slice()].concat()
}

/// A packet with the right size, whatever its body is.
pub fn packet(magic: u32, body: &[u8]) -> Vec<u8> {
    let size = u32::try_from(body.len() + 8).expect("a packet of the format");
    [&magic.to_be_bytes(), &size.to_be_bytes(), body].concat()
}

/// `count` events of one stream, numbered from 0, each with two attributes and, in turn, of one of four substreams.
pub fn numbered_events(stream: u32, count: u32) -> Vec<u8> {
    (0..count)
        .flat_map(|counter| {
            let start = u64::from(counter) * 1000;
            let attributes =
                [attribute("id", 1, &u64::from(counter).to_be_bytes()), attribute("kind", 4, &string("test"))];
            event((stream, counter, u64::from(counter % 4)), (start, start + 500), "request", &attributes)
        })
        .collect()
}

/// A trace with everything the format has: both kinds of packets, an option nobody knows, each type of attribute,
/// two streams with substreams, nested events, and a counter that wraps.
pub fn everything() -> Vec<u8> {
    let of_each_type = [
        attribute("u64", 0b0000_0001, &u64::MAX.to_be_bytes()),
        attribute("i64", 0b0000_0010, &i64::MIN.to_be_bytes()),
        attribute("f64", 0b0000_0011, &1.5_f64.to_be_bytes()),
        attribute("string", 0b0000_0100, &string("grüße")),
        attribute("u64s", 0b1000_0001, &array(&[1_u64.to_be_bytes().into(), u64::MAX.to_be_bytes().into()])),
        attribute("i64s", 0b1000_0010, &array(&[(-1_i64).to_be_bytes().into()])),
        attribute("f64s", 0b1000_0011, &array(&[f64::NAN.to_be_bytes().into(), f64::INFINITY.to_be_bytes().into()])),
        attribute("strings", 0b1000_0100, &array(&[string("a"), string(""), string("ccc")])),
        attribute("", 0b1000_0001, &array(&[])),
    ];
    [
        EXAMPLE_METADATA.to_vec(),
        EXAMPLE_EVENT.to_vec(),
        event((1, u32::MAX, 0), (20, 30), "child", &[]),
        metadata("host", &[0x00, 0xFF]),
        event((1, 0, 0), (10, 40), "parent", &of_each_type),
        event((1, 1, 7), (10, 40), "", &[]),
    ]
    .concat()
}
