//! What a probe reads from memory, which may not be there.

use ada_ring::probe::{BASES, Base, ElementsEnd, Extent, GOES_ON, LONG_TEXT, Read, VECTORS};
use core::sync::atomic::Ordering;

use crate::arch::newest_float;
use crate::config::{Item, get};
use crate::memory::process_block;
use crate::{swift_types, syscall};

/// Words of the stack in which callers are looked for.
const CALLERS_STACK: usize = 192;

/// What reads start from.
pub(crate) struct Sources {
    /// By the numbers of bases.
    pub(crate) bases: [u64; BASES],
    /// The low halves of the vector registers, where these are known.
    pub(crate) vectors: Option<[u64; VECTORS]>,
}

/// Fills a read's words. They stay as they are where nothing can be read.
pub(crate) fn take(read: Read, sources: &Sources, words: &mut [u64]) {
    let bases = &sources.bases;
    if let Extent::Vector(number) = read.extent() {
        let vector = sources.vectors.as_ref().and_then(|vectors| vectors.get(number));
        if let (Some(vector), Some(word)) = (vector, words.first_mut()) {
            *word = *vector;
        }
        return;
    }
    if read.extent() == Extent::Extended {
        if let (Some(number), [mantissa, exponent]) = (newest_float(), words) {
            [*mantissa, *exponent] = number;
        }
        return;
    }
    if !read.is_due(bases[Base::Result as usize]) {
        return;
    }
    let (first, second) = read.steps();
    let is_own = second.is_none()
        && [Base::Slot, Base::Errno, Base::FramePointer].iter().any(|base| *base as usize == read.base());
    if !is_own && read.extent() != Extent::Value && are_faults_watched() {
        return;
    }
    let base = bases.get(read.base()).copied().unwrap_or(0);
    let start = base.wrapping_add_signed(first);
    if read.extent() == Extent::SwiftType {
        if let Some(metadata) = syscall::read_word(start) {
            swift_types::take(metadata, second.map(|value| base.wrapping_add_signed(value)), words);
        }
        return;
    }
    let of_elements = match read.extent() {
        Extent::Elements { count, each } => {
            Some(bases.get(count).map(|count| (base, count.saturating_mul(each.into()))))
        }
        Extent::ElementsBehind(end, each) => Some(elements_behind(base, start, end, each)),
        _ => None,
    };
    if let Some(elements) = of_elements {
        if let (Some((start, wanted)), Some((length, content))) = (elements, words.split_first_mut()) {
            take_bytes(start, wanted, length, content);
        }
        return;
    }
    let start = match second {
        None => Some(start),
        Some(second) => syscall::read_word(start).map(|pointer| pointer.wrapping_add_signed(second)),
    };
    let (Some(start), Some((length, content))) = (start, words.split_first_mut()) else { return };
    match read.extent() {
        Extent::Words => drop(syscall::read_words(start, words)),
        Extent::Value => {
            *length = start;
            let others = bases.iter().skip(read.base() + 1);
            content.iter_mut().zip(others).for_each(|(word, base)| *word = *base);
        }
        Extent::Callers => read_callers(start, words),
        Extent::Vector(_) | Extent::Extended | Extent::SwiftType | Extent::LongText => {}
        Extent::Text => {
            let (is_there, found) = read_into(start, content, usize::MAX);
            let end = found.iter().position(|byte| *byte == 0);
            if is_there {
                *length = end.map_or(found.len() as u64 | GOES_ON, |end| end as u64);
                end.into_iter().for_each(|end| found[end..].fill(0));
            }
        }
        Extent::Bytes(base) => {
            // What failed has no length: it is less than 0.
            let wanted = bases.get(base).map_or(0, |length| u64::try_from(*length as i64).unwrap_or(0));
            take_bytes(start, wanted, length, content);
        }
        Extent::Elements { .. } | Extent::ElementsBehind(..) => {}
    }
}

/// Reads as many bytes as are wanted, and there is room for. They stay as they are where nothing can be read.
fn take_bytes(start: u64, wanted: u64, length: &mut u64, content: &mut [u64]) {
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    let (is_there, found) = read_into(start, content, wanted);
    if is_there || wanted == 0 {
        *length = found.len() as u64 | if found.len() < wanted { GOES_ON } else { 0 };
    }
}

