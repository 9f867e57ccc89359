//! Structures, as their bytes lie in memory.

use ada_ring::probe::{GOES_ON, UNREADABLE as UNREADABLE_WORD};

use crate::extended_float::extended;
use crate::followed::{Followed, To};
use crate::ty::{Content, Elements, Field, Sequence, SequenceEnd, Type, Variants};
use crate::value::{NOT_RECORDED, OPTIMIZED_AWAY, UNREADABLE, Value};

/// The most words of a structure that are captured.
pub(crate) const MOST_WORDS: usize = 8;

/// How many words of a structure are captured.
pub(crate) fn words_of(bytes: u32) -> usize {
    (bytes.div_ceil(8) as usize).clamp(1, MOST_WORDS)
}

/// The words that were read about what a pointer leads to; none where nothing was.
pub(crate) type Behind<'b, 'w> = &'b dyn Fn(Followed<'_>) -> Option<&'w [u64]>;

/// Where nothing was read.
pub(crate) fn nothing<'w>(_: Followed<'_>) -> Option<&'w [u64]> {
    None
}

/// The first bytes of a structure, and what its pointers lead to.
pub(crate) struct Structure<'b, 'w> {
    bytes: Vec<u8>,
    behind: Behind<'b, 'w>,
}

impl<'b, 'w> Structure<'b, 'w> {
    /// That of these words.
    pub(crate) fn of_words(words: &[u64], behind: Behind<'b, 'w>) -> Self {
        Self { bytes: words.iter().flat_map(|word| word.to_le_bytes()).collect(), behind }
    }

    /// That of these parts: how many bytes into it they begin, and what they are.
    pub(crate) fn of_parts(parts: &[(u32, u64)], bytes: u32, behind: Behind<'b, 'w>) -> Self {
        let mut all = vec![0; 8 * words_of(bytes).max(parts.len())];
        for (number, (offset, word)) in parts.iter().enumerate() {
            let end = parts.get(number + 1).map_or(all.len(), |(next, _)| *next as usize);
            let room = all.get_mut(*offset as usize..end).unwrap_or_default();
            room.iter_mut().zip(word.to_le_bytes()).for_each(|(to, from)| *to = from);
        }
        all.truncate(bytes as usize);
        Self { bytes: all, behind }
    }

    /// The value of a type that begins so many bytes into the structure.
    pub(crate) fn value(&self, ty: &Type, at: u32) -> Value {
        let unknown = Value::Unknown(NOT_RECORDED);
        match ty {
            Type::OptimizedAway(_) => Value::Unknown(OPTIMIZED_AWAY),
            // What has no bytes has one value.
            Type::Aggregate { bytes: 0, content, .. } if *content == Content::UNKNOWN => {
                Value::Structure(Vec::new(), Some("()".to_owned()))
            }
            Type::Aggregate { content, .. } => self.content(content, at),
            Type::Characters(length) => self.characters(at, *length),
            Type::Float(16) => {
                let second = at.checked_add(8).and_then(|at| self.number(at, 8));
                self.number(at, 8).zip(second).map_or(unknown, |(low, high)| Value::Float(extended(low, high)))
            }
            Type::Text => self.pointed_at(ty, at, To::Text),
            Type::Reference { to, .. } => self.pointed_at(ty, at, To::Value(to)),
            _ => {
                let bytes = ty.bytes().filter(|bytes| *bytes <= 8);
                let word = bytes.and_then(|bytes| self.number(at, bytes));
                word.map_or(unknown, |word| match ty.is_captured() {
                    true => Value::Pointer(word),
                    false => Value::of_word(ty, word),
                })
            }
        }
    }

    fn content(&self, content: &Content, at: u32) -> Value {
        match content {
            Content::Fields(fields) if fields.is_empty() => Value::Unknown(NOT_RECORDED),
            Content::Fields(fields) => Value::Structure(self.fields(fields, at), None),
            Content::Sequence(sequence) => self.sequence(sequence, at),
            Content::Variants(variants) => self.variant(variants, at),
            Content::Wrapped(offset, ty) => self.value(ty, at.saturating_add(*offset)),
        }
    }

    fn fields(&self, fields: &[Field], at: u32) -> Vec<(String, Value)> {
        let value = |it: &Field| (it.shown_name().to_owned(), self.value(&it.ty, at.saturating_add(it.offset)));
        fields.iter().map(value).collect()
    }

