#![no_main]
use ada_event::ImageOffset;
use ada_image::GoTable;
use libfuzzer_sys::fuzz_target;

const TEXT: u64 = 0x1000;

fuzz_target!(|bytes: &[u8]| {
    let Ok(table) = GoTable::parse(bytes, ImageOffset(0x5000), TEXT) else { return };
    assert!(table.len() <= bytes.len());
    for function in table.functions() {
        assert!(function.start < function.end);
        table.function_place(function.start);
        table.place(ImageOffset(function.start.0.midpoint(function.end.0)));
        table.frame_bytes(&function);
    }
});
