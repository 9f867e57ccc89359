//! Which functions are the program's own, and not its libraries' or its language's.

use crate::trace::{Trace, TraceProcess};
use ada_event::ModuleId;

/// By the function's index in the tables.
pub(super) fn own_functions(trace: &Trace, process: &TraceProcess) -> Vec<bool> {
    let recorded = trace.recorded(process);
    let beside = trace.session_of(process).session.processes();
    let traits = ada_span::function_traits(recorded, beside);
    let manifest = trace.manifest(process);
    let is_system = |module: ModuleId| {
        let module = manifest.iter().flat_map(|it| &it.modules).find(|it| it.module_id == module);
        module.is_none_or(|it| is_system_path(&it.path))
    };
    let functions = process.tables.meta().functions.iter();
    functions
        .map(|it| {
            let raw = process.names.raw(it.function).unwrap_or_default();
            let is_start = matches!(raw, "_start" | "main" | "__libc_csu_init" | "_init" | "frame_dummy" | "");
            !is_start && !is_system(it.function.module()) && !traits.get(it.function).is_runtime
        })
        .collect()
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
    fn libraries_of_the_system_are_not_the_programs_own() {
        assert!(is_system_path("/usr/lib/x86_64-linux-gnu/libc.so.6"));
        assert!(!is_system_path("/usr/lib/git-core/git"));
        assert!(!is_system_path("/home/me/libplugin.so"));
    }
}
