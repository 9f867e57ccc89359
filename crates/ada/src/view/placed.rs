//! Where logical spans are drawn.

/// Track and row of spans, by kind and by their index in the tables' list.
#[derive(Default)]
pub(super) struct Placed {
    pub(super) threads: Vec<(u32, u32)>,
    pub(super) tasks: Vec<(u32, u32)>,
    pub(super) blocks: Vec<(u32, u32)>,
    pub(super) callbacks: Vec<(u32, u32)>,
}