/// Where elements begin, and how many bytes they have: what `start` is the place of, and what `end` is. None where memory does not
/// say, or they end before they begin.
fn elements_behind(base: u64, start: u64, end: ElementsEnd, each: u8) -> Option<(u64, u64)> {
    let first = syscall::read_word(start)?;
    let word = |at: i16| syscall::read_word(base.wrapping_add_signed(at.into()));
    Some(match end {
        ElementsEnd::Count(at) => (first, word(at)?.saturating_mul(each.into())),
        ElementsEnd::Pointer(at) => (first, word(at)?.checked_sub(first)?),
    })
}

/// Reads the text of a long read, and its length as that of [`Extent::Text`]. None where there is none.
pub(crate) fn take_long(read: Read, sources: &Sources, words: &mut [u64; LONG_TEXT / 8]) -> Option<u64> {
    if are_faults_watched() {
        return None;
    }
    let start = sources.bases.get(read.base())?.wrapping_add_signed(read.steps().0);
    let (is_there, found) = read_into(start, words, usize::MAX);
    let length = found.iter().position(|byte| *byte == 0).unwrap_or(found.len());
    // A text that has just room ends with the byte behind it.
    let mut next = [1];
    let ends =
        length < found.len() || syscall::read_bytes(start.wrapping_add(length as u64), &mut next) == 1 && next[0] == 0;
    is_there.then_some(length as u64 | if ends { 0 } else { GOES_ON })
}

/// Whether the program answers for memory that is not there, by a `userfaultfd`: the kernel then waits for the program, which may
/// be waiting for this very thread.
pub(crate) fn are_faults_watched() -> bool {
    // In tests there is no process block.
    get(Item::Private) != 0 && process_block().faults_are_watched.load(Ordering::Relaxed) != 0
}

/// Fills words with the return addresses that a chain of frame pointers leads to.
fn read_callers(frame: u64, words: &mut [u64]) {
    // One look at the newest part of the stack: most of what waits is a few small frames above.
    let mut stack = [0_u64; CALLERS_STACK];
    let (is_there, found) = read_into(frame, &mut stack, usize::MAX);
    let count = found.len() / 8;
    if !is_there {
        return;
    }
    words.fill(0);
    let mut at = 0;
    for word in words {
        let Some(&[next, back]) = stack[..count].get(at..).and_then(|rest| rest.first_chunk()) else { return };
        *word = back;
        // Frames are above each other.
        match next.checked_sub(frame).map(|distance| distance as usize / 8) {
            Some(higher) if higher > at => at = higher,
            _ => return,
        }
    }
}

/// Reads bytes, no more than are wanted, into words, whose other bytes become zero. Says whether there are any.
fn read_into(start: u64, words: &mut [u64], wanted: usize) -> (bool, &mut [u8]) {
    // SAFETY: every word is eight bytes of any value.
    let bytes = unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), 8 * words.len()) };
    let most = wanted.min(bytes.len());
    let count = if most == 0 { 0 } else { syscall::read_bytes(start, &mut bytes[..most]).min(most) };
    if count > 0 || most == 0 {
        bytes[count..].fill(0);
    }
    (count > 0, &mut bytes[..count])
}

#[cfg(test)]
mod tests {
    use super::*;
    use ada_ring::probe::UNREADABLE;

    /// The words of a read, which has no more than three.
    fn words_of(read: Read, bases: [u64; BASES]) -> [u64; 3] {
        let mut words = [UNREADABLE; 3];
        take(read, &Sources { bases, vectors: Some([7; VECTORS]) }, &mut words[..read.count()]);
        words
    }

    fn bases(first: u64, second: u64) -> [u64; BASES] {
        let mut bases = [0; BASES];
        (bases[0], bases[1]) = (first, second);
        bases
    }

    #[test]
    fn a_text_ends_at_its_zero_or_goes_on() {
        let text = c"a longer text".as_ptr() as u64;
        let read = |words| words_of(Read::text(Base::Argument1, words), bases(text, 0));
        assert_eq!(read(3)[0], 13);
        assert_eq!(read(3)[2].to_le_bytes(), *b" text\0\0\0");
        assert_eq!(read(2)[..2], [8 | GOES_ON, u64::from_le_bytes(*b"a longer")]);
        assert_eq!(words_of(Read::text(Base::Argument1, 3), bases(16, 0)), [UNREADABLE; 3]);
    }

