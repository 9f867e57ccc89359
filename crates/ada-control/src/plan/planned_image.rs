//! One loaded file, planned: every function with its verdict, ready to be laid out.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use ada_event::{ImageOffset, RuntimeAddr};
use ada_image::{FunctionTable, Image, ImageError};
use ada_patch::{EntryOnlyReason, ExitPlan, PatchPlan, Relay, SkipReason, StubKind, Verdict};
use ada_process::maps::LoadedFile;

use crate::options::LeftAlone;
use crate::plan::debug_files::{DebugFile, DebugFiles};
use crate::plan::image_file::ImageFile;
use crate::plan::image_plan::{ImagePlan, Originals};
use crate::plan::plan_cache::{PlanCache, PlanKey};

/// A file's functions and what is to be done with each.
pub(crate) struct PlannedImage {
    pub(crate) file: LoadedFile,
    /// What the loader has added to each of the image's addresses.
    pub(crate) bias: u64,
    pub(crate) build_id: Option<Vec<u8>>,
    pub(crate) debug_file: Option<DebugFile>,
    pub(crate) functions: FunctionTable,
    pub(crate) table_hash: u64,
    pub(crate) verdicts: Vec<Verdict>,
    /// The plans, by function number; none for skipped ones.
    pub(crate) plans: Vec<(usize, PatchPlan)>,
    /// The bytes that each plan's patches will replace, in the order of the plans.
    pub(crate) originals: Vec<Originals>,
    /// The exits, and the bytes that each one's patches will replace.
    pub(crate) exits: Vec<(ExitPlan, Originals)>,
}

/// Which functions are left alone.
pub(crate) type Exclude<'a> = &'a LeftAlone;

impl PlannedImage {
    /// Reads and plans a file, unless the cache has done so before. `loader_function` is the runtime address of the
    /// loader's notification function.
    pub(crate) fn plan(
        file: LoadedFile,
        cache: &PlanCache,
        debug_files: &DebugFiles,
        loader_function: Option<RuntimeAddr>,
        exclude: Exclude<'_>,
        is_needed: impl Fn(&FunctionTable, usize) -> bool,
    ) -> Result<Self, ImageError> {
        let on_disk = ImageFile::open(&file.path).ok();
        let image = Image::parse(on_disk.as_ref().map_or(&[], ImageFile::bytes))?;
        let debug_file = image.build_id().and_then(|id| debug_files.find(id));
        let debug_bytes = debug_file.as_ref().and_then(DebugFile::open);
        let key = on_disk.as_ref().map(|on_disk| PlanKey::new(on_disk, &image, debug_bytes.as_ref()));
        let plan = key.as_ref().and_then(|key| cache.load(key)).unwrap_or_else(|| {
            let plan = ImagePlan::make(&image, debug_bytes.as_ref().map(ImageFile::bytes));
            if let Some(key) = &key {
                cache.keep(key, &plan);
            }
            plan
        });
        let quarantined = exclude.quarantine.of(image.build_id(), on_disk.as_ref().map_or(&[], ImageFile::bytes));
        let needed: HashSet<ImageOffset> = match exclude.only.is_empty() {
            false => {
                let needed = (0..plan.functions.len()).filter(|index| is_needed(&plan.functions, *index));
                needed.map(|index| plan.functions.functions()[index].start).collect()
            }
            true => HashSet::new(),
        };
        let planned = Self::of_run(plan, file, loader_function, |path, name, start| {
            let is_quarantined = quarantined.is_some_and(|quarantined| quarantined.has(start));
            // Asked of every function: the patterns know whether they were met.
            let is_wanted =
                exclude.only.is_empty() || exclude.only.has_function(path, name, start) || needed.contains(&start);
            let is_excluded = || !is_wanted || (exclude.excluded)(path, name, start);
            if is_quarantined { Some(SkipReason::Quarantined) } else { is_excluded().then_some(SkipReason::Excluded) }
        });
        Ok(Self { debug_file, ..planned })
    }

