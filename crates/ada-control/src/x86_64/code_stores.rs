//! Which stores to code other processors see whole.

use std::arch::x86_64::__cpuid;
use std::sync::LazyLock;

/// Whether eight bytes are stored whole wherever they lie in a line of the caches. Intel promises that of all its processors since
/// 1995; others promise it of aligned words alone.
pub(crate) fn are_whole_in_lines() -> bool {
    static INTEL: LazyLock<bool> = LazyLock::new(|| {
        let vendor = __cpuid(0);
        [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat() == b"GenuineIntel"
    });
    *INTEL
}
