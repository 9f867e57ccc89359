//! Structs that are a row of numbers in a file.

/// Defines a struct whose fields are all `u64`, with its words; [`crate::NONE`] stands for what is not known.
macro_rules! word_struct {
    ($(#[$about:meta])* pub struct $name:ident { $($(#[$doc:meta])* pub $field:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name { $($(#[$doc])* pub $field: u64,)* }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $crate::NONE,)* }
            }
        }

        impl $name {
            pub(crate) fn encode(&self, out: &mut $crate::bytes::Encoder) {
                $(out.u64(self.$field);)*
            }

            pub(crate) fn decode(from: &mut $crate::bytes::Decoder<'_>) -> Option<Self> {
                Some(Self { $($field: from.u64()?,)* })
            }
        }
    };
}

pub(crate) use word_struct;
