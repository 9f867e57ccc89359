//! Source lines of a built image against what `addr2line` of binutils says, and of damaged ones.

use std::process::Command;
use std::sync::LazyLock;

use ada_event::ImageOffset;
use ada_image::{Image, SourceLines};
use proptest::prelude::*;

use crate::target::Target;

const FLAGS: [&str; 2] = ["-O2", "-g"];

static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| Target::build("shapes.c", &FLAGS).bytes());
/// All code that has lines, in steps that meet and miss the beginnings of instructions and functions.
static ADDRESSES: LazyLock<Vec<ImageOffset>> = LazyLock::new(|| {
    let image = Image::parse(&WHOLE).unwrap();
    image.code_ranges().iter().flat_map(|code| (code.start.0..code.end().0).step_by(7).map(ImageOffset)).collect()
});

#[test]
fn lines_of_instructions_are_those_of_binutils() {
    for compression in ["none", "zlib"] {
        let target = Target::build("shapes.c", &FLAGS)
            .changed_by("objcopy", &[&format!("--compress-debug-sections={compression}")]);
        let lines = SourceLines::read(Box::new(target.bytes())).unwrap();
        let output = Command::new("addr2line")
            .arg("-e")
            .arg(target.path())
            .args(ADDRESSES.iter().map(|at| format!("{:#x}", at.0)))
            .output()
            .expect("scripts/setup installs it");
        let text = String::from_utf8(output.stdout).unwrap();
        let mut known = 0;
        for (at, theirs) in ADDRESSES.iter().zip(text.lines()) {
            let line =
                |place: &str| place.split(" (disc").next().and_then(|it| it.rsplit(':').next()?.parse::<u32>().ok());
            let theirs = line(theirs).filter(|&line| line > 0);
            assert_eq!(lines.place(*at).map(|place| place.line), theirs, "{compression} {at}");
            known += usize::from(theirs.is_some());
        }
        assert!(known > 10, "{text}");
    }
}

#[test]
fn a_stripped_image_has_no_lines() {
    assert!(SourceLines::read(Box::new(Target::build("shapes.c", &FLAGS).stripped().bytes())).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bits_are_survived(flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..24)) {
        let mut bytes = WHOLE.clone();
        // Debug sections are the later part of the file.
        let first = bytes.len() / 2;
        for (at, bit) in flips {
            bytes[first + at.index(WHOLE.len() - first)] ^= 1 << bit;
        }
        if let Some(lines) = SourceLines::read(Box::new(bytes)) {
            for at in ADDRESSES.iter() {
                let _ = (lines.place(*at), lines.function_place(*at));
            }
        }
    }
}
