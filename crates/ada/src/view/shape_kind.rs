//! What a shape of a picture is.

/// As the page knows it, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum ShapeKind {
    Call = 0,
    Logical = 1,
    Running = 2,
    Anomaly = 3,
}
