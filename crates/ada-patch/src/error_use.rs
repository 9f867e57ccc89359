//! What a function that completes Swift's tasks does with a thrown error.

use ada_event::ImageOffset;

/// What it does with the error that it is called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorUse {
    /// It keeps the error as what its task has ended with.
    Kept,
    /// It ends by jumping to another function, which gets the error too.
    PassedTo(ImageOffset),
}
