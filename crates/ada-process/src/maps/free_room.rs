//! Free addresses near an image.

use std::ops::Range;

use ada_event::RuntimeAddr;

use super::loaded_file::LoadedFile;
use super::mapping::Mapping;

/// A page-aligned address where `length` bytes are free, as near as needed to reach `file` from end to end with a
/// 32-bit displacement: below it first, then well above it, out of the way of its heap.
pub fn free_near(mappings: &[Mapping], file: &LoadedFile, length: u64) -> Option<RuntimeAddr> {
    const MARGIN: u64 = 64 << 10;
    const STEP: u64 = 1 << 20;
    const REACH: u64 = 1900 << 20;
    const HEAP: u64 = 1 << 30;
    let is_free = |start: RuntimeAddr| {
        let (low, high) = (RuntimeAddr(start.0.saturating_sub(MARGIN)), start + length + MARGIN);
        let after = mappings.partition_point(|mapping| mapping.end <= low);
        mappings.get(after).is_none_or(|mapping| mapping.start >= high)
    };
    let lowest = file.end.0.saturating_sub(REACH).max(STEP);
    let mut start = RuntimeAddr(file.start.0.saturating_sub(length + STEP)).align_down(4096);
    while start.0 >= lowest {
        if is_free(start) {
            return Some(start);
        }
        start -= STEP.min(start.0);
    }
    let mut start = (file.end + HEAP).align_up(4096);
    while start + length <= file.start + REACH {
        if is_free(start) {
            return Some(start);
        }
        start += STEP;
    }
    None
}

/// Whether nothing is mapped in a range of addresses that programs can have.
pub fn is_free(mappings: &[Mapping], range: &Range<RuntimeAddr>) -> bool {
    const END: RuntimeAddr = RuntimeAddr(1 << 47);
    const LOWEST: RuntimeAddr = RuntimeAddr(1 << 16);
    let after = mappings.partition_point(|mapping| mapping.end <= range.start);
    let is_before_next = mappings.get(after).is_none_or(|mapping| mapping.start >= range.end);
    is_before_next && LOWEST <= range.start && range.end < END
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps::loaded_files;
    use crate::maps::mapping::for_tests;

    #[test]
    fn room_is_found_below_an_image_and_never_on_top_of_another() {
        let mappings = for_tests();
        for file in &loaded_files(&mappings) {
            let start = free_near(&mappings, file, 4 << 20).unwrap();
            assert!(mappings.iter().all(|mapping| start + (4 << 20) <= mapping.start || start >= mapping.end));
            assert!(file.end - start < 1 << 31);
            assert!(is_free(&mappings, &(start..start + (4 << 20))));
            assert!(!is_free(&mappings, &(file.start - 1_u64..file.start + 1)));
        }
    }
}
