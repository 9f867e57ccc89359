//! The first 64 bytes: is this an image for this machine at all?

use object::LittleEndian;
use object::elf::{ET_DYN, ET_EXEC, FileHeader64, FileType, SectionHeader64};
use object::pod;
use object::read::elf::{FileHeader, SectionHeader, SectionTable};

use crate::ImageError;

pub(crate) type Header = FileHeader64<LittleEndian>;
pub(crate) type Sections<'d> = SectionTable<'d, Header>;

const MAGIC: &[u8] = b"\x7fELF";
const CLASS_64: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;
const MACHINE_X86_64: u16 = 62;

/// The file header of an x86-64 program or library, with the kind of image it states.
pub(crate) fn read(file: &[u8]) -> Result<(&Header, FileType), ImageError> {
    if !file.starts_with(MAGIC) {
        return Err(ImageError::NotElf);
    }
    // The two bytes come first, so that a cut-off foreign file is still called foreign.
    match file.get(4) {
        Some(&CLASS_64) | None => {}
        Some(&class) => return Err(ImageError::Not64Bit { class }),
    }
    match file.get(5) {
        Some(&LITTLE_ENDIAN) | None => {}
        Some(&encoding) => return Err(ImageError::NotLittleEndian { encoding }),
    }
    let (header, _) = pod::from_bytes::<Header>(file).map_err(|()| ImageError::Malformed {
        part: "file header",
        offset: 0,
        reason: "the file ends before it",
    })?;
    let machine = header.e_machine(LittleEndian).0;
    if machine != MACHINE_X86_64 {
        return Err(ImageError::WrongMachine { machine });
    }
    let file_type = header.e_type(LittleEndian);
    if file_type != ET_EXEC && file_type != ET_DYN {
        return Err(ImageError::NotLoadable { elf_type: file_type.0 });
    }
    Ok((header, file_type))
}

/// The section headers; none where a tool removed them.
pub(crate) fn sections<'d>(header: &Header, file: &'d [u8]) -> Result<Sections<'d>, ImageError> {
    header.sections(LittleEndian, file).map_err(|_| ImageError::Malformed {
        part: "section headers",
        offset: header.e_shoff(LittleEndian),
        reason: "they reach past the end of the file, or are of an unknown size",
    })
}

/// The name of a section; empty if it has none.
pub(crate) fn section_name<'d>(sections: &Sections<'d>, section: &SectionHeader64<LittleEndian>) -> &'d [u8] {
    sections.section_name(LittleEndian, section).unwrap_or_default()
}

/// A section's bytes in the file; empty for one without bytes.
pub(crate) fn section_bytes<'d>(
    section: &SectionHeader64<LittleEndian>,
    file: &'d [u8],
    part: &'static str,
) -> Result<&'d [u8], ImageError> {
    section.data(LittleEndian, file).map_err(|_| ImageError::Malformed {
        part,
        offset: section.sh_offset(LittleEndian),
        reason: "it reaches past the end of the file",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header_bytes(class: u8, encoding: u8, machine: u16, elf_type: u16) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..4].copy_from_slice(MAGIC);
        (bytes[4], bytes[5], bytes[6]) = (class, encoding, 1);
        bytes[16..18].copy_from_slice(&elf_type.to_le_bytes());
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes
    }

    #[test]
    fn what_is_not_for_this_machine_is_refused_by_name() {
        assert_eq!(read(b"#!/bin/sh").err(), Some(ImageError::NotElf));
        assert_eq!(read(b"").err(), Some(ImageError::NotElf));
        assert_eq!(read(&header_bytes(1, 1, 3, 2)).err(), Some(ImageError::Not64Bit { class: 1 }));
        assert_eq!(read(&header_bytes(2, 2, 62, 2)).err(), Some(ImageError::NotLittleEndian { encoding: 2 }));
        assert_eq!(read(&header_bytes(2, 1, 183, 2)).err(), Some(ImageError::WrongMachine { machine: 183 }));
        assert_eq!(read(&header_bytes(2, 1, 62, 4)).err(), Some(ImageError::NotLoadable { elf_type: 4 }));
        assert!(matches!(read(&header_bytes(2, 1, 62, 2)[..63]), Err(ImageError::Malformed { .. })));
        assert!(read(&header_bytes(2, 1, 62, 2)).is_ok());
    }
}
