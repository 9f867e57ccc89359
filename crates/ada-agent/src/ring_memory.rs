//! Where a ring of the kernel's (`io_uring`) lies, and how it is read.
//!
//! liburing's functions are given a structure that says where. Who makes the system calls by their numbers says only which descriptor
//! it is: the agent maps that one's rings itself, for as long as it reads them. No such mapping may last: it would keep a ring
//! alive that the program has closed, with all that it still has to do.

use ada_ring::state::RING_SETUP;
use core::ops::Range;

use crate::arch::number::{FSTAT, MMAP, MUNMAP};
use crate::syscall;

/// Of the flags that a ring is set up with: a thread of the kernel's looks for what it is to do, and no call says when.
pub(crate) const BY_KERNEL_THREAD: u32 = 1 << 1;
const LONG_ENTRIES: u32 = 1 << 10;
const LONG_COMPLETIONS: u32 = 1 << 11;
const MEMORY_OF_PROGRAM: u32 = 1 << 14;
const NO_ARRAY: u32 = 1 << 16;
/// From this one on nobody knows what they mean for the layout.
const UNKNOWN: u32 = !((1 << 18) - 1);

/// Words of liburing's structure that are read.
const LIBRARY_WORDS: usize = 25;
/// Words of an entry that are kept, …
pub(crate) const ENTRY_WORDS: usize = 3;
/// … and of a completion.
pub(crate) const COMPLETION_WORDS: usize = 2;

/// A ring, as it was when it was looked at.
#[derive(Debug)]
pub(crate) struct RingMemory {
    pub(crate) descriptor: u32,
    /// What it was set up with.
    pub(crate) flags: u32,
    /// What the program asks for and the kernel has not taken yet, by positions that count up.
    pub(crate) asked: [u32; 2],
    /// What is done and the program has not taken yet.
    pub(crate) done: [u32; 2],
    asked_mask: u32,
    done_mask: u32,
    /// Where the numbers of entries are, unless entries lie in the order of their positions.
    array: Option<u64>,
    entries: u64,
    completions: u64,
    /// What is mapped for this look: the rings, and the entries.
    mapped: [Mapping; 2],
}

/// A mapping of the agent's own, which ends with this.
#[derive(Debug, Default)]
struct Mapping(Range<u64>);

impl Drop for Mapping {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            // SAFETY: it is ours, and nobody else knows where it is.
            unsafe { syscall::call(MUNMAP, [self.0.start, self.0.end - self.0.start, 0, 0, 0, 0]) };
        }
    }
}

impl Mapping {
    /// A part of a ring, to be read.
    fn of(descriptor: u32, offset: u64, length: u64) -> Option<Self> {
        const READ: u64 = 1;
        const SHARED: u64 = 1;
        // SAFETY: a new mapping wherever there is room.
        let start = unsafe { syscall::call(MMAP, [0, length, READ, SHARED, descriptor.into(), offset]) };
        let mapping = (start > 0).then(|| Self(start as u64..start as u64 + length))?;
        // The program may have closed it, and have another file by this number: behind its end there is nothing to read.
        is_no_file(descriptor).then_some(mapping)
    }

    fn word(&self, offset: u64) -> u32 {
        // SAFETY: callers ask for words of the mapping; the kernel changes them at any time.
        unsafe { ((self.0.start + offset) as *const u32).read_volatile() }
    }
}

/// Whether a descriptor is of something that has no type among files, as a ring.
fn is_no_file(descriptor: u32) -> bool {
    const WORDS: usize = 18;
    const MODE: usize = 3;
    const TYPE: u64 = 0o170_000;
    let mut status = [0_u64; WORDS];
    // SAFETY: the kernel fills it in, and it has room for that.
    let asked = unsafe { syscall::call(FSTAT, [descriptor.into(), status.as_mut_ptr() as u64, 0, 0, 0, 0]) };
    asked == 0 && status[MODE] & TYPE == 0
}

/// Where the entries are, as an offset of the descriptor.
const ENTRIES: u64 = 0x1000_0000;

/// How the kernel has set up a ring, in a few words: the flags, with the binary logarithms of how many entries and completions there are above
/// them; where heads, tails and masks are, and the completions, in 16 bits each; and where the numbers of entries are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setup([u64; RING_SETUP]);

/// The places in a setup, by their numbers.
#[derive(Clone, Copy)]
enum Place {
    AskedHead,
    AskedTail,
    AskedMask,
    DoneHead,
    DoneTail,
    DoneMask,
    Completions,
}

impl Setup {
    const IS_KNOWN: u64 = 1 << 63;
    /// Where the kernel leaves each place in the structure that it fills in, in bytes.
    const PLACES: [usize; 7] = [40, 44, 48, 80, 84, 88, 100];

