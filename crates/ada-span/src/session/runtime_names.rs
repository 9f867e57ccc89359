//! Which modules and functions belong to the machinery of languages and of the system, by their names.

use std::path::Path;

/// Whether a module is the dynamic loader, and nothing else: musl's is the C library too.
pub(super) fn is_loader(path: &str) -> bool {
    Path::new(path).file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-linux"))
}

/// Whether a module is part of a language's or the system's runtime.
pub(super) fn is_runtime_library(path: &str) -> bool {
    const LIBRARIES: [&str; 16] = [
        "libgomp",
        "libomp.",
        "libtbb",
        "libswift",
        "libdispatch",
        "libBlocksRuntime",
        "libc.so",
        "libc-",
        "libc.musl",
        "ld-linux",
        "ld-musl",
        "libpthread",
        "libstdc++",
        "libgcc_s",
        "libm.so",
        "linux-vdso",
    ];
    let file = Path::new(path).file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    LIBRARIES.iter().any(|library| file.starts_with(library))
}

/// Whether a function leads from a thread's start to what the program meant it to run: by what its mangled name has.
pub(super) fn is_runtime_name(raw: &str) -> bool {
    // A lambda or functor that `std::thread` runs is often inlined into the runner, which then bears its name.
    if raw.contains("_State_impl") || raw.contains("_Async_state") || raw.contains("_Deferred_state") {
        // What is called by pointer, or through a library's own wrapper, has a name of its own.
        let is_led_on = ["IJPF", "IJM", "IJSt"].iter().any(|callable| raw.contains(callable));
        return is_led_on || raw.contains("_M_dispose") || raw.ends_with("D2Ev") || raw.ends_with("D0Ev");
    }
    const PARTS: [&str; 16] = [
        "execute_native_thread_routine",
        "_ZZNSt",
        "_ZZSt",
        "_ZNSt",
        "_ZSt",
        "_ZNKSt",
        "_ZN9__gnu_cxx",
        "_ZN3std",
        "_ZN4core",
        "_ZN5alloc",
        "core..ops..function",
        "std..thread",
        "alloc..boxed..Box",
        "NtCs3std",
        "__rust_",
        "__cxa_",
    ];
    PARTS.iter().any(|part| raw.contains(part))
        || is_rust_v0_runtime(raw)
        || is_swift_runtime(raw)
        || matches!(raw, "start" | "start_c11" | "_init" | "call_init")
}

/// Swift's own functions, where they are part of the program, and the thunks that lead from one kind of closure to
/// another.
fn is_swift_runtime(raw: &str) -> bool {
    const BEGINNINGS: [&str; 6] = ["$ss", "$sSc", "swift_", "_swift_", "dispatch_", "_dispatch_"];
    // A thunk's name has types alone; all else begins with the name of its module.
    let is_thunk = raw
        .strip_prefix("$s")
        .is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_ascii_digit()) && rest.contains("TR"));
    // The runtime is C++, and its functions are about its own types.
    let is_of_runtime = raw.starts_with("_Z") && raw.contains("5swift");
    is_thunk || is_of_runtime || BEGINNINGS.iter().any(|beginning| raw.starts_with(beginning))
}

/// `_R…` names, by the first crate that they name: Rust's own crates, but for the function that bears a closure's name.
fn is_rust_v0_runtime(raw: &str) -> bool {
    if !raw.starts_with("_R") {
        return false;
    }
    if raw.contains("rust_begin_short_backtrace") {
        return !raw.contains("NC");
    }
    // A crate is `C`, a disambiguator from `s` to `_`, the length of its name, and the name.
    let Some((_, rest)) = raw.split_once("Cs") else { return false };
    let Some((_, rest)) = rest.split_once('_') else { return false };
    let name = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let length: usize = rest[..rest.len() - name.len()].parse().unwrap_or(0);
    let name = name.trim_start_matches('_');
    matches!(name.get(..length.min(name.len())), Some("std" | "core" | "alloc")) || name.starts_with("rustc")
}
