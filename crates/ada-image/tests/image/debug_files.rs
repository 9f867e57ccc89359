//! Symbols that are elsewhere: in a separate file, or compressed in the image.

use ada_image::{DebugImage, FunctionTable, Image, ImageError, Sources, UnwindTable};

use crate::target::{Target, discover, run};

/// Names by address, of all functions.
fn names(table: &FunctionTable) -> Vec<(u64, Vec<String>)> {
    let functions = table.functions().iter().enumerate();
    functions.map(|(index, function)| (function.start.0, table.names(index).map(String::from).collect())).collect()
}

#[test]
fn a_debug_file_gives_a_stripped_program_its_names_back() {
    let whole = Target::build("shapes.c", &["-O2", "-g", "-Wl,--build-id=sha1"]);
    let debug_file = whole.changed_by("objcopy", &["--only-keep-debug"]).bytes();
    let debug = DebugImage::parse(&debug_file).unwrap();
    let stripped = whole.stripped().bytes();
    let image = Image::parse(&stripped).unwrap();
    assert!(debug.build_id().is_some());
    assert_eq!(debug.build_id(), image.build_id());
    let table = FunctionTable::discover(&image, &UnwindTable::parse(&image), &[debug]);
    assert_eq!(names(&table), names(&discover(&whole.bytes())));
    let busy = table.functions()[table.find("busy").unwrap()];
    assert_eq!(busy.sources, Sources::DEBUG_FILE | Sources::UNWIND);
}

/// As Fedora makes it: the symbols alone, compressed, in a section of the stripped program.
fn with_mini_debug_info(whole: &Target, damage: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let symbols = whole.changed_by("objcopy", &["--only-keep-debug"]);
    let mut packed = run("xz", |xz| xz.arg("--stdout").arg(symbols.path()));
    damage(&mut packed);
    let file = symbols.folder().join("packed");
    std::fs::write(&file, packed).unwrap();
    let add = format!(".gnu_debugdata={}", file.display());
    whole.stripped().changed_by("objcopy", &["--add-section", &add]).bytes()
}

#[test]
fn mini_debug_info_gives_the_names_too() {
    let whole = Target::build("shapes.c", &["-O2"]);
    let table = discover(&with_mini_debug_info(&whole, |_| {}));
    assert_eq!(names(&table), names(&discover(&whole.bytes())));
    assert_eq!(table.problem(), None);
    let busy = table.functions()[table.find("busy").unwrap()];
    assert_eq!(busy.sources, Sources::MINI_DEBUG | Sources::UNWIND);
}

#[test]
fn broken_mini_debug_info_is_reported_and_costs_only_itself() {
    let whole = Target::build("shapes.c", &["-O2"]);
    let table = discover(&with_mini_debug_info(&whole, |packed| packed.truncate(packed.len() / 2)));
    assert!(matches!(table.problem(), Some(ImageError::BadMiniDebugInfo { .. })));
    assert_eq!(table.len(), discover(&whole.stripped().bytes()).len());
}
