//! The names of a Swift type, read from its metadata and descriptors, of which any word may be missing or wrong.
//!
//! The layout is part of Swift's stable ABI. Distances in descriptors are 32 bits with a sign, counted from the field itself.

use ada_ring::probe::GOES_ON;

use crate::syscall;

/// Of metadata: its kind is the first word. That of a class is 0, or the address of a class object.
const STRUCT: u64 = 0x200;
const ENUM: u64 = 0x201;
const OPTIONAL: u64 = 0x202;
const EXISTENTIAL: u64 = 0x303;
const LAST_KIND: u64 = 0x7ff;
/// Of an existential type: its flags, and what they have where it is `any Error`.
const FLAGS: u64 = 8;
const SPECIAL: u32 = 0x3f00_0000;
const ANY_ERROR: u32 = 0x0100_0000;
/// Of an error's box: the metadata of its type, and the error.
const ERROR_TYPE: u64 = 0x10;
const ERROR_VALUE: u64 = 0x20;
/// How many boxes there may be around an error.
const BOXES: usize = 4;
/// Where the address of the descriptor is.
const VALUE_DESCRIPTOR: u64 = 0x8;
const CLASS_DESCRIPTOR: u64 = 0x28;

/// Of a descriptor: its kind is in these bits of the first field.
const KIND: u32 = 0x1f;
const MODULE: u32 = 0;
const EXTENSION: u32 = 1;
const ANONYMOUS: u32 = 2;
const TYPES: core::ops::RangeInclusive<u32> = 16..=18;
const PARENT: u64 = 4;
/// A type's or module's name; of an extension, the mangled name of what it extends.
const NAME: u64 = 8;
const FIELDS: u64 = 0x10;
/// Of an enum: how many cases have values beside them, and how many have none.
const PAYLOAD_CASES: u64 = 0x14;
const EMPTY_CASES: u64 = 0x18;

/// How many contexts a type may be declared in.
const CONTEXTS: usize = 8;

/// Fills words as [`ada_ring::probe::Read::swift_type`] says, for the metadata at an address, and a value of the type.
pub(crate) fn take(metadata: u64, value: Option<u64>, words: &mut [u64]) {
    let [address, length, content @ ..] = words else { return };
    // SAFETY: every word is eight bytes of any value.
    let room = unsafe { core::slice::from_raw_parts_mut(content.as_mut_ptr().cast::<u8>(), 8 * content.len()) };
    room.fill(0);
    let mut texts = Texts { room, used: 0, goes_on: false };
    *address = metadata;
    texts.add_type(metadata, value);
    *length = texts.used as u64 | if texts.goes_on { GOES_ON } else { 0 };
}

/// Texts with zeros behind them.
struct Texts<'a> {
    room: &'a mut [u8],
    used: usize,
    goes_on: bool,
}

impl Texts<'_> {
    fn add_type(&mut self, metadata: u64, value: Option<u64>) {
        let (metadata, value) = unboxed(metadata, value);
        let Some(kind) = syscall::read_word(metadata) else { return };
        let distance = match kind {
            STRUCT | ENUM | OPTIONAL => VALUE_DESCRIPTOR,
            0 => CLASS_DESCRIPTOR,
            kind if kind > LAST_KIND => CLASS_DESCRIPTOR,
            _ => return,
        };
        let Some(descriptor) = syscall::read_word(metadata.wrapping_add(distance)) else { return };
        match value.filter(|_| kind == ENUM).and_then(|value| case_name(descriptor, value)) {
            Some(name) => self.add(name),
            None => self.end_text(),
        }
        self.add_contexts(descriptor);
    }

    /// The names of a type and of what it is declared in.
    fn add_contexts(&mut self, descriptor: u64) {
        let mut at = descriptor;
        for _ in 0..CONTEXTS {
            let Some(flags) = read_half(at) else { return };
            match flags & KIND {
                MODULE => {
                    if let Some(name) = target(at.wrapping_add(NAME)) {
                        self.add(name);
                    }
                    return;
                }
                EXTENSION => {
                    if let Some(extended) = extended_type(at) {
                        at = extended;
                        continue;
                    }
                }
                // What is private is in one of these.
                ANONYMOUS => {}
                kind if TYPES.contains(&kind) => {
                    let Some(name) = target(at.wrapping_add(NAME)) else { return };
                    self.add(name);
                }
                _ => return,
            }
            let Some(parent) = target(at.wrapping_add(PARENT)) else { return };
            at = match parent & 1 {
                0 => parent,
                _ => match syscall::read_word(parent & !1) {
                    Some(parent) => parent,
                    None => return,
                },
            };
        }
    }

    /// The text at an address.
    fn add(&mut self, address: u64) {
        let Some(room) = self.room.get_mut(self.used..).filter(|room| !room.is_empty()) else {
            self.goes_on = true;
            return;
        };
        let found = syscall::read_bytes(address, room).min(room.len());
        match room[..found].iter().position(|byte| *byte == 0) {
            Some(end) => {
                room[end..].fill(0);
                self.used += end + 1;
            }
            None => {
                room.fill(0);
                self.used = self.room.len();
                self.goes_on = true;
            }
        }
    }

    /// An empty text.
    fn end_text(&mut self) {
        self.used = (self.used + 1).min(self.room.len());
    }
}