    pub(crate) const fn from_words(words: [u64; RING_SETUP]) -> Option<Self> {
        if words[0] & Self::IS_KNOWN != 0 { Some(Self(words)) } else { None }
    }

    pub(crate) const fn words(self) -> [u64; RING_SETUP] {
        self.0
    }

    pub(crate) const fn flags(self) -> u32 {
        self.0[0] as u32
    }

    /// By the structure that the kernel has filled in; none where the rings cannot be mapped in one piece.
    pub(crate) fn of(parameters: u64) -> Option<Self> {
        const WORDS: usize = 15;
        const FEATURES: usize = 20;
        const ARRAY: usize = 64;
        let mut words = [0_u64; WORDS];
        if !syscall::read_words(parameters, &mut words) {
            return None;
        }
        let at = |offset: usize| (words[offset / 8] >> (offset % 8 * 8)) as u32;
        // One mapping has both rings.
        let has_one = at(FEATURES) & 1 != 0;
        let places = Self::PLACES.map(|place| at(place).into());
        let setup = Self::new([at(0), at(4)], at(8), places, at(ARRAY).into());
        setup.filter(|_| has_one)
    }

    /// By liburing's structure, whose entries lie in the order of their positions.
    fn of_library(words: &[u64; LIBRARY_WORDS]) -> Option<Self> {
        let start = words[10];
        let pointers = [words[0], words[1], words[2], words[13], words[14], words[15], words[19]];
        let places = pointers.map(|pointer| pointer.wrapping_sub(start));
        let counts = [words[11], words[22]].map(|mask_and_count| halves(mask_and_count)[1]);
        let setup = Self::new(counts, halves(words[24])[0] | NO_ARRAY, places, 0);
        setup.filter(|_| words[21] == start)
    }

    /// None where it makes no sense, or cannot be mapped.
    fn new([asked, done]: [u32; 2], flags: u32, places: [u64; 7], array: u64) -> Option<Self> {
        let is_sane = asked.is_power_of_two() && done.is_power_of_two() && asked <= 1 << 15 && done <= 1 << 16;
        let are_there = places.iter().all(|place| *place < 1 << 16 && place.is_multiple_of(4));
        let is_aligned = places[Place::Completions as usize].is_multiple_of(8) && array.is_multiple_of(4);
        if !is_sane || !are_there || !is_aligned || flags & (UNKNOWN | MEMORY_OF_PROGRAM) != 0 {
            return None;
        }
        let counts = u64::from(asked.trailing_zeros()) << 32 | u64::from(done.trailing_zeros()) << 40;
        let mut setup = [Self::IS_KNOWN | u64::from(flags) | counts, 0, 0, array];
        for (number, place) in places.into_iter().enumerate() {
            setup[1 + number / 4] |= place << (number % 4 * 16);
        }
        Some(Self(setup))
    }

    const fn asked(self) -> u64 {
        1 << (self.0[0] >> 32 & 0xff)
    }

    const fn done(self) -> u64 {
        1 << (self.0[0] >> 40 & 0xff)
    }

    fn place(self, place: Place) -> u64 {
        let number = place as usize;
        self.0[1 + number / 4] >> (number % 4 * 16) & 0xffff
    }

    /// Where the numbers of entries are, if it has such.
    const fn array(self) -> Option<u64> {
        if self.flags() & NO_ARRAY == 0 { Some(self.0[3]) } else { None }
    }

    /// How many bytes hold all of that.
    fn bytes(self) -> u64 {
        let done = self.place(Place::Completions) + self.done() * completion_bytes(self.flags());
        let array = self.array().map_or(0, |array| array + 4 * self.asked());
        Self::PLACES.iter().enumerate().fold(done.max(array), |most, (number, _)| {
            most.max((self.0[1 + number / 4] >> (number % 4 * 16) & 0xffff) + 4)
        })
    }
}

const fn entry_bytes(flags: u32) -> u64 {
    if flags & LONG_ENTRIES != 0 { 128 } else { 64 }
}

const fn completion_bytes(flags: u32) -> u64 {
    if flags & LONG_COMPLETIONS != 0 { 32 } else { 16 }
}