    /// Applies a plan to the address where its file is loaded, and to what is left alone, for a reason.
    pub(crate) fn of_run(
        plan: ImagePlan,
        file: LoadedFile,
        loader_function: Option<RuntimeAddr>,
        left_alone: impl Fn(&Path, Option<&str>, ImageOffset) -> Option<SkipReason>,
    ) -> Self {
        let ImagePlan { first_address, build_id, functions, table_hash, verdicts, plans, originals, .. } = plan;
        let exits = plan.exits.into_iter().zip(plan.exit_originals).collect();
        let bias = file.start.0.wrapping_sub(first_address.0);
        let loaded = first_address..ImageOffset(first_address.0.saturating_add(file.end - file.start));
        let debug_file = None;
        let mut image =
            Self { file, bias, build_id, debug_file, functions, table_hash, verdicts, plans, originals, exits };
        let is_within = |range: &Range<ImageOffset>| loaded.start <= range.start && range.end <= loaded.end;
        let is_loaded = |plan: &PatchPlan| plan.patched().all(|range| is_within(&range));
        let is_loaded_exit = |exit: &ExitPlan| exit.patched().all(|range| is_within(&range));
        image.exits.retain(|(exit, _)| is_loaded_exit(exit));
        let mut is_excluded = false;
        for (index, _) in image.plans.iter().filter(|(_, plan)| !is_loaded(plan)) {
            image.verdicts[*index] = Verdict::Skipped(SkipReason::TextDiffers);
            is_excluded = true;
        }
        for index in 0..image.functions.len() {
            let start = image.functions.functions()[index].start;
            // One function that uses the base is enough, whoever wants it to be hooked or not.
            let uses_gs = image.verdicts[index] == Verdict::Skipped(SkipReason::GsInUse);
            let reason = left_alone(&image.file.path, image.functions.name(index), start);
            if let Some(reason) = reason.filter(|_| !uses_gs) {
                image.verdicts[index] = Verdict::Skipped(reason);
                is_excluded = true;
            }
        }
        let function_at = |address: RuntimeAddr| image.functions.index_at(address.in_image(bias));
        if let Some(index) = loader_function.and_then(function_at) {
            image.verdicts[index] = Verdict::Skipped(SkipReason::LoaderNotification);
            is_excluded = true;
        }
        if is_excluded {
            image.drop_plans_of_skipped();
        }
        // Several functions may be left at one exit.
        image.exits.dedup_by_key(|(exit, _)| exit.at);
        image
    }

    /// Whether a function of it uses the base at which stubs find a thread's state.
    pub(crate) fn uses_gs(&self) -> bool {
        self.verdicts.contains(&Verdict::Skipped(SkipReason::GsInUse))
    }

    /// Plans no hook at all, because the program uses that base.
    pub(crate) fn leave_gs_alone(&mut self) {
        self.verdicts.fill(Verdict::Skipped(SkipReason::GsInUse));
        self.drop_plans_of_skipped();
        self.exits.clear();
    }

    fn drop_plans_of_skipped(&mut self) {
        // The code of a function that is left alone does not give way to others' relays either.
        let is_left_alone = |verdicts: &[Verdict], at: ImageOffset| {
            self.functions.index_containing(at).is_some_and(|index| matches!(verdicts[index], Verdict::Skipped(_)))
        };
        let evicts = |relay: Option<Relay>| relay.is_some_and(|relay| relay.evicted.is_some());
        for (index, plan) in &self.plans {
            let mut relay = plan.patched().skip(1);
            if evicts(plan.relay) && relay.any(|range| is_left_alone(&self.verdicts, range.start)) {
                self.verdicts[*index] = Verdict::Skipped(SkipReason::NoRoom);
            }
        }
        let verdicts = &self.verdicts;
        let is_skipped = |index: usize| matches!(verdicts[index], Verdict::Skipped(_));
        let sites = std::mem::take(&mut self.plans).into_iter().zip(std::mem::take(&mut self.originals));
        (self.plans, self.originals) = sites.filter(|((index, _), _)| !is_skipped(*index)).unzip();
        let mut unseen = HashSet::new();
        self.exits.retain(|(exit, _)| {
            if is_skipped(exit.function as usize) {
                return false;
            }
            let is_kept = !evicts(exit.relay) || !exit.patched().any(|range| is_left_alone(verdicts, range.start));
            unseen.extend((!is_kept).then_some(exit.function as usize));
            is_kept
        });
        for (index, plan) in self.plans.iter_mut().filter(|(index, _)| unseen.contains(index)) {
            self.verdicts[*index] = Verdict::EntryOnly(EntryOnlyReason::UnseenExits);
            plan.kind = StubKind::EntryOnly;
        }
    }
}
