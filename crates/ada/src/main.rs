//! The `ada` executable. All of it is a library, which compiles beside the last of the libraries it needs: an executable would
//! have to wait for them.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    ada_commands::main()
}
