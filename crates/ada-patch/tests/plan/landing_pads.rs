//! Landing pads, which nothing but an unwinder reaches, stay as they are.

use ada_image::{Image, UnwindTable};
use ada_patch::{SkipReason, Verdict};

use crate::planned::{build, plan};

#[test]
fn a_cold_part_that_begins_with_a_pad_is_left_alone() {
    let bytes = build("g++", "cold_pad.cpp", &["-O2", "-s"]);
    let unwind = UnwindTable::parse(&Image::parse(&bytes).unwrap());
    let pads = unwind.landing_pads();
    let planned = plan(&bytes);
    let pad_behind = |start: u64| pads.iter().any(|pad| (start..start + 5).contains(&pad.0));
    let begun_with_pad: Vec<Verdict> =
        planned.iter().filter(|function| pad_behind(function.start.0)).map(|function| function.verdict).collect();
    assert_eq!(begun_with_pad, [Verdict::Skipped(SkipReason::ColdPart)]);
    assert!(planned.iter().filter(|function| function.verdict == Verdict::Hooked).count() >= 3);
}

#[test]
fn no_patch_covers_a_pad() {
    for flags in [&["-O0"][..], &["-O2"], &["-O3", "-s"], &["-Os", "-static", "-s"]] {
        let bytes = build("g++", "cold_pad.cpp", flags);
        let unwind = UnwindTable::parse(&Image::parse(&bytes).unwrap());
        assert!(!unwind.landing_pads().is_empty());
        for function in plan(&bytes) {
            let Some(plan) = function.plan else { continue };
            let patched = plan.at.0..plan.at.0 + 5;
            let covered = unwind.landing_pads().iter().find(|pad| patched.contains(&pad.0));
            assert_eq!(covered, None, "{flags:?} {:?} at {}", function.name, function.start);
        }
    }
}
