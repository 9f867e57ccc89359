//! The formats as their users see them, on bytes that the writers here did not make.

mod atf;
mod heph;
