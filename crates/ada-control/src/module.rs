//! A hooked image, as the session tells of it.

use ada_event::{FunctionId, ModuleId};
use ada_image::FunctionTable;
use ada_patch::Verdict;

use crate::maps::LoadedFile;
use crate::planned_image::PlannedImage;

/// An image of the target, with the verdict on each of its functions.
pub struct Module {
    /// Its number in the session.
    pub id: ModuleId,
    /// The number of the program that has loaded it.
    pub(crate) image: u32,
    pub(crate) file: LoadedFile,
    pub(crate) bias: u64,
    pub(crate) build_id: Option<Vec<u8>>,
    pub(crate) functions: FunctionTable,
    pub(crate) table_hash: u64,
    pub(crate) verdicts: Vec<Verdict>,
    /// The process's number for this image's first function.
    pub(crate) first_function: u32,
}

impl Module {
    pub(crate) fn new(program: u32, id: ModuleId, first_function: u32, image: PlannedImage) -> Self {
        let PlannedImage { file, bias, build_id, functions, table_hash, verdicts, .. } = image;
        Self { id, image: program, file, bias, build_id, functions, table_hash, verdicts, first_function }
    }

    /// How many functions record their calls.
    pub(crate) fn hooked(&self) -> usize {
        self.verdicts.iter().filter(|verdict| !matches!(verdict, Verdict::Skipped(_))).count()
    }

    /// The ids of this image's functions, in the order of their numbers.
    pub(crate) fn function_ids(&self) -> impl Iterator<Item = FunctionId> + '_ {
        (0..self.functions.len() as u32).map(|index| FunctionId::new(self.id, index))
    }
}