    fn characters(&self, at: u32, length: u32) -> Value {
        let own = self.bytes.get(at as usize..).filter(|own| !own.is_empty() || length == 0);
        let Some(own) = own else { return Value::Unknown(NOT_RECORDED) };
        let captured = &own[..own.len().min(length as usize)];
        match captured.iter().position(|byte| *byte == 0) {
            Some(end) => Value::Text(captured[..end].to_vec(), false),
            None => Value::Text(captured.to_vec(), captured.len() < length as usize),
        }
    }

    /// A pointer, with what it points at where that was read.
    fn pointed_at(&self, ty: &Type, at: u32, to: To<'_>) -> Value {
        let word = self.number(at, 8);
        let read = (self.behind)(Followed { offset: at, to }).filter(|_| word != Some(0));
        let value = match (read, ty) {
            (Some([length, content @ ..]), Type::Text) => {
                captured_bytes(*length, content).map(|(bytes, goes_on)| Value::Text(bytes, goes_on))
            }
            (Some(words), Type::Reference { to, .. }) if words.iter().any(|it| *it != UNREADABLE_WORD) => {
                Some(Value::Reference(word, Box::new(Structure::of_words(words, &nothing).value(to, 0))))
            }
            _ => None,
        };
        // What could not be read is the pointer that it is.
        value.or(word.map(Value::Pointer)).unwrap_or(Value::Unknown(NOT_RECORDED))
    }

    fn sequence(&self, sequence: &Sequence, at: u32) -> Value {
        let word = |offset: u32| self.number(at.checked_add(offset)?, 8);
        let start = word(sequence.start);
        let length = match sequence.end {
            SequenceEnd::Count(at) => word(at),
            SequenceEnd::Pointer(at) => match (start, word(at)) {
                (Some(start), Some(end)) => {
                    let bytes = u64::from(sequence.element_bytes());
                    let whole = end.checked_sub(start).filter(|all| bytes > 0 && all % bytes == 0);
                    // It ends before it begins, or within an element.
                    let Some(whole) = whole else { return Value::Unknown(UNREADABLE) };
                    Some(whole / bytes)
                }
                _ => None,
            },
        };
        let read = (self.behind)(Followed { offset: at, to: To::Elements(sequence) });
        let captured = read.and_then(|words| captured_bytes(*words.first()?, &words[1..]));
        match &sequence.elements {
            Elements::Text => match (captured, start) {
                _ if length == Some(0) => Value::Text(Vec::new(), false),
                (Some((bytes, goes_on)), _) => Value::Text(without_cut_character(bytes, goes_on), goes_on),
                (None, Some(start)) if read.is_some() => Value::Pointer(start),
                _ => Value::Unknown(NOT_RECORDED),
            },
            Elements::Of(bytes, ty) => {
                let Some(length) = length else { return Value::Unknown(NOT_RECORDED) };
                let captured = captured.map(|(bytes, _)| bytes).unwrap_or_default();
                let element = |bytes: &[u8]| Structure { bytes: bytes.to_vec(), behind: &nothing }.value(ty, 0);
                let most = usize::try_from(length).unwrap_or(usize::MAX);
                let elements = match *bytes as usize {
                    0 => Vec::new(),
                    bytes => captured.chunks_exact(bytes).take(most).map(element).collect(),
                };
                Value::List(elements, length)
            }
        }
    }

    fn variant(&self, of: &Variants, at: u32) -> Value {
        let unknown = Value::Unknown(NOT_RECORDED);
        let variant = match of.tag {
            None => of.variants.first(),
            Some((offset, bytes)) => {
                let bytes = u32::from(bytes);
                let tag = at.checked_add(offset).and_then(|at| self.number(at, bytes));
                let Some(tag) = tag else { return unknown };
                let cut = |known: u64| if bytes < 8 { known & ((1 << (8 * bytes)) - 1) } else { known };
                let is_it = |known: Option<u64>| known.map(cut) == Some(tag);
                let named = of.variants.iter().find(|variant| is_it(variant.tag));
                named.or_else(|| of.variants.iter().find(|variant| variant.tag.is_none()))
            }
        };
        // A tag of which no variant has the value.
        let Some(variant) = variant else { return unknown };
        let mut fields = self.fields(&variant.fields, at);
        if variant.name.is_empty() {
            return if fields.is_empty() { unknown } else { fields.swap_remove(0).1 };
        }
        let name = if of.name.is_empty() { variant.name.clone() } else { format!("{}::{}", of.name, variant.name) };
        Value::Variant(name, fields)
    }

