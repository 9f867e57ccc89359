//! Heph packets a second, encoded and decoded, with two attributes each.

use std::hint::black_box;

use ada_format::heph::{
    Encoder, EventCounter, EventHead, Nanos, Packet, PacketReader, Packets, StreamId, SubstreamId, Value,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const EVENTS: u32 = 100_000;

fn encode_event(encoder: &mut Encoder, counter: u32) {
    let start = u64::from(counter) * 1000;
    let head = EventHead {
        stream: StreamId(3),
        counter: EventCounter(counter),
        substream: SubstreamId(7),
        start: Nanos(start),
        end: Nanos(start + 500),
        description: "handle request",
    };
    let event = encoder.event(&head).expect("a sound event");
    event
        .attribute("request_id", u64::from(counter))
        .and_then(|event| event.attribute("path", "/api/v1/items"))
        .and_then(|event| event.finish())
        .expect("a sound event");
}

fn trace() -> Vec<u8> {
    let mut encoder = Encoder::new();
    (0..EVENTS).for_each(|counter| encode_event(&mut encoder, counter));
    encoder.bytes().to_vec()
}

/// Looks at everything, as somebody who stores the events does.
fn digest(packet: &Packet<'_>) -> u64 {
    let Packet::Event(event) = packet else { return 0 };
    let attributes = event.attributes.iter().map(|attribute| match attribute.value {
        Value::U64(number) => number,
        Value::String(text) => text.len() as u64,
        _ => 0,
    });
    event.head.end.0 - event.head.start.0 + attributes.sum::<u64>()
}

fn heph(criterion: &mut Criterion) {
    let trace = trace();
    let mut group = criterion.benchmark_group("heph");
    group.throughput(Throughput::Elements(EVENTS.into()));

    let mut encoder = Encoder::new();
    group.bench_function("encode", |bencher| {
        bencher.iter(|| {
            encoder.clear();
            (0..EVENTS).for_each(|counter| encode_event(&mut encoder, black_box(counter)));
            encoder.bytes().len()
        });
    });
    group.bench_function("decode/slice", |bencher| {
        bencher.iter(|| {
            Packets::new(black_box(&trace)).map(|found| digest(&found.expect("a sound packet").packet)).sum::<u64>()
        });
    });
    group.bench_function("decode/read", |bencher| {
        bencher.iter(|| {
            let mut reader = PacketReader::new(black_box(trace.as_slice()));
            let mut sum = 0;
            while let Some(found) = reader.next_packet().expect("a slice can be read") {
                sum += digest(&found.expect("a sound packet").packet);
            }
            sum
        });
    });
    group.finish();
}

criterion_group!(benches, heph);
criterion_main!(benches);
