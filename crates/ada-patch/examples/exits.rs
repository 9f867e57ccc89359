//! How many functions can be hooked, with all their exits. usage: exits FILE...
use ada_image::*;
use ada_patch::*;
fn main() {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path).unwrap();
        let image = Image::parse(&bytes).unwrap();
        let unwind = UnwindTable::parse(&image);
        let functions = FunctionTable::discover(&image, &unwind, &[]);
        let scan = CodeScan::of(image.code_ranges(), &functions, &unwind);
        let code = ImageCode { ranges: image.code_ranges(), functions: &functions, unwind: &unwind, scan: &scan };
        let t = std::time::Instant::now();
        let planned = PlannedFunctions::of(code, false, true);
        let mut counts = std::collections::BTreeMap::new();
        for v in &planned.verdicts {
            *counts.entry(format!("{v:?}")).or_insert(0) += 1;
        }
        println!("{path}: {counts:?}; {} exits, {:?}", planned.exits.len(), t.elapsed());
    }
}
