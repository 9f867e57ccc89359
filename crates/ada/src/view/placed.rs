//! Where logical spans are drawn.

/// The row of a thread's track that its life is drawn in, above its calls.
pub(super) const LIFE_ROW: u32 = 0xffff;

/// Track and row of spans, by kind and by their index in the tables' list.
#[derive(Default)]
pub(super) struct Placed {
    pub(super) threads: Vec<(u32, u32)>,
    pub(super) tasks: Vec<(u32, u32)>,
    pub(super) blocks: Vec<(u32, u32)>,
    pub(super) callbacks: Vec<(u32, u32)>,
}
