#![no_main]
use ada_image::{DebugImage, FunctionTable, Image, UnwindTable, demangle};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let debug = DebugImage::parse(bytes).ok();
    let Ok(image) = Image::parse(bytes) else { return };
    let unwind = UnwindTable::parse(&image);
    for fde in unwind.fdes() {
        let rows = unwind.rows(fde);
        assert_eq!(rows.first().map(|row| row.start), Some(fde.start));
        assert_eq!(rows.last().map(|row| row.end), Some(fde.end));
        assert!(rows.windows(2).all(|pair| pair[0].end == pair[1].start));
    }
    assert!(unwind.landing_pads().is_sorted_by(|a, b| a < b) && unwind.landing_pads().len() <= bytes.len());
    let table = FunctionTable::discover(&image, &unwind, debug.as_slice());
    assert!(table.functions().windows(2).all(|pair| pair[0].start < pair[1].start));
    for (index, function) in table.functions().iter().enumerate() {
        let range = image.code_range_at(function.start).expect("a function is in code");
        assert!(function.size <= range.end().0 - function.start.0);
        for name in table.names(index) {
            demangle(name);
        }
        unwind.row_at(function.start);
    }
    table.hash();
    image.symbol("main");
});
