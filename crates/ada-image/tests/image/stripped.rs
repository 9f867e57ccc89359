//! A stripped program has the functions of its unstripped twin.

use std::collections::BTreeMap;

use ada_image::Sources;

use crate::target::{Target, discover, without_section_headers};

/// What a stripped program cannot show, with the reason.
const INVISIBLE: [(&str, &str); 14] = [
    ("_start", "its unwind entry says that it has no return address"),
    ("_init", "no unwind entry"),
    ("_fini", "no unwind entry"),
    ("deregister_tm_clones", "crtstuff.c is built without unwind tables"),
    ("register_tm_clones", "crtstuff.c is built without unwind tables"),
    ("__do_global_dtors_aux", "crtstuff.c is built without unwind tables"),
    ("frame_dummy", "crtstuff.c is built without unwind tables"),
    ("__restore_rt", "the kernel returns to it"),
    ("_dl_runtime_profile_sse", "jumped to by a jump stub that has pushed its arguments"),
    ("_dl_runtime_profile_avx", "jumped to by a jump stub that has pushed its arguments"),
    ("_dl_runtime_profile_avx512", "jumped to by a jump stub that has pushed its arguments"),
    ("_dl_runtime_resolve_fxsave", "jumped to by a jump stub that has pushed its arguments"),
    ("_dl_runtime_resolve_xsave", "jumped to by a jump stub that has pushed its arguments"),
    ("_dl_runtime_resolve_xsavec", "jumped to by a jump stub that has pushed its arguments"),
];

/// The functions of `nm`, without what a stripped program cannot show and without cold parts.
fn visible(symbols: BTreeMap<u64, Vec<String>>) -> BTreeMap<u64, Vec<String>> {
    let invisible = |name: &String| name.ends_with(".cold") || INVISIBLE.iter().any(|(known, _)| known == name);
    symbols.into_iter().filter(|(_, names)| !names.iter().any(invisible)).collect()
}

/// The addresses that only one side has.
fn difference(found: &ada_image::FunctionTable, expected: &BTreeMap<u64, Vec<String>>) -> Vec<String> {
    let missing = expected
        .iter()
        .filter(|(address, _)| found.index_at(ada_event::ImageOffset(**address)).is_none())
        .map(|(address, names)| format!("missing {address:#x} {names:?}"));
    let extra = found.functions().iter().enumerate();
    let extra = extra.filter(|(_, function)| !expected.contains_key(&function.start.0));
    let extra = extra.map(|(index, function)| format!("extra {} {:?}", function.start, found.name(index)));
    missing.chain(extra).collect()
}

#[test]
fn every_function_of_a_stripped_program_is_found_and_nothing_else() {
    for flags in [
        &["-O0"][..],
        &["-O2"],
        &["-O2", "-no-pie", "-fno-plt"],
        &["-O3", "-flto", "-fcf-protection=full"],
        &["-O2", "-fuse-ld=bfd", "-Wl,-z,separate-code", "-Wl,-z,now"],
        &["-O2", "-fomit-frame-pointer", "-fno-pic", "-no-pie", "-Wl,-z,noseparate-code"],
    ] {
        let whole = Target::build("shapes.c", flags);
        let table = discover(&whole.stripped().bytes());
        assert_eq!(difference(&table, &visible(whole.nm())), [""; 0], "{flags:?}");
        assert!(table.functions().iter().all(|function| function.sources == Sources::UNWIND), "{flags:?}");
    }
}

#[test]
fn every_symbol_of_a_whole_program_is_found_under_each_of_its_names() {
    for flags in [&["-O2"][..], &["-O2", "-static"], &["-O2", "-fno-asynchronous-unwind-tables"]] {
        let whole = Target::build("shapes.c", flags);
        let table = discover(&whole.bytes());
        for (address, names) in whole.nm() {
            let index = table.index_at(ada_event::ImageOffset(address));
            let index = index.unwrap_or_else(|| panic!("{flags:?}: {names:?} is missing"));
            for name in names {
                let name = name.split('@').next().unwrap();
                assert!(table.has_name(index, name), "{flags:?}: {name} is not at {address:#x}");
            }
        }
    }
}

/// A cold part whose parent had not touched the stack yet looks like a function; only code that jumps to it, and
/// never calls it, shows what it is.
#[test]
fn a_static_program_shows_all_of_libc_and_nothing_else_but_cold_parts() {
    for flags in [&["-O2", "-static"][..], &["-O2", "-static-pie"]] {
        let whole = Target::build("shapes.c", flags);
        let symbols = whole.nm();
        let mut difference = difference(&discover(&whole.stripped().bytes()), &visible(symbols.clone()));
        let all_found = difference.len();
        let cold = symbols.iter().filter(|(_, names)| names.iter().all(|name| name.ends_with(".cold")));
        for (address, _) in cold {
            difference.retain(|line| *line != format!("extra +{address:#x} None"));
        }
        assert_eq!(difference, [""; 0], "{flags:?}");
        assert!(symbols.len() > 1000 && all_found < 10, "{flags:?}: {all_found} of {}", symbols.len());
    }
}

#[test]
fn a_program_without_section_headers_has_the_same_functions() {
    for flags in [&["-O2"][..], &["-O2", "-no-pie"], &["-O2", "-fcf-protection=full", "-Wl,-z,ibtplt"]] {
        let stripped = Target::build("shapes.c", flags).stripped().bytes();
        let bare = discover(&without_section_headers(stripped.clone()));
        let starts = |table: &ada_image::FunctionTable| {
            table.functions().iter().map(|function| function.start).collect::<Vec<_>>()
        };
        assert_eq!(starts(&bare), starts(&discover(&stripped)), "{flags:?}");
        assert!(bare.len() > 5);
    }
}

#[test]
fn a_library_without_section_headers_keeps_its_dynamic_symbols() {
    let flags = ["-O2", "-shared", "-fPIC", "-Wl,--hash-style=gnu"];
    for flags in [&flags[..], &["-O2", "-shared", "-fPIC", "-Wl,--hash-style=sysv"]] {
        let bytes = Target::build("shapes.c", flags).stripped().bytes();
        let bare = discover(&without_section_headers(bytes.clone()));
        assert_eq!(bare.hash(), discover(&bytes).hash(), "{flags:?}");
        assert!(bare.find("busy").is_some());
    }
}

#[test]
fn without_unwind_tables_a_stripped_program_shows_what_it_exports() {
    let flags = ["-O2", "-fno-asynchronous-unwind-tables", "-Wl,--export-dynamic-symbol=busy"];
    let table = discover(&Target::build("shapes.c", &flags).stripped().bytes());
    assert!(table.find("busy").is_some());
    assert_eq!(table.find("splits"), None);
}
