//! What the linker notes about an image: its build id, the marks of Go and Swift, and control-flow protection.

use ada_event::ImageOffset;
use object::LittleEndian;
use object::elf::{FileHeader64, NT_GNU_BUILD_ID, NT_GNU_PROPERTY_TYPE_0, NoteType};
use object::read::elf::NoteIterator;

const GNU_PROPERTY_X86_FEATURE_1_AND: u32 = 0xc000_0002;
const FEATURE_IBT: u32 = 1;
const FEATURE_SHSTK: u32 = 2;

/// Which of Intel's control-flow checks the image was linked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlFlowProtection {
    /// Each indirect branch lands on an `endbr64`.
    pub indirect_branch_tracking: bool,
    /// Each `ret` returns to where its `call` was.
    pub shadow_stack: bool,
}

/// Where the sections of Go's linker lie, as far as there are sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GoSections {
    pub(crate) table: Option<ImageOffset>,
    pub(crate) build_info: Option<ImageOffset>,
}

/// The kind of the note that has Go's id of a program.
const GO_BUILD_ID: NoteType = NoteType(4);

/// What the notes of one image say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Notes<'d> {
    build_id: Option<&'d [u8]>,
    /// What Go calls so.
    go_build_id: Option<&'d [u8]>,
    pub(crate) go: bool,
    pub(crate) swift: bool,
    pub(crate) protection: ControlFlowProtection,
}

impl<'d> Notes<'d> {
    /// Adds what `bytes`, a note segment or section, has. A broken note ends the reading of these bytes.
    pub(crate) fn read(&mut self, bytes: &'d [u8], alignment: u64) {
        let Ok(mut notes) = NoteIterator::<FileHeader64<LittleEndian>>::new(LittleEndian, alignment, bytes) else {
            return;
        };
        while let Ok(Some(note)) = notes.next() {
            match (note.name(), note.n_type(LittleEndian)) {
                (b"GNU", NT_GNU_BUILD_ID) if self.build_id.is_none() && !note.desc().is_empty() => {
                    self.build_id = Some(note.desc());
                }
                (b"GNU", NT_GNU_PROPERTY_TYPE_0) => self.read_properties(&note),
                (b"Go", kind) => {
                    self.go = true;
                    let is_id = kind == GO_BUILD_ID && !note.desc().is_empty();
                    self.go_build_id = self.go_build_id.or(is_id.then_some(note.desc()));
                }
                _ => {}
            }
        }
    }

    /// The linker's id of the image; without one, that of Go, which has the same purpose.
    pub(crate) fn build_id(&self) -> Option<&'d [u8]> {
        self.build_id.or(self.go_build_id)
    }

    /// Whether the first kind is known, so that nothing can be better.
    pub(crate) fn has_linkers_id(&self) -> bool {
        self.build_id.is_some()
    }

    fn read_properties(&mut self, note: &object::read::elf::Note<'d, FileHeader64<LittleEndian>>) {
        let Some(mut properties) = note.gnu_properties(LittleEndian) else { return };
        while let Ok(Some(property)) = properties.next() {
            if property.pr_type().0 == GNU_PROPERTY_X86_FEATURE_1_AND
                && let Ok(features) = property.data_u32(LittleEndian)
            {
                self.protection = ControlFlowProtection {
                    indirect_branch_tracking: features & FEATURE_IBT != 0,
                    shadow_stack: features & FEATURE_SHSTK != 0,
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(name: &[u8], kind: u32, desc: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [name.len() as u32, desc.len() as u32, kind] {
            bytes.extend(word.to_le_bytes());
        }
        for part in [name, desc] {
            bytes.extend(part);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    #[test]
    fn each_note_is_understood() {
        let property = [0xc000_0002_u32, 4, 3, 0].map(u32::to_le_bytes).concat();
        let bytes = [note(b"Go\0", 4, b"abc"), note(b"GNU\0", 3, &[1, 2, 3, 4]), note(b"GNU\0", 5, &property)].concat();
        let mut notes = Notes::default();
        notes.read(&bytes, 4);
        assert_eq!(notes.build_id(), Some(&[1, 2, 3, 4][..]));
        assert!(notes.go);
        assert_eq!(notes.protection, ControlFlowProtection { indirect_branch_tracking: true, shadow_stack: true });
    }

    #[test]
    fn a_note_that_promises_more_than_there_is_says_nothing() {
        let mut notes = Notes::default();
        let mut bytes = note(b"GNU\0", 3, &[1, 2, 3, 4]);
        bytes[4] = 0xff;
        notes.read(&bytes, 4);
        assert_eq!(notes.build_id(), None);
        let of_go = note(b"Go\0", 4, b"abc");
        notes.read(&of_go, 4);
        assert_eq!(notes.build_id(), Some(&b"abc"[..]), "Go's own is better than nothing");
    }
}
