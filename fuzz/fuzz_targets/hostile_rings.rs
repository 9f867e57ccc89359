//! Rings in which a target writes whatever it likes: the drain makes a session of them, or not, and goes on.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = std::env::temp_dir().join(format!("ada-fuzz-rings-{}", std::process::id()));
    ada_control::fuzzed::hostile_rings(bytes, &folder);
    // Two bytes and less make none.
    let _ = std::fs::remove_dir_all(&folder);
});
