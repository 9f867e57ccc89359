//! What a run has printed, in bounded memory.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::io::Read;

/// How much is kept to be shown. What comes behind it is compared by its length and a hash.
const MOST_KEPT: usize = 4 << 20;
/// How much of a line is shown.
const MOST_SHOWN: usize = 60;

/// The output of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Captured {
    kept: Vec<u8>,
    length: u64,
    hash: u64,
}

impl Captured {
    /// All that comes.
    pub(crate) fn read(mut from: impl Read) -> Self {
        let mut captured = Self::default();
        let mut hasher = DefaultHasher::new();
        let mut piece = vec![0; 1 << 16];
        // A pipe that fails has ended.
        while let Ok(count @ 1..) = from.read(&mut piece) {
            let room = MOST_KEPT - captured.kept.len();
            captured.kept.extend_from_slice(&piece[..count.min(room)]);
            captured.length += count as u64;
            piece[..count].iter().for_each(|&byte| hasher.write_u8(byte));
        }
        captured.hash = hasher.finish();
        captured
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }

    /// Where it first differs from what was expected, in words.
    pub(crate) fn difference(&self, expected: &Self) -> String {
        let lines = |captured: &Self| -> Vec<Vec<u8>> {
            captured.kept.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
        };
        let (own, others) = (lines(self), lines(expected));
        let same = own.iter().zip(&others).take_while(|(one, other)| one == other).count();
        match (own.get(same), others.get(same)) {
            (None, None) => format!("{} bytes instead of {}, or other ones", self.length, expected.length),
            (own, other) => format!("line {}: {} instead of {}", same + 1, shown(own), shown(other)),
        }
    }
}

fn shown(line: Option<&Vec<u8>>) -> String {
    let Some(line) = line else { return "nothing".into() };
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches('\n');
    let cut: String = text.chars().take(MOST_SHOWN).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("{:?}{more}", cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_shown() {
        let read = |text: &str| Captured::read(text.as_bytes());
        assert_eq!(read("a\nb\n"), read("a\nb\n"));
        assert_eq!(read("a\nx\nc\n").difference(&read("a\nb\nc\n")), r#"line 2: "x" instead of "b""#);
        assert_eq!(read("a\n").difference(&read("a\nb\n")), r#"line 2: nothing instead of "b""#);
        assert_eq!(read("a\nb").difference(&read("a\n")), r#"line 2: "b" instead of nothing"#);
        assert!(read(&"x".repeat(100)).difference(&read("")).contains("x\"… instead of nothing"));
    }

    #[test]
    fn what_is_not_kept_is_compared_all_the_same() {
        let long = |last: u8| {
            let mut bytes = vec![b'x'; MOST_KEPT];
            bytes.push(last);
            Captured::read(&bytes[..])
        };
        assert_eq!(long(1), long(1));
        assert_ne!(long(1), long(2));
        assert_eq!(long(1).kept.len(), MOST_KEPT);
        assert!(long(1).difference(&long(2)).contains("or other ones"));
    }
}