impl RingMemory {
    /// The ring that liburing's structure describes, of all versions since 2.0.
    pub(crate) fn of_library(structure: u64) -> Option<Self> {
        let mut words = [0_u64; LIBRARY_WORDS];
        if !syscall::read_words(structure, &mut words) {
            return None;
        }
        let [flags, descriptor] = halves(words[24]);
        let [head, asked_mask, done_head, done_tail, done_mask] =
            [words[0], words[2], words[13], words[14], words[15]].map(|address| [address, 4]);
        let mut counters = [0_u64; 3];
        // The last one twice, to make words of them.
        let pieces = [head, asked_mask, done_head, done_tail, done_mask, done_mask];
        if flags & UNKNOWN != 0 {
            return None;
        }
        let [_, tail] = halves(words[8]);
        if !syscall::read_pieces(&pieces, &mut counters) {
            // Before Linux 6.10 nobody can read rings this way.
            let mut ring = Self::of_descriptor(descriptor, Setup::of_library(&words)?)?;
            ring.asked[1] = tail;
            return ring.checked();
        }
        let [head, asked_mask] = halves(counters[0]);
        Self {
            descriptor,
            flags,
            asked: [head, tail],
            done: halves(counters[1]),
            asked_mask,
            done_mask: halves(counters[2])[0],
            array: None,
            entries: words[7],
            completions: words[19],
            mapped: <[Mapping; 2]>::default(),
        }
        .checked()
    }

    /// The ring of a descriptor that was set up so.
    pub(crate) fn of_descriptor(descriptor: u32, setup: Setup) -> Option<Self> {
        let flags = setup.flags();
        let rings = Mapping::of(descriptor, 0, setup.bytes())?;
        let entries = Mapping::of(descriptor, ENTRIES, setup.asked() * entry_bytes(flags))?;
        let word = |place| rings.word(setup.place(place));
        Self {
            descriptor,
            flags,
            asked: [word(Place::AskedHead), word(Place::AskedTail)],
            done: [word(Place::DoneHead), word(Place::DoneTail)],
            asked_mask: word(Place::AskedMask),
            done_mask: word(Place::DoneMask),
            array: setup.array().map(|array| rings.0.start + array),
            entries: entries.0.start,
            completions: rings.0.start + setup.place(Place::Completions),
            mapped: [rings, entries],
        }
        .checked()
        // What is mapped is as large as it was set up.
        .filter(|it| (u64::from(it.asked_mask), u64::from(it.done_mask)) == (setup.asked() - 1, setup.done() - 1))
    }

    /// Whether it makes sense: it may be no ring at all.
    fn checked(self) -> Option<Self> {
        let fits = |mask: u32, [from, to]: [u32; 2]| {
            mask.wrapping_add(1).is_power_of_two() && mask < 1 << 16 && to.wrapping_sub(from) <= mask + 1
        };
        let is_one = fits(self.asked_mask, self.asked) && fits(self.done_mask, self.done);
        (is_one && self.descriptor < 1 << 30).then_some(self)
    }

    /// How many completions there is room for.
    pub(crate) fn room(&self) -> u32 {
        self.done_mask + 1
    }

    /// Reads pieces of the ring, one behind the other.
    fn read(&self, pieces: &[[u64; 2]], words: &mut [u64]) -> bool {
        let holds = |[address, length]: [u64; 2]| {
            self.mapped.iter().any(|it| it.0.start <= address && address.saturating_add(length) <= it.0.end)
        };
        if self.mapped[0].0.is_empty() {
            return syscall::read_pieces(pieces, words);
        }
        // An entry's number may be anything.
        if !pieces.iter().all(|piece| holds(*piece)) {
            return false;
        }
        let all = pieces.iter().flat_map(|[address, length]| (*address..address + length).step_by(8));
        for (word, address) in words.iter_mut().zip(all) {
            // SAFETY: it is in what is mapped, and pieces are whole words.
            *word = unsafe { (address as *const u64).read_volatile() };
        }
        true
    }

    /// Reads what is asked for at a position.
    pub(crate) fn entry(&self, position: u32) -> Option<[u64; ENTRY_WORDS]> {
        let place = position & self.asked_mask;
        let number = match self.array {
            // SAFETY: in the mapping, by its mask.
            Some(array) => unsafe { ((array + 4 * u64::from(place)) as *const u32).read_volatile() },
            None => place,
        };
        let at = self.entries + u64::from(number) * entry_bytes(self.flags);
        let mut words = [0_u64; 4];
        self.read(&[[at, 8], [at + 24, 24]], &mut words).then(|| kept(words))
    }

    /// Reads completions from a position on, as many as there is room for, or fewer where some cannot be read; says how many.
    pub(crate) fn completions(&self, position: u32, words: &mut [u64]) -> usize {
        const AT_ONCE: usize = 8;
        let mut count = 0;
        for words in words.chunks_mut(AT_ONCE * COMPLETION_WORDS) {
            let mut pieces = [[0, 16]; AT_ONCE];
            let pieces = &mut pieces[..words.len() / COMPLETION_WORDS];
            for (piece, position) in pieces.iter_mut().zip(position.wrapping_add(count as u32)..) {
                let place = u64::from(position & self.done_mask);
                piece[0] = self.completions + place * completion_bytes(self.flags);
            }
            if !self.read(pieces, words) {
                break;
            }
            count += pieces.len();
        }
        count
    }
}

