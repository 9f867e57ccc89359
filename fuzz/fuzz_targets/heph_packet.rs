#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|_bytes: &[u8]| {});
