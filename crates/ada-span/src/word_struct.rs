//! Structs that are a row of numbers in a file.

use ada_event::{EventSeq, FunctionId, RuntimeAddr, ThreadId, TraceNanos};

use crate::NONE;
use crate::thread_index::ThreadIndex;

/// A field of such a struct: one word of the file.
pub(crate) trait Word: Copy {
    /// What a field has that nobody has set.
    const UNSET: Self;

    fn to_word(self) -> u64;

    /// None if the word is no such value.
    fn from_word(word: u64) -> Option<Self>;
}

/// A word that means what the struct says it does; [`NONE`] stands for what is not known.
impl Word for u64 {
    const UNSET: Self = NONE;

    fn to_word(self) -> u64 {
        self
    }

    fn from_word(word: u64) -> Option<Self> {
        Some(word)
    }
}

/// A value that may not be known: then the word is [`NONE`].
impl<T: Word> Word for Option<T> {
    const UNSET: Self = None;

    fn to_word(self) -> u64 {
        self.map_or(NONE, T::to_word)
    }

    fn from_word(word: u64) -> Option<Self> {
        if word == NONE { Some(None) } else { T::from_word(word).map(Some) }
    }
}

macro_rules! word_newtypes {
    ($($name:ident($number:ident)),*) => {$(
        impl Word for $name {
            const UNSET: Self = Self($number::MAX);

            fn to_word(self) -> u64 {
                self.0.into()
            }

            fn from_word(word: u64) -> Option<Self> {
                word.try_into().ok().map(Self)
            }
        }
    )*};
}

word_newtypes!(EventSeq(u64), FunctionId(u64), RuntimeAddr(u64), ThreadId(u32), ThreadIndex(u32), TraceNanos(u64));

/// Defines a struct whose fields are words.
macro_rules! word_struct {
    ($(#[$about:meta])* pub struct $name:ident { $($(#[$doc:meta])* pub $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name { $($(#[$doc])* pub $field: $type,)* }

        impl Default for $name {
            fn default() -> Self {
                use $crate::word_struct::Word;
                Self { $($field: <$type as Word>::UNSET,)* }
            }
        }

        impl $name {
            pub(crate) fn encode(&self, out: &mut $crate::bytes::Encoder) {
                use $crate::word_struct::Word;
                $(out.u64(self.$field.to_word());)*
            }

            pub(crate) fn decode(from: &mut $crate::bytes::Decoder<'_>) -> Option<Self> {
                use $crate::word_struct::Word;
                Some(Self { $($field: <$type as Word>::from_word(from.u64()?)?,)* })
            }
        }
    };
}

pub(crate) use word_struct;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_as_they_were() {
        assert_eq!(Option::<EventSeq>::from_word(None::<EventSeq>.to_word()), Some(None));
        assert_eq!(Option::<ThreadIndex>::from_word(Some(ThreadIndex(7)).to_word()), Some(Some(ThreadIndex(7))));
        assert_eq!(u64::from_word(NONE), Some(NONE));
        assert_eq!(ThreadIndex::from_word(1 << 32), None, "a word that is no thread's");
    }
}
