//! What the format document shows, byte for byte.

use ada_format::heph::{
    Attribute, Encoder, EventCounter, EventHead, Nanos, Packet, Packets, StreamId, SubstreamId, UnixNanos, Value,
};
use ada_testkit::heph::{EXAMPLE_EVENT, EXAMPLE_METADATA, everything};

const EXAMPLE_HEAD: EventHead<'static> = EventHead {
    stream: StreamId(0),
    counter: EventCounter(0),
    substream: SubstreamId(1),
    start: Nanos(100),
    end: Nanos(200),
    description: "My event",
};

#[test]
fn the_metadata_example() {
    let mut encoder = Encoder::new();
    encoder.epoch(UnixNanos(1_610_113_734_118_010_000)).unwrap();
    assert_eq!(encoder.bytes(), EXAMPLE_METADATA);

    let Ok(Packet::Metadata(metadata)) = Packet::decode(&EXAMPLE_METADATA) else { panic!("a metadata packet") };
    assert_eq!(metadata.name(), "epoch");
    assert_eq!(metadata.epoch(), Some(UnixNanos(1_610_113_734_118_010_000)));
}

#[test]
fn the_event_example() {
    let mut encoder = Encoder::new();
    let event = encoder.event(&EXAMPLE_HEAD).unwrap();
    event
        .attribute("Test", 123_u64)
        .and_then(|event| event.attribute("Test2", [123.456, 789.0].as_slice()))
        .and_then(|event| event.finish())
        .unwrap();
    assert_eq!(encoder.bytes(), EXAMPLE_EVENT);

    let Ok(Packet::Event(event)) = Packet::decode(&EXAMPLE_EVENT) else { panic!("an event packet") };
    assert_eq!(event.head, EXAMPLE_HEAD);
    let attributes: Vec<_> = event.attributes.iter().collect();
    assert_eq!(attributes[0], Attribute { name: "Test", value: Value::U64(123) });
    let Attribute { name: "Test2", value: Value::F64Array(numbers) } = attributes[1] else { panic!("an array") };
    assert_eq!(numbers.iter().collect::<Vec<_>>(), [123.456, 789.0]);
    assert_eq!(attributes.len(), 2);
}

/// What the golden file says, as text: a change of meaning shows up here even if reader and writer change together.
#[test]
fn the_golden_file() {
    let golden = include_bytes!("golden/everything.heph");
    assert_eq!(golden.as_slice(), everything(), "the golden file and the testkit have drifted");

    let said: Vec<String> = Packets::new(golden)
        .map(|found| match found.expect("a sound packet").packet {
            Packet::Metadata(metadata) => format!("{} = {:?}", metadata.name(), metadata.value()),
            Packet::Event(event) => {
                let EventHead { stream, counter, substream, start, end, description } = event.head;
                let attributes: Vec<String> =
                    event.attributes.iter().map(|it| format!(" {}={:?}", it.name, it.value)).collect();
                format!("{stream}/{substream} #{counter} {start}..{end} {description}{}", attributes.concat())
            }
        })
        .collect();
    assert_eq!(said.join("\n") + "\n", include_str!("golden/everything.txt"));
}
