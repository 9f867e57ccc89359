//! Changing code that other threads run.

use core::arch::asm;

/// Changes eight bytes of code in one store, if they are what they are taken to be; aligned or not.
///
/// # Safety
/// They can be written to, and lie in one line of the caches.
pub(crate) unsafe fn exchange_code(address: u64, old: u64, new: u64) -> bool {
    let found: u64;
    // SAFETY: the caller's promise.
    unsafe {
        asm!("lock cmpxchg qword ptr [{address}], {new}", address = in(reg) address, new = in(reg) new,
            inlateout("rax") old => found, options(nostack));
    }
    found == old
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In one line of the caches.
    #[repr(align(64))]
    struct Line([[u8; 8]; 2]);

    #[test]
    fn a_word_is_changed_wherever_it_lies_if_it_is_the_expected_one() {
        let mut line = Line([[1, 2, 3, 4, 5, 6, 7, 8], [9; 8]]);
        let address = &raw mut line as u64 + 3;
        let [old, new] = [[4, 5, 6, 7, 8, 9, 9, 9], [0, 5, 6, 7, 8, 9, 9, 0]].map(u64::from_le_bytes);
        // SAFETY: the test's own.
        unsafe {
            assert!(exchange_code(address, old, new));
            assert!(!exchange_code(address, old, new), "it is another by now");
        }
        assert_eq!(line.0, [[1, 2, 3, 0, 5, 6, 7, 8], [9, 9, 0, 9, 9, 9, 9, 9]]);
    }
}
