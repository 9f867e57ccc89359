//! One loaded file, planned: every function with its verdict, ready to be laid out.

use std::fs;
use std::ops::Range;
use std::path::Path;

use ada_event::ImageOffset;
use ada_image::{DebugImage, FunctionTable, Image, ImageError, UnwindTable};
use ada_patch::{CodeScan, PatchPlan, Planner, Relays, SkipReason, Verdict};

use crate::maps::LoadedFile;

/// A file's functions and what is to be done with each.
pub(crate) struct PlannedImage {
    pub(crate) file: LoadedFile,
    /// What the loader has added to each of the image's addresses.
    pub(crate) bias: u64,
    pub(crate) build_id: Option<Vec<u8>>,
    pub(crate) functions: FunctionTable,
    pub(crate) verdicts: Vec<Verdict>,
    /// The plans, by function number; none for skipped ones.
    pub(crate) plans: Vec<(usize, PatchPlan)>,
    /// The bytes that each plan's patches will replace, in the order of the plans.
    pub(crate) originals: Vec<Originals>,
    /// Addresses of code with unwind information, before the bias.
    pub(crate) covered: Vec<Range<u64>>,
}

/// The bytes at each patch of a plan, in the order of the patches.
pub(crate) type Originals = [[u8; 5]; 2];

/// Which functions the user does not want.
pub(crate) type Exclude<'a> = &'a (dyn Fn(&Path, Option<&str>, ImageOffset) -> bool + Sync);

impl PlannedImage {
    /// Reads and plans a file. `loader_function` is the runtime address of the loader's notification function.
    pub(crate) fn plan(file: LoadedFile, loader_function: u64, exclude: Exclude<'_>) -> Result<Self, ImageError> {
        let bytes = fs::read(&file.path).unwrap_or_default();
        let image = Image::parse(&bytes)?;
        let unwind = UnwindTable::parse(&image);
        let mini = image.mini_debug_info().and_then(Result::ok).unwrap_or_default();
        let separate = image.build_id().and_then(separate_debug_file).unwrap_or_default();
        let extra: Vec<DebugImage<'_>> =
            [&mini, &separate].into_iter().filter_map(|bytes| DebugImage::parse(bytes).ok()).collect();
        let functions = FunctionTable::discover(&image, &unwind, &extra);
        let scan = CodeScan::of(image.code_ranges(), &functions, &unwind);
        let mut planner = Planner {
            ranges: image.code_ranges(),
            functions: &functions,
            unwind: &unwind,
            scan: &scan,
            moving_frames: image.uses_go(),
            relays: Relays::default(),
        };
        let first = image.load_segments().first().map_or(0, |segment| segment.start.0 & !4095);
        let bias = file.start.wrapping_sub(first);
        let mut verdicts = Vec::with_capacity(functions.len());
        let (mut plans, mut originals) = (Vec::new(), Vec::new());
        for index in 0..functions.len() {
            let start = functions.functions()[index].start;
            let (verdict, plan) = if start.at_bias(bias).0 == loader_function {
                (Verdict::Skipped(SkipReason::LoaderNotification), None)
            } else if exclude(&file.path, functions.name(index), start) {
                (Verdict::Skipped(SkipReason::Excluded), None)
            } else {
                planner.plan(index)
            };
            verdicts.push(verdict);
            if let Some(plan) = plan {
                originals.push(original_bytes(&image, &plan));
                plans.push((index, plan));
            }
        }
        let covered = covered_ranges(&image, &unwind);
        let build_id = image.build_id().map(<[u8]>::to_vec);
        Ok(Self { file, bias, build_id, functions, verdicts, plans, originals, covered })
    }
}

fn original_bytes(image: &Image<'_>, plan: &PatchPlan) -> Originals {
    let mut originals = Originals::default();
    for (range, original) in plan.patched().zip(&mut originals) {
        let at = ImageOffset(range.start);
        if let Some(bytes) = image.code_range_at(at).and_then(|code| code.bytes_from(at)) {
            let length = ((range.end - range.start) as usize).min(bytes.len());
            original[..length].copy_from_slice(&bytes[..length]);
        }
    }
    originals
}

/// Without unwind tables (a hand-made or stripped-down image) all of its code counts: it was compiled ahead of time, and
/// nothing generated looks at its return slots.
fn covered_ranges(image: &Image<'_>, unwind: &UnwindTable) -> Vec<Range<u64>> {
    if unwind.fdes().len() < 2 {
        return image.code_ranges().iter().map(|range| range.start.0..range.end().0).collect();
    }
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for fde in unwind.fdes() {
        match ranges.last_mut() {
            Some(last) if fde.start.0 <= last.end + 4096 => last.end = last.end.max(fde.end.0 + 1),
            _ => ranges.push(fde.start.0..fde.end.0 + 1),
        }
    }
    ranges
}

/// Where Debian and others put symbols that were split off, by build-id.
fn separate_debug_file(build_id: &[u8]) -> Option<Vec<u8>> {
    let hex: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (folder, name) = hex.split_at_checked(2)?;
    fs::read(format!("/usr/lib/debug/.build-id/{folder}/{name}.debug")).ok()
}
