#![no_main]
use ada_format::atf::{read_functions, write_functions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(rows) = read_functions(text) else { return };
    assert!(rows.len() <= text.lines().count());
    let mut written = Vec::new();
    write_functions(&mut written, rows.iter().cloned()).expect("a vector takes everything");
    let written = String::from_utf8(written).expect("names are text");
    assert_eq!(read_functions(&written).expect("what was written can be read"), rows);
});
