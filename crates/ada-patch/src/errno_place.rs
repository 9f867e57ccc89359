//! Where a C library keeps a thread's `errno`.

use ada_event::ImageOffset;

/// How far it is from a thread's thread pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrnoPlace {
    /// So far.
    Distance(i64),
    /// As far as this word of the image says, once the loader has filled it.
    Word(ImageOffset),
}
