//! What the compiler expects of an environment, and nothing more.

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    crate::arch::trap()
}
