//! Which functions are the program's own, and not its libraries' or its language's.

use std::collections::HashSet;

use crate::trace::{Trace, TraceProcess};
use ada_event::ModuleId;
use ada_image::is_of_go_library;

/// By the function's index in the tables.
pub(crate) fn own_functions(trace: &Trace, process: &TraceProcess) -> Vec<bool> {
    let recorded = trace.recorded(process);
    let beside = trace.session_of(process).session.processes();
    let traits = ada_span::function_traits(recorded, beside);
    let manifest = trace.manifest(process);
    let is_system = |module: ModuleId| {
        let module = manifest.iter().flat_map(|it| &it.modules).find(|it| it.module_id == module);
        module.is_none_or(|it| is_system_path(&it.path))
    };
    let go: HashSet<ModuleId> =
        process.names.all().filter(|(_, row)| is_of_every_go_program(&row.name)).map(|(it, _)| it.module()).collect();
    let is_of_go = |module: ModuleId, raw: &str| go.contains(&module) && is_of_go_library(raw);
    let functions = process.tables.meta().functions.iter();
    functions
        .map(|it| {
            let raw = process.names.raw(it.function).unwrap_or_default();
            !is_start(raw)
                && !is_bundled(raw)
                && !is_system(it.function.module())
                && !traits.get(it.function).is_runtime
                && !is_standard(&process.label(it.function).name)
                && !is_of_go(it.function.module(), raw)
        })
        .collect()
}

/// Whether a function is what compilers put around a program.
fn is_start(raw: &str) -> bool {
    matches!(
        raw,
        "_start"
            | "_init"
            | "_fini"
            | "__libc_csu_init"
            | "__libc_csu_fini"
            | "frame_dummy"
            | "register_tm_clones"
            | "deregister_tm_clones"
            | "__do_global_dtors_aux"
            | "__do_global_ctors_aux"
            | "_dl_relocate_static_pie"
    )
}

/// Whether a function is of a language's own library, compiled into the program: generic code of Rust's, templates of C++'s.
fn is_standard(name: &str) -> bool {
    let name = name.trim_start_matches('<').trim_start_matches('&');
    ["core::", "alloc::", "std::", "__rustc"].iter().any(|begin| name.starts_with(begin))
}

/// Whether a program with such a function is one of Go's.
fn is_of_every_go_program(raw: &str) -> bool {
    matches!(raw, "runtime.goexit" | "runtime.goexit.abi0")
}

/// Whether a function is of a crate that Rust's standard library brings along for backtraces: what it keeps, it keeps for
/// the next one.
fn is_bundled(raw: &str) -> bool {
    const CRATES: [&str; 5] = ["5gimli", "9addr2line", "14rustc_demangle", "11miniz_oxide", "9hashbrown"];
    (raw.starts_with("_ZN") || raw.starts_with("_R")) && CRATES.iter().any(|name| raw.contains(name))
}

/// Whether a file is where distributions put libraries. A program in such a folder is not one of those.
fn is_system_path(path: &str) -> bool {
    let is_library = path.rsplit('/').next().is_some_and(|file| file.contains(".so"));
    let folders = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/local/lib/"];
    is_library && folders.iter().any(|folder| path.starts_with(folder)) || path.starts_with("linux-vdso")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_standard_library_brings_along_is_not_the_programs_own() {
        assert!(is_bundled("_ZN5gimli4read4line13LineProgram17h0123456789abcdefE"));
        assert!(is_standard("core::ptr::drop_in_place::<T>") && is_standard("<alloc::vec::Vec<T> as Drop>::drop"));
        assert!(!is_standard("stdio::flush") && !is_standard("mine::core::run"));
        assert!(!is_bundled("gimli_parse") && !is_bundled("_ZN4mine6parsed17h0123456789abcdefE"));
    }

    #[test]
    fn libraries_of_the_system_are_not_the_programs_own() {
        assert!(is_system_path("/usr/lib/x86_64-linux-gnu/libc.so.6"));
        assert!(!is_system_path("/usr/lib/git-core/git"));
        assert!(!is_system_path("/home/me/libplugin.so"));
    }
}
