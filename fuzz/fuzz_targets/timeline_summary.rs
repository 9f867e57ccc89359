//! Any bytes as the summary of a process's spans: read or refused with the place of what is wrong.
#![no_main]
use ada_timeline::{SummaryError, unchecked};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let length = bytes.len() as u64;
    match unchecked::summary(bytes) {
        Ok(items) => assert!(items <= length * length, "rows may share items, but there are fewer of them than bytes"),
        Err(SummaryError::TooShort { length: stated }) => assert_eq!(stated, length),
        Err(
            SummaryError::OtherFormat { offset }
            | SummaryError::Lengths { offset }
            | SummaryError::Directory { offset },
        ) => assert!(offset <= length),
        Err(other) => panic!("{other} cannot be known without a key and a checksum"),
    }
});
