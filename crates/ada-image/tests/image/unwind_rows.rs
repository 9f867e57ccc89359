//! The rows against gimli's own evaluation of the same bytes.

use ada_image::{Cfa, Image, Row, UnwindTable};
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, LittleEndian, RegisterRule, UnwindContext, UnwindSection, X86_64,
};
use object::read::elf::{FileHeader, SectionHeader};

use crate::target::{Target, system_library, without_section_headers};

/// Each row that gimli sees, as ada states it.
fn rows_by_gimli(file: &[u8]) -> Vec<Row> {
    let endian = object::LittleEndian;
    let header = object::elf::FileHeader64::<object::LittleEndian>::parse(file).unwrap();
    let (_, section) = header.sections(endian, file).unwrap().section_by_name(endian, b".eh_frame").unwrap();
    let eh_frame = EhFrame::new(section.data(endian, file).unwrap(), LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(section.sh_addr(endian));
    let mut context = UnwindContext::new();
    let mut rows = Vec::new();
    let mut entries = eh_frame.entries(&bases);
    while let Some(entry) = entries.next().unwrap() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let fde = partial.parse(EhFrame::cie_from_offset).unwrap();
        let mut table = fde.rows(&eh_frame, &bases, &mut context).unwrap();
        while let Some(row) = table.next_row().unwrap() {
            let cfa = match *row.cfa() {
                CfaRule::RegisterAndOffset { register: X86_64::RSP, offset } => Cfa::Rsp(offset as i32),
                CfaRule::RegisterAndOffset { register: X86_64::RBP, offset } => Cfa::Rbp(offset as i32),
                _ => Cfa::Other,
            };
            let registers: Vec<_> = row.registers().collect();
            rows.push(Row {
                start: ada_event::ImageOffset(row.start_address()),
                end: ada_event::ImageOffset(row.end_address()),
                cfa,
                saves_registers: registers.iter().any(|(register, _)| *register != X86_64::RA),
                return_address_at_cfa_minus_8: *row.register(X86_64::RA).as_ref().unwrap() == RegisterRule::Offset(-8),
            });
        }
    }
    rows
}

fn assert_same_rows(file: &[u8]) {
    let unwind = UnwindTable::parse(&Image::parse(file).unwrap());
    assert_eq!(unwind.problem(), None);
    let expected = rows_by_gimli(file);
    assert!(expected.len() > 5);
    for row in expected.iter().filter(|row| row.start < row.end) {
        let found = unwind.row_at(row.start).unwrap_or_else(|| panic!("no row at {}", row.start));
        assert!(found.start <= row.start && row.end <= found.end, "{found:?} is not around {row:?}");
        assert_eq!(Row { start: found.start, end: found.end, ..*row }, *found);
    }
}

#[test]
fn rows_of_small_programs_are_those_of_gimli() {
    for flags in [&["-O0"][..], &["-O2"], &["-O2", "-static"], &["-Os", "-fcf-protection=full"]] {
        assert_same_rows(&Target::build("shapes.c", flags).bytes());
    }
    assert_same_rows(&Target::build("handwritten.s", &[]).bytes());
}

#[test]
fn rows_of_the_systems_libraries_are_those_of_gimli() {
    for library in ["libc.so.6", "ld-linux-x86-64.so.2", "libgcc_s.so.1", "libm.so.6"] {
        assert_same_rows(&system_library(library));
    }
}

#[test]
fn rows_cover_each_piece_without_a_gap() {
    let bytes = system_library("libc.so.6");
    let unwind = UnwindTable::parse(&Image::parse(&bytes).unwrap());
    assert!(unwind.fdes().windows(2).all(|pair| pair[0].start <= pair[1].start));
    for fde in unwind.fdes() {
        let rows = unwind.rows(fde);
        assert_eq!((rows.first().unwrap().start, rows.last().unwrap().end), (fde.start, fde.end));
        assert!(rows.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(unwind.row_at(fde.start), rows.first());
    }
}

#[test]
fn the_header_for_unwinders_leads_to_the_same_rows() {
    let bytes = Target::build("shapes.c", &["-O2"]).bytes();
    let bare = without_section_headers(bytes.clone());
    let (whole, bare) = (Image::parse(&bytes).unwrap(), Image::parse(&bare).unwrap());
    let (whole, bare) = (UnwindTable::parse(&whole), UnwindTable::parse(&bare));
    assert_eq!(whole.fdes(), bare.fdes());
    assert!(whole.fdes().iter().all(|fde| whole.rows(fde) == bare.rows(fde)));
}
