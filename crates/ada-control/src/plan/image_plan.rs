//! What can be said of an image's file before any program has loaded it: its functions, each with its verdict.

use std::ops::Range;

use ada_event::ImageOffset;
use ada_image::{DebugImage, FunctionTable, Image, UnwindTable};
use ada_patch::{CodeScan, ExitPlan, ImageCode, PATCH_BYTES, PatchPlan, PlannedFunctions, Verdict};

/// An image's functions and how each would be hooked. Depends on the file and its debug file alone: not on where it is
/// loaded, nor on what the user wants.
#[derive(Debug)]
pub(crate) struct ImagePlan {
    /// The lowest address that the image asks for.
    pub(crate) first_address: ImageOffset,
    pub(crate) build_id: Option<Vec<u8>>,
    pub(crate) functions: FunctionTable,
    /// [`FunctionTable::hash`], which goes through every name.
    pub(crate) table_hash: u64,
    pub(crate) verdicts: Vec<Verdict>,
    /// The plans, by function number; none for skipped ones.
    pub(crate) plans: Vec<(usize, PatchPlan)>,
    /// The bytes that each plan's patches will replace, in the order of the plans.
    pub(crate) originals: Vec<Originals>,
    /// The exits.
    pub(crate) exits: Vec<ExitPlan>,
    /// The bytes that each exit's patches will replace.
    pub(crate) exit_originals: Vec<Originals>,
}

/// The bytes at each patch of a plan, in the order of the patches.
pub(crate) type Originals = [[u8; PATCH_BYTES]; 2];

impl ImagePlan {
    /// Plans an image, with the symbols of its separate debug file where there is one.
    pub(crate) fn make(image: &Image<'_>, debug_file: Option<&[u8]>) -> Self {
        let unwind = UnwindTable::parse(image);
        let extra: Vec<DebugImage<'_>> =
            debug_file.into_iter().filter_map(|bytes| DebugImage::parse(bytes).ok()).collect();
        let functions = FunctionTable::discover(image, &unwind, &extra);
        let scan = CodeScan::of(image, &functions, &unwind);
        let code =
            ImageCode { image, ranges: image.code_ranges(), functions: &functions, unwind: &unwind, scan: &scan };
        let PlannedFunctions { verdicts, plans, exits } = PlannedFunctions::of(code);
        Self {
            first_address: image
                .load_segments()
                .first()
                .map_or_else(ImageOffset::default, |segment| ImageOffset(segment.start.0 & !4095)),
            build_id: image.build_id().map(<[u8]>::to_vec),
            table_hash: functions.hash(),
            originals: plans.iter().map(|(_, plan)| original_bytes(image, plan.patched())).collect(),
            exit_originals: exits.iter().map(|exit| original_bytes(image, exit.patched())).collect(),
            functions,
            verdicts,
            plans,
            exits,
        }
    }
}

fn original_bytes(image: &Image<'_>, patched: impl Iterator<Item = Range<ImageOffset>>) -> Originals {
    let mut originals = Originals::default();
    for (range, original) in patched.zip(&mut originals) {
        let at = range.start;
        if let Some(bytes) = image.code_range_at(at).and_then(|code| code.bytes_from(at)) {
            let length = ((range.end.0 - at.0) as usize).min(bytes.len());
            original[..length].copy_from_slice(&bytes[..length]);
        }
    }
    originals
}
