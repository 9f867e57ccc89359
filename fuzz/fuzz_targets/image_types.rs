//! Any bytes as a file with debug information: types are read or not, in bounded time.
#![no_main]
use ada_image::{function_types, go_function_types};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for (_, function) in function_types(Box::new(bytes.to_vec()), &|_| true, 2) {
        assert!(function.parameters.len() <= 64);
    }
    for (_, function) in go_function_types(Box::new(bytes.to_vec()), &|_| true, 2) {
        assert!(function.parameters.len() + function.results.len() <= 64);
    }
});