/// The type and the value of an error that is in boxes in a box: a generic function, as that which resumes a continuation, boxes
/// `any Error` once more.
fn unboxed(mut metadata: u64, mut value: Option<u64>) -> (u64, Option<u64>) {
    for _ in 0..BOXES {
        let inner = || {
            let is_any_error = syscall::read_word(metadata)? == EXISTENTIAL
                && read_half(metadata.wrapping_add(FLAGS))? & SPECIAL == ANY_ERROR;
            let inner = syscall::read_word(value.filter(|_| is_any_error)?)?;
            Some((syscall::read_word(inner.wrapping_add(ERROR_TYPE))?, inner.wrapping_add(ERROR_VALUE)))
        };
        let Some((of_inner, inner)) = inner() else { break };
        (metadata, value) = (of_inner, Some(inner));
    }
    (metadata, value)
}

/// The address of the name of the case that a value is, of an enum none of whose cases has values beside it: others have it
/// in spare bits, which only the program's own code knows.
fn case_name(descriptor: u64, value: u64) -> Option<u64> {
    const RECORDS: u64 = 16;
    const RECORD_NAME: u64 = 8;
    let cases = read_half(descriptor.wrapping_add(EMPTY_CASES))?;
    if read_half(descriptor.wrapping_add(PAYLOAD_CASES))? & 0xff_ffff != 0 || cases == 0 {
        return None;
    }
    let mut number = [0; 4];
    // An enum of a single case has no bytes.
    let size = match cases {
        1 => 0,
        2..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        _ => 4,
    };
    if syscall::read_bytes(value, &mut number[..size]) != size {
        return None;
    }
    let number = u32::from_le_bytes(number);
    let fields = target(descriptor.wrapping_add(FIELDS))?;
    let (sizes, count) = (read_half(fields.wrapping_add(8))?, read_half(fields.wrapping_add(12))?);
    if number >= cases || count != cases {
        return None;
    }
    let record = fields.wrapping_add(RECORDS).wrapping_add(u64::from(number) * u64::from(sizes >> 16));
    target(record.wrapping_add(RECORD_NAME))
}

/// What an extension extends, where its mangled name is a reference: a byte, and the distance to a descriptor or to its address.
fn extended_type(extension: u64) -> Option<u64> {
    const DIRECT: u8 = 1;
    const INDIRECT: u8 = 2;
    let name = target(extension.wrapping_add(NAME))?;
    let mut kind = [0];
    if syscall::read_bytes(name, &mut kind) != 1 {
        return None;
    }
    let found = target(name.wrapping_add(1));
    match kind[0] {
        DIRECT => found,
        INDIRECT => syscall::read_word(found?),
        _ => None,
    }
}

/// What the distance at an address leads to; none where it is 0.
fn target(field: u64) -> Option<u64> {
    let distance = read_half(field)? as i32;
    (distance != 0).then(|| field.wrapping_add_signed(distance.into()))
}

