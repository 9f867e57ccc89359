//! What a function does to a futex.

/// What it does to the word in its first argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FutexCall {
    /// Waits until others change it.
    Wait,
    /// Wakes those that wait.
    Wake,
}
