//! Images on the way to being hooked: there is room for their stubs, and nothing in it.

use ada_event::RuntimeAddr;
use ada_patch::{PATCH_BYTES, PatchPlan};

use crate::install::ready_arena::MappedArena;
use crate::plan::module::Module;
use crate::plan::planned_image::PlannedImage;

/// Images with room for their stubs, and the modules that found none.
pub(crate) struct Reserved {
    pub(super) images: Vec<ReservedImage>,
    pub(super) loader: Option<ReservedLoader>,
    pub(super) without_room: Vec<Module>,
}

/// The loader's notification function, with room for its stub.
pub(super) enum ReservedLoader {
    /// The stub is there from another program.
    Ready(MappedArena),
    /// The stub is still to be written.
    Planned(PlannedLoader),
}

pub(super) struct PlannedLoader {
    pub(super) plan: PatchPlan<RuntimeAddr>,
    pub(super) original: [u8; PATCH_BYTES],
    pub(super) arena: RuntimeAddr,
    pub(super) offset: u64,
}

/// An image, and the address and file offset of the room for its stubs.
pub(super) struct ReservedImage {
    pub(super) image: PlannedImage,
    pub(super) arena: RuntimeAddr,
    pub(super) offset: u64,
    pub(super) first_function: u32,
}
