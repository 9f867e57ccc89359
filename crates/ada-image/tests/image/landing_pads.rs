//! Landing pads against the assembler text in which the compiler wrote them down.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ada_image::{Image, UnwindTable};

use crate::target::{Target, run, system_library, without_section_headers};

/// A program of `tests/programs/` at the root of the repository, as assembler text whose labels the linker keeps.
fn assembler_text(source: &str, flags: &[&str]) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs").join(source);
    let text = run("g++", |gcc| gcc.args(["-S", "-o", "-"]).args(flags).arg(source));
    // Labels that begin with a dot and an L are the assembler's own.
    String::from_utf8(text).unwrap().replace(".L", "kept_")
}

/// The pads that the text's call sites name. A call site has four lines: start, length, pad, action.
fn expected_pads(text: &str, labels: &BTreeMap<String, u64>) -> BTreeSet<u64> {
    let mut pads = BTreeSet::new();
    let mut sites: Option<Vec<&str>> = None;
    for line in text.lines() {
        if line.starts_with("kept_LSDACSB") {
            sites = Some(Vec::new());
        } else if line.starts_with("kept_LSDACSE") {
            for site in sites.take().unwrap_or_default().chunks(4) {
                if let Some((label, base)) = site[2].split_once('-') {
                    assert!(labels.contains_key(base), "{base}");
                    pads.insert(labels[label]);
                }
            }
        } else if let (Some(sites), Some(value)) = (&mut sites, line.trim().strip_prefix(".uleb128 ")) {
            sites.push(value);
        }
    }
    pads
}

fn found_pads(bytes: &[u8]) -> BTreeSet<u64> {
    let table = UnwindTable::parse(&Image::parse(bytes).unwrap());
    assert_eq!(table.problem(), None);
    table.landing_pads().iter().map(|pad| pad.0).collect()
}

#[test]
fn every_pad_that_the_compiler_wrote_is_found_and_no_other() {
    for source in ["cold_pad.cpp", "exception.cpp", "rethrow.cpp"] {
        for flags in [&["-O0"][..], &["-O2"], &["-O3", "-fcf-protection=full"], &["-Os"]] {
            let text = assembler_text(source, flags);
            let program = Target::assemble("g++", &text);
            let expected = expected_pads(&text, &program.labels());
            assert!(expected.len() >= 3, "{source} {flags:?}: {expected:x?}");
            assert_eq!(found_pads(&program.bytes()), expected, "{source} {flags:?}");
            let bare = without_section_headers(program.stripped().bytes());
            assert_eq!(found_pads(&bare), expected, "{source} {flags:?} without sections");
        }
    }
}

#[test]
fn every_pad_of_the_system_lies_in_code_with_a_frame() {
    for library in ["libstdc++.so.6", "libc.so.6"] {
        let bytes = system_library(library);
        let image = Image::parse(&bytes).unwrap();
        let unwind = UnwindTable::parse(&image);
        assert_eq!(unwind.problem(), None, "{library}");
        assert!(unwind.landing_pads().len() > 10, "{library}");
        for &pad in unwind.landing_pads() {
            assert!(image.code_range_at(pad).is_some() && unwind.fde_at(pad).is_some(), "{library} {pad}");
        }
    }
}