    /// A number of so many bytes, eight at most, if all of them were captured.
    fn number(&self, at: u32, bytes: u32) -> Option<u64> {
        let at = at as usize;
        let own = self.bytes.get(at..at.checked_add(bytes as usize)?)?;
        let mut word = [0; 8];
        word.get_mut(..own.len())?.copy_from_slice(own);
        Some(u64::from_le_bytes(word))
    }
}

/// Bytes that were read, and whether they go on; none where they could not be.
pub(crate) fn captured_bytes(length: u64, content: &[u64]) -> Option<(Vec<u8>, bool)> {
    if length == UNREADABLE_WORD {
        return None;
    }
    let mut bytes: Vec<u8> = content.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.truncate((length & !GOES_ON) as usize);
    Some((bytes, length & GOES_ON != 0))
}

/// The beginning of a text without the character that the cut went through.
fn without_cut_character(mut bytes: Vec<u8>, goes_on: bool) -> Vec<u8> {
    if goes_on
        && let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation;

    /// The structure that a function's first parameter points at, where these words were read about each pointer in it.
    fn shown_with(line: &str, words: &[u64], behind: &[u64]) -> String {
        let prototype = notation::parse(line).unwrap();
        let structure = prototype.parameters[0].ty.structure().unwrap();
        let behind = |_: Followed<'_>| Some(behind).filter(|behind| !behind.is_empty());
        Structure::of_words(words, &behind).value(structure, 0).shown(&|_| None)
    }

    fn shown(line: &str, words: &[u64]) -> String {
        shown_with(line, words, &[])
    }

    #[test]
    fn fields_are_read_where_they_lie() {
        let line = "f(p: *struct{24;;n:i32@0;is_on:bool@4;name:chars3@5;x:f64@8;next:pointer@16})";
        let words = [0x0061_6101_ffff_fffb, 1.5_f64.to_bits(), 0];
        assert_eq!(shown(line, &words), "{n: -5, is_on: true, name: \"aa\", x: 1.5, next: null}");
        assert_eq!(shown(line, &words[..1]), "{n: -5, is_on: true, name: \"aa\", x: ?, next: ?}");
    }

    #[test]
    fn structures_lie_within_structures() {
        let line = "f(p: *struct{16;;at:struct{12;;x:i32@0;y:i16@4;z:i32@8}@4})";
        assert_eq!(shown(line, &[7 << 32, 9 << 32 | 8]), "{at: {x: 7, y: 8, z: 9}}");
        assert_eq!(shown(line, &[7 << 32]), "{at: {x: 7, y: ?, z: ?}}");
    }

    #[test]
    fn parts_in_registers_are_put_together() {
        let prototype = notation::parse("f(p: struct{8;+II4;a:u32@0;b:u32@4})").unwrap();
        let parts = [(0, 0x5555_5555_0000_0001), (4, 0x6666_6666_0000_0002)];
        let value = Structure::of_parts(&parts, 8, &nothing).value(&prototype.parameters[0].ty, 0);
        assert_eq!(value.shown(&|_| None), "{a: 1, b: 2}");
        // Places that nothing has.
        let hostile = [(u32::MAX, 1), (u32::MAX, 2)];
        assert_eq!(Structure::of_parts(&hostile, u32::MAX, &nothing).bytes.len(), 64);
    }

    #[test]
    fn lists_have_their_length_and_what_was_captured() {
        let vector = "f(p: *list{24;;8;16;4;i32})";
        let three = [12, 2 << 32 | 1, 3];
        assert_eq!(shown_with(vector, &[3, 0x1000, 3], &three), "[1, 2, 3]");
        assert_eq!(shown_with(vector, &[9, 0x1000, 9], &[8 | GOES_ON, 2 << 32 | 1]), "[1, 2, …; 9]");
        // More than the length says was never an element.
        assert_eq!(shown_with(vector, &[3, 0x1000, 1], &three), "[1]");
        assert_eq!(shown(vector, &[0, 4, 0]), "[]");
        assert_eq!(shown(vector, &[1, 4, 1 << 60]), format!("[…; {}]", 1_u64 << 60));
        assert_eq!(shown_with(vector, &[1, 4, u64::MAX - 1], &[UNREADABLE_WORD; 3]), format!("[…; {}]", u64::MAX - 1));
        assert_eq!(shown(vector, &[3, 0x1000]), "?");
    }

    #[test]
    fn lists_that_end_before_they_begin_are_not_known() {
        let vector = "f(p: *list{24;;0;>8;4;i32})";
        assert_eq!(shown_with(vector, &[0x1000, 0x1008, 0], &[8, 2 << 32 | 1]), "[1, 2]");
        assert_eq!(shown(vector, &[0x1000, 0x1000, 0]), "[]");
        assert_eq!(shown(vector, &[0x1000, 0xffc, 0]), "?");
        assert_eq!(shown(vector, &[0x1000, 0x1006, 0]), "?");
        assert_eq!(shown("f(p: *list{24;;0;>8;0;i32})", &[0x1000, 0x1008, 0]), "?");
        assert_eq!(shown("f(p: *list{24;;4294967295;4294967290;4;i32})", &[1, 2, 3]), "?");
    }

    #[test]
    fn texts_have_as_many_bytes_as_their_length_says() {
        let text = "f(p: *text{24;;8;16})";
        let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        assert_eq!(shown_with(text, &[0, 0x1000, 3], &[3, word(b"a\0b\0\0\0\0\0")]), "\"a\\x00b\"");
        assert_eq!(
            shown_with(text, &[0, 0x1000, 9], &[8 | GOES_ON, word("aaaaaaaü".as_bytes()[..8].try_into().unwrap())]),
            "\"aaaaaaa\"…"
        );
        assert_eq!(shown_with(text, &[0, 1, 0], &[UNREADABLE_WORD; 3]), "\"\"");
        assert_eq!(shown_with(text, &[0, 0x10, 1 << 60], &[UNREADABLE_WORD; 3]), "0x10");
        assert_eq!(shown(text, &[0, 0x1000, 3]), "?");
        assert_eq!(
            shown_with(text, &[0, 0x1000, 3], &[u64::MAX - 1, 0]),
            "\"\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\"…"
        );
    }

    #[test]
    fn one_of_several_variants_is_there() {
        let shape = "f(p: *variants{16;;Shape;0:4;Circle=0{radius:u32@4};Line=1{__0:f32@4;__1:f32@8};Empty=2{}})";
        assert_eq!(shown(shape, &[7 << 32, 0]), "Shape::Circle { radius: 7 }");
        let halves = u64::from(0.5_f32.to_bits());
        assert_eq!(shown(shape, &[halves << 32 | 1, halves]), "Shape::Line(0.5, 0.5)");
        assert_eq!(shown(shape, &[2, 0]), "Shape::Empty");
        assert_eq!((shown(shape, &[3, 0]), shown(shape, &[])), ("?".to_owned(), "?".to_owned()));
        // A variant without a tag has all the others.
        let option = "f(p: *variants{24;;;0:8;None=9223372036854775808{};Some{__0:text{24;;8;16}@0}})";
        assert_eq!(shown(option, &[1 << 63, 0, 0]), "None");
        assert_eq!(shown_with(option, &[5, 0x1000, 2], &[2, 0x6b6f]), "Some(\"ok\")");
        assert_eq!(shown("f(p: *variants{8;;;-;Only{x:i32@0}})", &[5]), "Only { x: 5 }");
        assert_eq!(shown("f(p: *variants{8;;;4:1;nullopt=0{};=1{value:i32@0}})", &[1 << 32 | 5]), "5");
        assert_eq!(shown("f(p: *variants{8;;;-;{}})", &[5]), "?");
    }

    #[test]
    fn what_is_wrapped_is_all_that_is_seen() {
        let counted = "f(p: *within{8;;*within{24;;u32@16}@0})";
        assert_eq!(shown_with(counted, &[0x1000], &[1, 1, 7]), "[7]");
        assert_eq!(shown_with(counted, &[0x1000], &[UNREADABLE_WORD; 3]), "0x1000");
        assert_eq!(shown_with(counted, &[0], &[1, 1, 7]), "null");
    }
}
