#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = std::env::temp_dir().join(format!("ada-fuzz-rings-{}", std::process::id()));
    ada_control::fuzzed::hostile_rings(bytes, &folder);
    std::fs::remove_dir_all(&folder).expect("it was made");
});
