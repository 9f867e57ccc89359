//! What the headers say.

use ada_image::{Image, ImageError, ImageKind};

use crate::target::{Target, run, system_library, without_section_headers};

#[test]
fn the_kinds_of_programs_are_distinguished() {
    for (flags, kind, is_static) in [
        (&["-no-pie"][..], ImageKind::Executable, false),
        (&["-pie"], ImageKind::PositionIndependent, false),
        (&["-static"], ImageKind::Executable, true),
        (&["-static-pie"], ImageKind::PositionIndependent, true),
    ] {
        let bytes = Target::build("shapes.c", flags).bytes();
        let image = Image::parse(&bytes).unwrap();
        assert_eq!((image.kind(), image.is_static()), (kind, is_static), "{flags:?}");
        assert_eq!(image.interpreter().is_none(), is_static);
        assert_eq!(Some(image.entry()), image.symbol("_start"));
        assert!(image.code_range_at(image.entry()).is_some());
        assert!(!image.uses_go());
        assert_eq!(image.problem(), None);
    }
}

#[test]
fn an_interpreter_is_a_path_without_its_end_mark() {
    let bytes = Target::build("shapes.c", &[]).bytes();
    assert_eq!(Image::parse(&bytes).unwrap().interpreter(), Some(&b"/lib64/ld-linux-x86-64.so.2"[..]));
}

#[test]
fn the_build_id_is_there_with_and_without_sections() {
    let id = "0123456789abcdef";
    let bytes = Target::build("shapes.c", &["-Wl,--build-id=0x0123456789abcdef"]).bytes();
    let bare = without_section_headers(bytes.clone());
    for bytes in [bytes, bare] {
        let image = Image::parse(&bytes).unwrap();
        let hex: String = image.build_id().unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, id);
    }
    let without = Target::build("shapes.c", &["-Wl,--build-id=none"]).bytes();
    assert_eq!(Image::parse(&without).unwrap().build_id(), None);
}

#[test]
fn the_loader_shows_where_it_announces_libraries_to_debuggers() {
    let bytes = system_library("ld-linux-x86-64.so.2");
    let image = Image::parse(&bytes).unwrap();
    for symbol in ["_dl_debug_state", "_r_debug"] {
        assert!(image.dynamic_symbol(symbol).is_some(), "{symbol}");
    }
    assert_eq!(image.dynamic_symbol("no_such_symbol"), None);
}

#[test]
fn code_is_executable_sorted_and_without_jump_stubs() {
    let target = Target::build("shapes.c", &["-O2"]);
    let bytes = target.bytes();
    let image = Image::parse(&bytes).unwrap();
    let ranges = image.code_ranges();
    assert!(ranges.windows(2).all(|pair| pair[0].end() <= pair[1].start));
    for range in ranges {
        let segment =
            image.load_segments().iter().find(|segment| segment.start <= range.start && range.end() <= segment.end());
        assert!(segment.unwrap().executable);
    }
    let sections = String::from_utf8(run("objdump", |tool| tool.arg("-hw").arg(target.path()))).unwrap();
    let stubs = sections.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let stubs: Vec<_> = stubs.filter(|fields| fields.get(1).is_some_and(|name| name.starts_with(".plt"))).collect();
    assert!(!stubs.is_empty());
    for fields in stubs {
        let address = ada_event::ImageOffset(u64::from_str_radix(fields[3], 16).unwrap());
        assert_eq!(image.code_range_at(address), None, "{fields:?}");
    }
}

#[test]
fn control_flow_protection_is_noted() {
    let protection = |flags: &[&str]| {
        let bytes = Target::build("handwritten.s", flags).bytes();
        let features = Image::parse(&bytes).unwrap().control_flow_protection();
        (features.indirect_branch_tracking, features.shadow_stack)
    };
    assert_eq!(protection(&["-Wl,-z,ibt"]), (true, false));
    assert_eq!(protection(&["-Wl,-z,ibt,-z,shstk"]), (true, true));
    assert_eq!(protection(&[]), (false, false));
}

#[test]
fn a_go_program_is_known_by_its_sections() {
    let whole = Target::build("shapes.c", &[]);
    let data = whole.folder().join("buildinfo");
    std::fs::write(&data, b"go").unwrap();
    let add = format!(".go.buildinfo={}", data.display());
    let bytes = whole.changed_by("objcopy", &["--add-section", &add]).bytes();
    assert!(Image::parse(&bytes).unwrap().uses_go());
}

#[test]
fn what_no_loader_takes_is_refused() {
    let object = Target::build("shapes.c", &["-c"]).bytes();
    assert_eq!(Image::parse(&object).err(), Some(ImageError::NotLoadable { elf_type: 1 }));
    let mut foreign = Target::build("shapes.c", &[]).bytes();
    foreign[18] = 183;
    assert_eq!(Image::parse(&foreign).err(), Some(ImageError::WrongMachine { machine: 183 }));
    assert_eq!(Image::parse(b"#!/bin/sh\n").err(), Some(ImageError::NotElf));
}