/// Of an entry: operation, flags and descriptor; what its completion is known by; and what is asked for in particular, with the length or,
/// of what makes or closes a descriptor, whether that is none of the process's own.
const fn kept([first, length_and_flags, user_data, rest]: [u64; 4]) -> [u64; ENTRY_WORDS] {
    const ACCEPT: u8 = 13;
    const OPEN: u8 = 18;
    const CLOSE: u8 = 19;
    const OPEN_HOW: u8 = 28;
    const SOCKET: u8 = 45;
    let length =
        if matches!(first as u8, ACCEPT | OPEN | CLOSE | OPEN_HOW | SOCKET) { rest >> 32 } else { length_and_flags };
    [first, user_data, length_and_flags >> 32 << 32 | length & 0xffff_ffff]
}

const fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_structure_of_the_library_says_where_the_ring_is() {
        // Heads and tails may have counted over.
        let (head, mask, done_head, done_tail, done_mask) = (u32::MAX, 3_u32, 5_u32, 7_u32, 7_u32);
        let mut entries = [[0_u64; 8]; 4];
        // The positions before and behind the turn.
        entries[3] = [22 | 9 << 32, 0, 0, 100, 77, 0, 0, 0];
        entries[0] = [13 | 4 << 32, 0, 0, 1, 78, 6 << 32, 0, 0];
        let mut completions = [[0_u64; 2]; 8];
        (completions[5], completions[6]) = ([77, 10], [78, 11]);
        let mut structure = [0_u64; 25];
        let address = |word: &u32| core::ptr::from_ref(word) as u64;
        (structure[0], structure[2]) = (address(&head), address(&mask));
        (structure[7], structure[8]) = (entries.as_ptr() as u64, 1 << 32);
        (structure[13], structure[14], structure[15]) = (address(&done_head), address(&done_tail), address(&done_mask));
        (structure[19], structure[24]) = (completions.as_ptr() as u64, 6 << 32);
        let ring = RingMemory::of_library(structure.as_ptr() as u64).unwrap();
        assert_eq!((ring.descriptor, ring.asked, ring.done), (6, [u32::MAX, 1], [5, 7]));
        assert_eq!(ring.entry(u32::MAX), Some([22 | 9 << 32, 77, 100]));
        assert_eq!(ring.entry(0), Some([13 | 4 << 32, 78, 6]));
        let mut words = [0; 4];
        assert_eq!((ring.completions(5, &mut words), words), (2, [77, 10, 78, 11]));
        // More is asked for than there is room.
        structure[8] = 9 << 32;
        assert!(RingMemory::of_library(structure.as_ptr() as u64).is_none());
        assert!(RingMemory::of_library(16).is_none());
    }

    #[test]
    fn parameters_say_how_a_ring_is_laid_out() {
        let mut words = [0_u64; 15];
        let mut set = |offset: usize, value: u64| words[offset / 8] |= value << (offset % 8 * 8);
        let usual = [(0, 4), (4, 8), (20, 1), (44, 64), (48, 256), (80, 128), (84, 192), (88, 260), (100, 320)];
        usual.iter().for_each(|(offset, value)| set(*offset, *value));
        set(64, 448);
        let setup = Setup::of(words.as_ptr() as u64).unwrap();
        assert_eq!((setup.asked(), setup.done(), setup.array(), setup.flags()), (4, 8, Some(448), 0));
        let places = [Place::AskedTail, Place::AskedMask, Place::DoneHead, Place::DoneTail, Place::DoneMask];
        assert_eq!(places.map(|place| setup.place(place)), [64, 256, 128, 192, 260]);
        assert_eq!((setup.place(Place::Completions), setup.bytes()), (320, 464));
        assert_eq!(Setup::from_words(setup.words()), Some(setup));
        assert_eq!(Setup::from_words([0; RING_SETUP]), None);
        // The same, as liburing has it.
        let start = 0x7f00_0000_1000;
        let mut library = [0_u64; LIBRARY_WORDS];
        (library[0], library[1], library[2], library[10]) = (start, start + 64, start + 256, start);
        (library[13], library[14], library[15], library[19]) = (start + 128, start + 192, start + 260, start + 320);
        (library[11], library[21], library[22]) = (3 | 4 << 32, start, 7 | 8 << 32);
        let same = Setup::of_library(&library).unwrap();
        assert_eq!((&same.words()[1..3], same.asked(), same.done()), (&setup.words()[1..3], 4, 8));
        assert_eq!((same.array(), same.bytes()), (None, 448));
        // In memory of the program's own.
        words[1] = u64::from(MEMORY_OF_PROGRAM);
        assert_eq!(Setup::of(words.as_ptr() as u64), None);
    }
}
