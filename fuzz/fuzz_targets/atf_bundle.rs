//! Any bundle of threads, with checksums of entries that are right: what it gives lies within it, and it comes to an end.
#![no_main]
use ada_format::atf::BundleReader;
use libfuzzer_sys::fuzz_target;

const ENTRY: usize = 32;

fuzz_target!(|bytes: &[u8]| {
    let _ = BundleReader::new(bytes).map(Iterator::count);
    let mut file = b"ATB3\x01\x01\x01\x01\0\0\0\0\0\0\0\0".to_vec();
    let header = file.len();
    file.extend_from_slice(bytes);
    // Wherever an entry may begin, it is one.
    let mut at = header;
    while let Some(entry) = file.get_mut(at..at + ENTRY) {
        entry[..4].copy_from_slice(b"BTHR");
        let crc = crc32fast::hash(&entry[..28]);
        entry[28..].copy_from_slice(&crc.to_le_bytes());
        at += ENTRY + usize::from(entry[8]);
    }
    let threads = BundleReader::new(&file).unwrap();
    assert!(threads.count() <= 1 + bytes.len() / ENTRY);
});
