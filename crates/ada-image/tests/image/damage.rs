//! Hostile and cut images: an answer or an error, never a panic.

use std::sync::LazyLock;

use ada_image::{DebugImage, FunctionTable, Image, ImageError, UnwindTable};
use proptest::prelude::*;

use crate::target::{Target, discover};

static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| Target::build("shapes.c", &["-O2"]).bytes());

/// Asks everything there is to ask.
fn exercise(bytes: &[u8]) {
    let debug = DebugImage::parse(bytes).ok();
    let Ok(image) = Image::parse(bytes) else { return };
    let unwind = UnwindTable::parse(&image);
    let table = FunctionTable::discover(&image, &unwind, debug.as_slice());
    for (index, function) in table.functions().iter().enumerate() {
        assert!(image.code_range_at(function.start).is_some());
        assert_eq!(table.index_at(function.start), Some(index));
        let _ = unwind.row_at(function.start);
        let _ = table.name(index).map(ada_image::demangle);
    }
    for fde in unwind.fdes() {
        assert!(fde.start < fde.end && !unwind.rows(fde).is_empty());
    }
    let _ = (table.hash(), image.dynamic_symbol("main"), image.symbol("main"), image.build_id());
}

#[test]
fn every_cut_of_the_headers_is_survived() {
    for length in (0..WHOLE.len().min(1024)).chain((1024..WHOLE.len()).step_by(61)) {
        exercise(&WHOLE[..length]);
    }
}

#[test]
fn a_cut_image_still_shows_what_its_code_has() {
    // Section headers come last in a file; without them the rest is found as the loader finds it.
    let cut = &WHOLE[..WHOLE.len() - 1];
    let image = Image::parse(cut).unwrap();
    assert!(matches!(image.problem(), Some(ImageError::Malformed { part: "section headers", .. })));
    let whole = discover(&Target::build("shapes.c", &["-O2"]).stripped().bytes());
    assert_eq!(discover(cut).len(), whole.len());
}

#[test]
fn a_broken_unwind_entry_costs_only_itself() {
    let whole = Image::parse(&WHOLE).unwrap();
    let sound = UnwindTable::parse(&whole);
    let mut bytes = WHOLE.clone();
    // The augmentation of the first common entry, "zR", becomes one that nobody knows.
    let at = bytes.windows(12).position(|window| window == [0x14, 0, 0, 0, 0, 0, 0, 0, 1, b'z', b'R', 0]).unwrap();
    bytes[at + 9] = b'?';
    let broken = UnwindTable::parse(&Image::parse(&bytes).unwrap());
    assert!(matches!(broken.problem(), Some(ImageError::BadUnwindEntry { .. })), "{broken:?}");
    assert!(broken.fdes().len() < sound.fdes().len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bits_are_survived(flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..24)) {
        let mut bytes = WHOLE.clone();
        for (at, bit) in flips {
            bytes[at.index(WHOLE.len())] ^= 1 << bit;
        }
        exercise(&bytes);
    }

    #[test]
    fn headers_of_any_numbers_are_survived(words in prop::collection::vec((0usize..0x340 / 8, any::<u64>(), 0u32..64), 1..6)) {
        let mut bytes = WHOLE.clone();
        for (word, value, shift) in words {
            bytes[word * 8..][..8].copy_from_slice(&(value >> shift).to_le_bytes());
        }
        bytes[..6].copy_from_slice(&WHOLE[..6]);
        bytes[16..20].copy_from_slice(&WHOLE[16..20]);
        exercise(&bytes);
    }
}
