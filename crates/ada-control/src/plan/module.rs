//! A hooked image, as the session lists it.

use std::sync::Arc;

use ada_event::ModuleId;
use ada_image::FunctionTable;
use ada_patch::{SkipReason, Verdict};
use ada_process::maps::LoadedFile;

use crate::file_id::FileId;
use crate::plan::captured_functions::CapturedFunctions;
use crate::plan::earlier_runs::id_of;
use crate::plan::planned_image::PlannedImage;
use crate::program_id::ProgramId;

/// An image of the target, with the verdict on each of its functions.
pub struct Module {
    /// Its number in the session.
    pub id: ModuleId,
    /// The program that has loaded it.
    pub(crate) program: ProgramId,
    pub(crate) file: LoadedFile,
    pub(crate) bias: u64,
    /// The biases of further copies of it in the same program.
    pub(crate) other_biases: Vec<u64>,
    pub(crate) build_id: Option<Vec<u8>>,
    pub(crate) functions: Arc<FunctionTable>,
    pub(crate) table_hash: u64,
    pub(crate) verdicts: Arc<[Verdict]>,
    /// The process's number for this image's first function.
    pub(crate) first_function: u32,
    /// Of which functions values are captured.
    pub(crate) captured: Arc<CapturedFunctions>,
}

impl Module {
    pub(crate) fn new(program: ProgramId, id: ModuleId, first_function: u32, image: PlannedImage) -> Self {
        let PlannedImage { file, bias, build_id, functions, table_hash, verdicts, .. } = image;
        let (functions, verdicts) = (Arc::new(functions), verdicts.into());
        let (captured, other_biases) = (Arc::default(), Vec::new());
        Self {
            id,
            program,
            file,
            bias,
            other_biases,
            build_id,
            functions,
            table_hash,
            verdicts,
            first_function,
            captured,
        }
    }

    /// The same image in another program, which has it elsewhere.
    pub(crate) fn in_program(&self, program: ProgramId, file: LoadedFile) -> Self {
        Self {
            id: self.id,
            program,
            bias: self.bias.wrapping_add(file.start.wrapping_sub(self.file.start)),
            other_biases: Vec::new(),
            file,
            build_id: self.build_id.clone(),
            functions: self.functions.clone(),
            table_hash: self.table_hash,
            verdicts: self.verdicts.clone(),
            first_function: self.first_function,
            captured: self.captured.clone(),
        }
    }

    /// Shares what is the same with another program's module of the same file: tables are large.
    pub(crate) fn share_with(&mut self, other: &Self) {
        if self.table_hash == other.table_hash && self.file.path == other.file.path {
            self.functions = other.functions.clone();
            if self.verdicts == other.verdicts {
                self.verdicts = other.verdicts.clone();
            }
        }
    }

    /// A function's name, or its module and offset where it has none.
    pub(crate) fn name_of(&self, index: usize) -> String {
        let module_and_offset = || {
            let file = self.file.path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            let start = self.functions.functions().get(index).map_or(0, |function| function.start.0);
            format!("{file}+{start:#x}")
        };
        self.functions.name(index).map_or_else(module_and_offset, |name| ada_image::demangle(name).into_owned())
    }

    /// What is known of it by earlier runs is known by this.
    pub(crate) fn file_id(&self) -> Option<FileId> {
        id_of(&self.file.path, self.build_id.as_deref())
    }

    /// How many functions are left alone because they did harm before.
    pub(crate) fn quarantined(&self) -> usize {
        self.verdicts.iter().filter(|verdict| **verdict == Verdict::Skipped(SkipReason::Quarantined)).count()
    }
}
