//! Texts that probes have read: labels of queues, and names of types.

use crate::NONE;

/// Words of a queue's label that are read with each submission.
pub(crate) const LABEL_WORDS: usize = 6;

/// In a text's length: it goes on behind what was read.
const GOES_ON: u64 = 1 << 32;

/// A text, without what follows its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Text {
    pub(crate) bytes: Vec<u8>,
    /// Whether it goes on behind what was read.
    pub(crate) is_cut: bool,
}

impl Text {
    /// The beginning of a label; nothing where it could not be read.
    pub(crate) fn beginning(words: &[u64]) -> Option<Self> {
        let words: &[u64; LABEL_WORDS] = words.first_chunk()?;
        if words[0] == NONE {
            return None;
        }
        let mut bytes = bytes_of(words);
        let end = bytes.iter().position(|byte| *byte == 0);
        bytes.truncate(end.unwrap_or(bytes.len()));
        Some(Self { bytes, is_cut: end.is_none() })
    }

    /// A label in full: its length, and its words. Older recorders have kept its beginning instead.
    pub(crate) fn label(words: &[u64]) -> Option<Self> {
        let is_counted = words.first().is_some_and(|length| words_for(*length) == words.len() - 1);
        if is_counted || words.len() != LABEL_WORDS { Self::counted(words) } else { Self::beginning(words) }
    }

    /// A length, and as many bytes; nothing where they could not be read.
    pub(crate) fn counted(words: &[u64]) -> Option<Self> {
        let (&length, words) = words.split_first()?;
        if length == NONE {
            return None;
        }
        let mut bytes = bytes_of(words);
        let is_short = bytes.len() < length as u32 as usize;
        bytes.truncate(length as u32 as usize);
        Some(Self { bytes, is_cut: is_short || length & GOES_ON != 0 })
    }

    /// Forgets what submissions do not tell of a label.
    pub(crate) fn shorten(&mut self) {
        self.is_cut |= self.bytes.len() >= 8 * LABEL_WORDS;
        self.bytes.truncate(8 * LABEL_WORDS);
    }

    /// Whether both may be the same text, as far as either was read.
    pub(crate) fn may_be(&self, other: &Self) -> bool {
        match (self.is_cut, other.is_cut) {
            (false, false) => self.bytes == other.bytes,
            (true, false) => other.bytes.starts_with(&self.bytes),
            (false, true) => self.bytes.starts_with(&other.bytes),
            (true, true) => {
                let both = self.bytes.len().min(other.bytes.len());
                self.bytes[..both] == other.bytes[..both]
            }
        }
    }

    /// As people read it.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.bytes).replace(char::is_control, "?")
    }
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// How many words a text of a length has.
fn words_for(length: u64) -> usize {
    (length as u32 as usize).div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &[u8]) -> Vec<u64> {
        text.chunks(8)
            .map(|part| {
                let mut bytes = [0; 8];
                bytes[..part.len()].copy_from_slice(part);
                u64::from_le_bytes(bytes)
            })
            .collect()
    }

    fn text(bytes: &[u8], is_cut: bool) -> Text {
        Text { bytes: bytes.to_vec(), is_cut }
    }

    #[test]
    fn labels_end_where_they_end() {
        let mut dirty = [b'x'; 48];
        dirty[..5].copy_from_slice(b"work\0");
        assert_eq!(Text::beginning(&words(&dirty)), Some(text(b"work", false)));
        assert_eq!(Text::beginning(&words(&[b'y'; 48])), Some(text(&[b'y'; 48], true)));
        assert_eq!((Text::beginning(&[NONE; LABEL_WORDS]), Text::beginning(&[1])), (None, None));
    }

    #[test]
    fn labels_are_as_long_as_they_say() {
        let long = [&[100][..], &words(&[b'z'; 104])].concat();
        assert_eq!(Text::label(&long), Some(text(&[b'z'; 100], false)));
        // More than was kept, more than was read, and what an older recorder has kept.
        assert_eq!(Text::label(&[100, words(b"abcdefgh")[0]]), Some(text(b"abcdefgh", true)));
        assert_eq!(Text::label(&[8 | GOES_ON, words(b"abcdefgh")[0]]), Some(text(b"abcdefgh", true)));
        assert_eq!(Text::label(&words(&[b'o'; 48])), Some(text(&[b'o'; 48], true)));
        assert_eq!((Text::label(&[NONE]), Text::label(&[])), (None, None));
        assert_eq!(Text::label(&[0]), Some(text(b"", false)));
    }

    #[test]
    fn a_cut_text_may_be_any_that_begins_with_it() {
        let (cut, full, short) = (text(b"abc", true), text(b"abcdef", false), text(b"abc", false));
        assert!(cut.may_be(&full) && full.may_be(&cut) && cut.may_be(&short) && cut.may_be(&text(b"abcd", true)));
        assert!(!short.may_be(&full) && !text(b"abd", true).may_be(&full));
    }
}
