#![no_main]
use ada_image::{FunctionTable, Image, UnwindTable};
use ada_patch::{CodeScan, ImageCode, PlannedFunctions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(image) = Image::parse(bytes) else { return };
    let unwind = UnwindTable::parse(&image);
    let functions = FunctionTable::discover(&image, &unwind, &[]);
    let scan = CodeScan::of(&image, &functions, &unwind);
    let code =
        ImageCode { image: &image, ranges: image.code_ranges(), functions: &functions, unwind: &unwind, scan: &scan };
    let mut planned = PlannedFunctions::of(code);
    // Each function that leaves at a shared exit has it.
    planned.exits.sort_by_key(|exit| exit.at);
    planned.exits.dedup_by(|one, other| one.at == other.at && one.displaced == other.displaced);
    let entries = planned.plans.iter().flat_map(|(_, plan)| plan.patched());
    let mut patched: Vec<_> = entries.chain(planned.exits.iter().flat_map(|exit| exit.patched())).collect();
    patched.sort_unstable_by_key(|range| range.start);
    for pair in patched.windows(2) {
        assert!(pair[0].end <= pair[1].start, "{pair:x?}");
    }
    for range in patched {
        let code = image.code_range_at(range.start).expect("a patch is in code");
        assert!(range.end <= code.end());
    }
});
