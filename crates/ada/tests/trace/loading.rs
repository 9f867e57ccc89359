//! Libraries: those that come with the program, and those that come later.

use std::path::{Path, PathBuf};

use ada_format::atf::Session;

use super::program::Program;
use super::recorded::{Counts, RecordedProcess};
use super::tracing::Tracing;
use crate::run::text;

fn plugin() -> PathBuf {
    Program::new("plugin.c").flags(&["-shared", "-fPIC"]).build()
}

/// What a function of the library did, whichever loading of it.
fn counts(process: &RecordedProcess, name: &str) -> Counts {
    process.counts_of(|module, row| module.path.ends_with("/plugin") && row.name == name)
}

fn balanced(calls: u64) -> Counts {
    Counts { calls, returns: calls, unwound: 0 }
}

#[test]
fn a_library_that_is_loaded_again_and_again_is_hooked_each_time() {
    let traced = Tracing::new(&Program::new("dlopen.c")).argument(plugin()).check();
    let process = traced.recorded.process();
    traced.recorded.assert_balanced("use_it", 5);
    for (name, calls) in [("plugin_begins", 5), ("plugin_ends", 5), ("plugin_work", 10), ("plugin_leaf", 30)] {
        assert_eq!(counts(process, name), balanced(calls), "{name}");
    }
}

/// Handlers interrupt the wait for the recorder, which changes its list of images meanwhile.
#[test]
fn signals_while_libraries_are_loaded_do_no_harm() {
    let traced = Tracing::new(&Program::new("alarmed_loading.c").flags(&["-O1"])).check_output();
    assert!(text(&traced.output.stdout).starts_with("opened "));
    assert!(traced.recorded.counts("handle").calls > 20);
}

/// Firefox and Wine load one.
#[test]
fn a_library_that_uses_the_gs_base_finds_it_free() {
    let library = Program::new("gs_plugin.c").flags(&["-shared", "-fPIC", "-O1", "-mfsgsbase"]).build();
    let program = Program::new("gs_loader.c").flags(&["-O1", "-pthread"]);
    for options in [&[][..], &["--exclude", "*gs_plugin*"]] {
        let traced = Tracing::new(&program).option(options).argument(&library).check_output();
        // Calls until then are recorded.
        assert!(traced.recorded.counts("fib").calls > 10_000, "{options:?}");
        let session = Session::open(traced.recorded.path()).unwrap();
        let manifest = session.processes()[0].manifest.as_ref().unwrap();
        assert!(manifest.limits.iter().any(|it| it.to_string().contains("uses the GS base")), "{:?}", manifest.limits);
        assert!(manifest.unhooked_ns.is_some());
    }
}

/// Programs with windows have hundreds. What a handler looks at is its program's own code in all of them.
#[test]
fn handlers_see_the_programs_code_whichever_of_many_libraries_it_is_in() {
    let program = Program::new("many_libraries.c");
    let library = program.clone().flags(&["-DLIBRARY", "-shared", "-fPIC"]).build();
    let folder = tempfile::tempdir().unwrap();
    let mut tracing = Tracing::new(&program);
    for number in 0..120 {
        let copy = folder.path().join(format!("{number}.so"));
        std::fs::copy(&library, &copy).unwrap();
        tracing = tracing.argument(copy);
    }
    let traced = tracing.check_output();
    assert_eq!(text(&traced.output.stdout), "3000 samples, 0 wrong\n");
}

#[test]
fn forks_that_load_the_same_library_at_the_same_address_each_have_it_hooked() {
    let traced = Tracing::new(&Program::new("prefork_dlopen.c")).argument(plugin()).argument("plugin_work").check();
    let recorded = &traced.recorded;
    assert_eq!(recorded.processes.len(), 5);
    let mut loaded: Vec<u64> = recorded.processes.iter().map(|process| counts(process, "plugin_work").calls).collect();
    loaded.sort_unstable();
    assert_eq!(loaded, [0, 10, 10, 10, 20]);
    for process in &recorded.processes {
        let calls = counts(process, "plugin_work").calls;
        assert_eq!(counts(process, "plugin_work"), balanced(calls));
        // Twice in each call, and once at the beginning and end of each loading.
        assert_eq!(counts(process, "plugin_leaf"), balanced(2 * calls + calls / 5));
    }
}

