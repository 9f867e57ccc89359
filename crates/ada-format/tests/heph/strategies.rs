//! Traces for property tests: any packets, written by the testkit, and any way to cut them.

use ada_testkit::heph::{array, attribute, event, metadata, string};
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(any::<char>(), 0..8).prop_map(String::from_iter)
}

fn number() -> impl Strategy<Value = Vec<u8>> {
    any::<[u8; 8]>().prop_map(Vec::from)
}

fn any_attribute() -> impl Strategy<Value = Vec<u8>> {
    let value = prop_oneof![
        (1_u8..=3, number()),
        text().prop_map(|text| (4, string(&text))),
        (0x81_u8..=0x83, proptest::collection::vec(number(), 0..4).prop_map(|numbers| array(&numbers))),
        proptest::collection::vec(text().prop_map(|text| string(&text)), 0..4).prop_map(|texts| (0x84, array(&texts))),
    ];
    (text(), value).prop_map(|(name, (value_type, value))| attribute(&name, value_type, &value))
}

pub(crate) fn any_packet() -> impl Strategy<Value = Vec<u8>> {
    let options = (text(), proptest::collection::vec(any::<u8>(), 0..20))
        .prop_filter("an epoch has a layout of its own", |(name, _)| name != "epoch")
        .prop_map(|(name, value)| metadata(&name, &value));
    let epochs = any::<u64>().prop_map(|epoch| metadata("epoch", &epoch.to_be_bytes()));
    let ids = (any::<u32>(), any::<u32>(), any::<u64>());
    let times = (any::<u64>(), any::<u64>()).prop_map(|(a, b)| (a.min(b), a.max(b)));
    let events = (ids, times, text(), proptest::collection::vec(any_attribute(), 0..4))
        .prop_map(|(ids, times, description, attributes)| event(ids, times, &description, &attributes));
    prop_oneof![1 => options, 1 => epochs, 4 => events]
}

pub(crate) fn any_packets() -> impl Strategy<Value = Vec<Vec<u8>>> {
    proptest::collection::vec(any_packet(), 0..8)
}

/// Sound packets with anything between them.
pub(crate) fn any_damaged_trace() -> impl Strategy<Value = Vec<u8>> {
    let garbage = proptest::collection::vec(any::<u8>(), 0..12);
    let magic = prop_oneof![Just(0x75D1_1D4D_u32), Just(0xC1FC_1FB7)];
    let claim = (magic, 0_u32..200).prop_map(|(magic, size)| [magic.to_be_bytes(), size.to_be_bytes()].concat());
    let part = prop_oneof![4 => any_packet(), 1 => garbage, 1 => claim];
    (proptest::collection::vec(part, 0..8), any::<prop::sample::Index>(), 0..8_u8, any::<bool>()).prop_map(
        |(parts, at, bit, flip)| {
            let mut bytes = parts.concat();
            if flip && !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
            }
            bytes
        },
    )
}

/// Lengths of pieces, used in turn.
pub(crate) fn any_cuts() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(1_usize..40, 1..10)
}
