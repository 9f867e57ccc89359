//! Any bytes as a manifest: refused with a place inside them, or read and written back the same.
#![no_main]
use ada_format::atf::{AtfError, Manifest};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| match Manifest::parse(bytes) {
    Ok(manifest) => assert_eq!(Manifest::parse(&manifest.to_json()), Ok(manifest)),
    Err(AtfError::Manifest { offset, .. }) => assert!(offset <= bytes.len() as u64),
    Err(_) => {}
});
