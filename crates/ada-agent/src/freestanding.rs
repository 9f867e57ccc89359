//! What the compiler expects of an environment, and nothing more.

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    crate::arch::trap()
}

/// Named by unwind tables that nobody reads: so that the linker may refuse whatever is missing.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