#[test]
fn the_constructors_of_libraries_that_come_with_the_program_are_traced() {
    let plugin = plugin();
    let (folder, file): (&Path, &str) = (plugin.parent().unwrap(), "plugin");
    let link = format!("-L{}", folder.display());
    let find = format!("-Wl,-rpath,{}", folder.display());
    let program = Program::new("linked.c").flags(&[&link, &find, &format!("-l:{file}")]);
    let traced = Tracing::new(&program).check();
    let process = traced.recorded.process();
    for (name, calls) in [("plugin_begins", 1), ("plugin_ends", 1), ("plugin_work", 1), ("plugin_leaf", 4)] {
        assert_eq!(counts(process, name), balanced(calls), "{name}");
    }
    traced.recorded.assert_balanced("own_constructor", 1);
}

#[test]
fn libc_is_traced_and_nearly_all_of_it_hooked() {
    check_share("libc.so.6");
}

/// Calls are recorded, and not more than one function in fifty is left alone.
fn check_share(library: &str) {
    let traced = Tracing::new(&Program::new("dlopen.c")).argument(plugin()).check();
    let process = traced.recorded.process();
    let module = process.modules.iter().find(|module| module.path.ends_with(library)).unwrap();
    let calls = process.counts_of(|of, _| of.id == module.id).calls;
    assert!(calls > 50, "{calls} calls in {library}");
    let functions = module.functions.iter().filter(|row| row.reason != "cold_part");
    let (found, left) = (functions.clone().count(), functions.filter(|row| row.verdict == "skipped").count());
    assert!(left * 50 <= found, "{left} of {found} functions of {library} are not hooked");
}

#[test]
fn the_loader_is_traced_and_nearly_all_of_it_hooked() {
    check_share("ld-linux-x86-64.so.2");
}

#[test]
fn a_library_that_is_loaded_again_is_one_module() {
    let traced = Tracing::new(&Program::new("dlopen.c")).argument(plugin()).check();
    let modules: Vec<&str> = traced.recorded.process().modules.iter().map(|module| module.path.as_str()).collect();
    let plugins = modules.iter().filter(|path| path.ends_with("/plugin")).count();
    assert_eq!(plugins, 1, "{modules:?}");
}

#[test]
fn a_program_that_the_loader_is_asked_to_run_is_traced() {
    let program = Program::new("recursion.c").build();
    let traced = Tracing::of(Path::new("/lib64/ld-linux-x86-64.so.2")).argument(&program).check();
    let process = traced.recorded.process();
    let own = |name: &str| process.counts_of(|module, row| Path::new(&module.path) == program && row.name == name);
    assert_eq!((own("main"), own("fib")), (balanced(1), balanced(1973)));
}

/// Resolvers run while the loader binds a program, before it can be hooked. Those that run at first use are hooked.
#[test]
fn resolvers_that_run_before_the_hooks_are_reported() {
    for (flag, is_told) in [("-Wl,-z,now", true), ("-Wl,-z,lazy", false)] {
        let traced = Tracing::new(&Program::new("resolver.c").flags(&["-fPIE", "-pie", flag])).check();
        let process = &Session::open(traced.recorded.path()).unwrap();
        let limits = process.processes().iter().filter_map(|it| it.manifest.as_ref()).flat_map(|it| &it.limits);
        let mut limits = limits.filter_map(|limit| limit.as_str());
        assert_eq!(
            limits.any(|limit| limit.contains("IFUNC resolvers") && limit.contains("chosen")),
            is_told,
            "{flag}"
        );
    }
}
