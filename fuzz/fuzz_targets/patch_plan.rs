#![no_main]
use ada_image::{FunctionTable, Image, UnwindTable};
use ada_patch::{CodeScan, ImageCode, Planner, Relays};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(image) = Image::parse(bytes) else { return };
    let unwind = UnwindTable::parse(&image);
    let functions = FunctionTable::discover(&image, &unwind, &[]);
    let scan = CodeScan::of(image.code_ranges(), &functions, &unwind);
    let mut planner = Planner {
        code: ImageCode { ranges: image.code_ranges(), functions: &functions, unwind: &unwind, scan: &scan },
        moving_frames: false,
        relays: Relays::default(),
    };
    let plans: Vec<_> = (0..functions.len()).filter_map(|index| planner.plan(index).1).collect();
    let mut patched: Vec<_> = plans.iter().flat_map(|plan| plan.patched()).collect();
    patched.sort_unstable_by_key(|range| range.start);
    for pair in patched.windows(2) {
        assert!(pair[0].end <= pair[1].start, "{pair:x?}");
    }
    for range in patched {
        let code = image.code_range_at(range.start).expect("a patch is in code");
        assert!(range.end <= code.end());
    }
});