fn read_half(address: u64) -> Option<u32> {
    let mut bytes = [0; 4];
    (syscall::read_bytes(address, &mut bytes) == bytes.len()).then(|| u32::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    extern crate std;

    use ada_ring::probe::UNREADABLE;
    use std::boxed::Box;
    use std::vec::Vec;

    use super::*;

    /// An enum of three cases in a module, laid out as Swift does.
    #[repr(C, align(8))]
    struct Laid {
        metadata: [u64; 2],
        descriptor: [i32; 7],
        module: [i32; 3],
        fields: [i32; 13],
        names: [[u8; 8]; 5],
    }

    impl Laid {
        fn new() -> Box<Self> {
            let names = [*b"Failure\0", *b"program\0", *b"first\0\0\0", *b"second\0\0", *b"third\0\0\0"];
            let mut laid =
                Box::new(Self { metadata: [ENUM, 0], descriptor: [0; 7], module: [0; 3], fields: [0; 13], names });
            laid.metadata[1] = &raw const laid.descriptor as u64;
            let distance = |to: u64, field: *const i32| (to - field as u64) as i32;
            let name = |laid: &Self, number: usize| &raw const laid.names[number] as u64;
            laid.descriptor[0] = 18;
            laid.descriptor[1] = distance(&raw const laid.module as u64, &raw const laid.descriptor[1]);
            laid.descriptor[2] = distance(name(&laid, 0), &raw const laid.descriptor[2]);
            laid.descriptor[4] = distance(&raw const laid.fields as u64, &raw const laid.descriptor[4]);
            laid.descriptor[6] = 3;
            laid.module[2] = distance(name(&laid, 1), &raw const laid.module[2]);
            (laid.fields[2], laid.fields[3]) = (12 << 16 | 2, 3);
            for case in 0..3 {
                let at = 4 + 3 * case + 2;
                laid.fields[at] = distance(name(&laid, 2 + case), &raw const laid.fields[at]);
            }
            laid
        }

        fn read(&self, value: u8, words: &mut [u64]) {
            take(&raw const self.metadata as u64, Some(&raw const value as u64), words);
        }
    }

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn an_enum_has_its_case_its_name_and_its_module() {
        let laid = Laid::new();
        let mut words = [UNREADABLE; 8];
        laid.read(1, &mut words);
        assert_eq!((words[0], words[1]), (&raw const laid.metadata as u64, 23));
        assert_eq!(bytes(&words[2..]).split_at(23).0, b"second\0Failure\0program\0");
        // A value that no case has.
        laid.read(3, &mut words);
        assert_eq!((words[1], &bytes(&words[2..])[..17]), (17, &b"\0Failure\0program\0"[..]));
    }

    #[test]
    fn an_error_in_a_box_in_a_box_is_found() {
        let laid = Laid::new();
        let any_error = [EXISTENTIAL, u64::from(ANY_ERROR | 1)];
        let inner = [0, 0, &raw const laid.metadata as u64, 0, 2];
        let outer = &raw const inner as u64;
        let mut words = [UNREADABLE; 8];
        take(&raw const any_error as u64, Some(&raw const outer as u64), &mut words);
        assert_eq!(bytes(&words[2..]).split_at(22).0, b"third\0Failure\0program\0");
        // Another existential, and an error that holds itself.
        let other = [EXISTENTIAL, 1];
        take(&raw const other as u64, Some(&raw const outer as u64), &mut words);
        assert_eq!(words[1], 0);
        let mut endless = [0, 0, &raw const any_error as u64, 0, 0];
        endless[4] = &raw const endless as u64;
        take(&raw const any_error as u64, Some(&raw const endless[4] as u64), &mut words);
        assert_eq!(words[1], 0);
    }

    #[test]
    fn what_has_no_room_is_said_to_go_on() {
        let mut words = [UNREADABLE; 4];
        Laid::new().read(0, &mut words);
        assert_eq!((words[1], bytes(&words[2..])), (16 | GOES_ON, b"first\0Failure\0\0\0".to_vec()));
    }

    #[test]
    fn broken_metadata_has_no_names() {
        let mut laid = Laid::new();
        let mut words = [UNREADABLE; 8];
        // An enum whose cases have values beside them, a descriptor of no type, and metadata of no type.
        laid.descriptor[5] = 1;
        laid.read(0, &mut words);
        assert_eq!(bytes(&words[2..])[0], 0);
        laid.descriptor[0] = 5;
        laid.read(0, &mut words);
        assert_eq!(words[1], 1);
        laid.metadata[0] = 0x303;
        laid.read(0, &mut words);
        assert_eq!(words[1], 0);
        take(16, None, &mut words);
        assert_eq!(words[..2], [16, 0]);
    }
}
