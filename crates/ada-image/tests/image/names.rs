//! Names: aliases, resolvers, cold parts, labels.

use ada_image::{Sources, demangle};

use crate::target::{Target, discover, system_library};

#[test]
fn aliases_are_one_function_under_its_plainest_name() {
    let table = discover(&Target::build("shapes.c", &["-O2"]).bytes());
    let busy = table.find("busy").unwrap();
    assert_eq!(table.names(busy).collect::<Vec<_>>(), ["busy", "alias_of_busy", "__busy_internal"]);
    assert_eq!(table.find("alias_of_busy"), Some(busy));
    assert_eq!(table.functions()[busy].sources, Sources::SYMTAB | Sources::UNWIND);
    assert!(table.functions()[busy].size > 0);
}

#[test]
fn a_resolver_is_distinguished_from_what_it_resolves() {
    let table = discover(&Target::build("shapes.c", &["-O2"]).bytes());
    let resolver = table.find("picked").unwrap();
    assert!(table.functions()[resolver].is_resolver());
    assert_eq!(table.find("resolve_picked"), Some(resolver));
    assert!(!table.functions()[table.find("picked_here").unwrap()].is_resolver());
}

#[test]
fn what_resolvers_choose_from_is_known_by_what_it_implements() {
    let whole = Target::build("shapes.c", &["-O2", "-rdynamic"]);
    let named = discover(&whole.bytes());
    let here = named.functions()[named.find("picked_here").unwrap()].start;
    assert!(named.find("picked[ifunc]").is_none(), "it has a name");
    let stripped = discover(&whole.stripped().bytes());
    let index = stripped.index_at(here).unwrap();
    assert_eq!(stripped.names(index).collect::<Vec<_>>(), ["picked[ifunc]"]);
    assert!(
        !stripped.functions()[index].is_resolver()
            && stripped.functions()[stripped.find("picked").unwrap()].is_resolver()
    );
    // The C library of a machine without its debug files.
    let libc = discover(&system_library("libc.so.6"));
    for name in ["strlen[ifunc]", "memcpy[ifunc]", "strcmp[ifunc]", "memset[ifunc]"] {
        let count = (0..libc.len()).filter(|index| libc.has_name(*index, name)).count();
        assert!(count > 2, "{name}: {count} implementations");
    }
}

#[test]
fn a_cold_part_stays_in_the_table_with_a_mark() {
    let whole = Target::build("shapes.c", &["-O2"]);
    let table = discover(&whole.bytes());
    let cold = table.find("splits.cold").expect("gcc splits the function");
    assert!(table.functions()[cold].is_cold_part());
    assert!(!table.functions()[table.find("splits").unwrap()].is_cold_part());
    assert_eq!(demangle(table.name(cold).unwrap()), "splits.cold");
}

#[test]
fn a_label_is_a_function_only_with_an_unwind_entry_that_begins_one() {
    let table = discover(&Target::build("handwritten.s", &[]).bytes());
    let labelled = table.find("labelled").unwrap();
    assert_eq!(table.functions()[labelled].sources, Sources::SYMTAB | Sources::UNWIND);
    assert_eq!(table.functions()[labelled].size, 5);
    assert!(table.find("main").is_some());
    for other in ["unmarked", "middle", "after_signal"] {
        assert_eq!(table.find(other), None, "{other}");
    }
}

#[test]
fn unwinders_are_found_under_the_names_that_the_tracer_knows() {
    let table = discover(&system_library("libgcc_s.so.1"));
    for name in ["_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_ForcedUnwind", "_Unwind_Backtrace"] {
        assert!(table.find(name).is_some(), "{name}");
    }
}

#[test]
fn libc_functions_have_the_names_of_its_manual() {
    let table = discover(&system_library("libc.so.6"));
    for name in ["malloc", "write", "puts", "pthread_create", "read", "vfork"] {
        let index = table.find(name).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(table.name(index), Some(name));
    }
    assert!(table.has_name(table.find("write").unwrap(), "__write"));
}