    #[test]
    fn a_long_text_has_its_length_and_its_end() {
        let mut words = [0; LONG_TEXT / 8];
        let mut text = [b'x'; LONG_TEXT + 2];
        let mut read = |text: &[u8]| {
            let sources = Sources { bases: bases(text.as_ptr() as u64, 0), vectors: None };
            take_long(Read::long_text(Base::Argument1), &sources, &mut words)
        };
        assert_eq!(read(&text), Some(LONG_TEXT as u64 | GOES_ON));
        text[LONG_TEXT] = 0;
        assert_eq!(read(&text), Some(LONG_TEXT as u64));
        text[700] = 0;
        assert_eq!(read(&text), Some(700));
        let nowhere = Sources { bases: bases(16, 0), vectors: None };
        assert_eq!(take_long(Read::long_text(Base::Argument1), &nowhere, &mut words), None);
    }

    #[test]
    fn callers_are_followed_up_the_stack() {
        let mut stack = [0_u64; 8];
        let at = |word: usize| &raw const stack[0] as u64 + 8 * word as u64;
        let (second, third) = (at(2), at(6));
        stack[..4].copy_from_slice(&[second, 0x11, third, 0x22]);
        // The oldest frame has none below it.
        stack[6..].copy_from_slice(&[0, 0x33]);
        let from = |word: usize| {
            let frame = bases(&raw const stack[word] as u64, 0);
            words_of(Read::callers(Base::Argument1, 3), frame)
        };
        assert_eq!((from(0), from(2), from(6)), ([0x11, 0x22, 0x33], [0x22, 0x33, 0], [0x33, 0, 0]));
        assert_eq!(words_of(Read::callers(Base::Argument1, 3), bases(16, 0)), [UNREADABLE; 3]);
        assert_eq!(words_of(Read::value(Base::Argument2), bases(0, 7))[0], 7);
        assert_eq!(words_of(Read::values(Base::Argument1, 3), bases(5, 7)), [5, 7, 0]);
    }

    #[test]
    fn elements_are_as_many_as_a_register_or_memory_says() {
        let numbers = [1_u32, 2, 3, 4, 5];
        let start = numbers.as_ptr() as u64;
        let in_registers =
            |count| words_of(Read::elements(Base::Argument1, Base::Argument2, 4, 3), bases(start, count));
        assert_eq!(in_registers(3), [12, 2 << 32 | 1, 3]);
        assert_eq!(in_registers(1 << 60), [16 | GOES_ON, 2 << 32 | 1, 4 << 32 | 3]);
        let in_memory = |end, header: &[u64]| {
            let read = Read::elements_behind(Base::Argument1, 8, end, 4, 3);
            words_of(read, bases(header.as_ptr() as u64, 0))
        };
        assert_eq!(in_memory(ElementsEnd::Count(0), &[2, start])[..2], [8, 2 << 32 | 1]);
        assert_eq!(
            in_memory(ElementsEnd::Pointer(16), &[0, start, start + 20]),
            [16 | GOES_ON, 2 << 32 | 1, 4 << 32 | 3]
        );
        assert_eq!(in_memory(ElementsEnd::Pointer(16), &[0, start, start])[0], 0);
        // They end before they begin, or nothing is there.
        assert_eq!(in_memory(ElementsEnd::Pointer(16), &[0, start, start - 4]), [UNREADABLE; 3]);
        assert_eq!(in_memory(ElementsEnd::Count(0), &[2, 16]), [UNREADABLE; 3]);
        let nowhere = Read::elements_behind(Base::Argument1, 8, ElementsEnd::Count(0), 4, 3);
        assert_eq!(words_of(nowhere, bases(16, 0)), [UNREADABLE; 3]);
    }

    #[test]
    fn vectors_are_taken_as_they_are() {
        assert_eq!(words_of(Read::vector(3), bases(0, 0)), [7, UNREADABLE, UNREADABLE]);
    }

    #[test]
    fn bytes_are_as_many_as_the_length_says() {
        let bytes = b"0123456789".as_ptr() as u64;
        let read = |length| words_of(Read::bytes(Base::Argument1, Base::Argument2, 2), bases(bytes, length));
        assert_eq!(read(3)[..2], [3, u64::from_le_bytes(*b"012\0\0\0\0\0")]);
        assert_eq!(read(9)[..2], [8 | GOES_ON, u64::from_le_bytes(*b"01234567")]);
        assert_eq!(read(u64::MAX)[..2], [0, 0]);
        assert_eq!(words_of(Read::bytes(Base::Argument1, Base::Argument2, 2), bases(16, 3)), [UNREADABLE; 3]);
    }
}
