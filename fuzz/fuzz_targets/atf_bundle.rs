//! Any directory of a bundle of threads, with checksums that are right: refused, or it has as many threads as it says.
#![no_main]
use ada_format::atf::read_bundle;
use libfuzzer_sys::fuzz_target;

const ENTRY: usize = 40;

fuzz_target!(|bytes: &[u8]| {
    let _ = read_bundle(bytes).map(Iterator::count);
    let directory = &bytes[bytes.len() % ENTRY..];
    let mut file = b"ATB2\x01\x01\x01\x01\0\0\0\0\0\0\0\0".to_vec();
    file.extend_from_slice(&bytes[..bytes.len() % ENTRY]);
    let begin = file.len() as u64;
    file.extend_from_slice(directory);
    let count = directory.len() / ENTRY;
    let mut trailer = begin.to_le_bytes().to_vec();
    trailer.extend_from_slice(&(count as u32).to_le_bytes());
    trailer.extend_from_slice(&crc32fast::hash(directory).to_le_bytes());
    trailer.extend_from_slice(&crc32fast::hash(&trailer).to_le_bytes());
    trailer.extend_from_slice(b"BEND");
    file.extend_from_slice(&trailer);
    if let Ok(threads) = read_bundle(&file) {
        assert_eq!(threads.count(), count);
    }
});
