//! Executable bytes that may hold functions.

use ada_event::ImageOffset;

use crate::Segment;

/// A run of executable bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CodeRange<'d> {
    /// Where the run starts.
    pub start: ImageOffset,
    /// Its bytes, as the file has them.
    pub bytes: &'d [u8],
}

impl std::fmt::Debug for CodeRange<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CodeRange({}..{})", self.start, self.end())
    }
}

impl<'d> CodeRange<'d> {
    /// The first address after the run.
    pub fn end(&self) -> ImageOffset {
        // Cannot overflow: `sort_apart` keeps no range that reaches past the address space.
        ImageOffset(self.start.0 + self.bytes.len() as u64)
    }

    /// Whether the run has this address.
    pub fn contains(&self, address: ImageOffset) -> bool {
        self.start <= address && address < self.end()
    }

    /// The run's bytes from `address` on, if it has that address.
    pub fn bytes_from(&self, address: ImageOffset) -> Option<&'d [u8]> {
        self.contains(address).then(|| &self.bytes[(address.0 - self.start.0) as usize..])
    }
}

/// The part of `start..start + size` that an executable segment takes from the file. Where a section header and the
/// program headers disagree, the program headers are right: they are what the kernel maps.
pub(crate) fn mapped_code<'d>(segments: &[Segment], file: &'d [u8], start: u64, size: u64) -> Option<CodeRange<'d>> {
    segments.iter().filter(|segment| segment.executable).find_map(|segment| {
        let bytes = segment.file_bytes_from(file, start)?;
        let wanted = usize::try_from(size).unwrap_or(usize::MAX).min(bytes.len());
        Some(CodeRange { start: ImageOffset(start), bytes: &bytes[..wanted] })
    })
}

/// Sorts the ranges and makes them disjoint: one that starts inside its predecessor is dropped.
pub(crate) fn sort_apart(ranges: &mut Vec<CodeRange<'_>>) {
    ranges.retain(|range| !range.bytes.is_empty() && range.start.0.checked_add(range.bytes.len() as u64).is_some());
    ranges.sort_by_key(|range| range.start);
    let mut reached = ImageOffset(0);
    ranges.retain(|range| {
        let apart = range.start >= reached;
        if apart {
            reached = range.end();
        }
        apart
    });
}

/// The range with this address, of sorted disjoint ranges.
pub(crate) fn find<'a, 'd>(ranges: &'a [CodeRange<'d>], address: ImageOffset) -> Option<&'a CodeRange<'d>> {
    let after = ranges.partition_point(|range| range.start <= address);
    ranges[..after].last().filter(|range| range.contains(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, bytes: &[u8]) -> CodeRange<'_> {
        CodeRange { start: ImageOffset(start), bytes }
    }

    #[test]
    fn ranges_come_out_sorted_and_disjoint() {
        let mut ranges = vec![range(30, &[0; 4]), range(10, &[0; 8]), range(12, &[0; 30]), range(u64::MAX, &[0; 2])];
        sort_apart(&mut ranges);
        assert_eq!(ranges, [range(10, &[0; 8]), range(30, &[0; 4])]);
        assert_eq!(find(&ranges, ImageOffset(17)).map(|range| range.start.0), Some(10));
        assert_eq!(find(&ranges, ImageOffset(18)), None);
        assert_eq!(find(&ranges, ImageOffset(9)), None);
        assert_eq!(find(&ranges, ImageOffset(33)).map(|range| range.start.0), Some(30));
    }
}
