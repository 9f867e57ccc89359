//! An image with a verdict and a plan for each of its functions.

use std::path::Path;
use std::process::Command;

use ada_event::ImageOffset;
use ada_image::{FunctionTable, Image, UnwindTable};
use ada_patch::{CodeScan, ImageCode, PatchPlan, PlannedFunctions, Planner, Verdict};

/// What was planned for a function.
pub(crate) struct Planned {
    pub(crate) start: ImageOffset,
    pub(crate) name: Option<String>,
    pub(crate) verdict: Verdict,
    pub(crate) plan: Option<PatchPlan>,
}

/// Everything that was planned for an image.
pub(crate) fn plan(bytes: &[u8]) -> Vec<Planned> {
    let image = Image::parse(bytes).unwrap();
    let unwind = UnwindTable::parse(&image);
    let functions = FunctionTable::discover(&image, &unwind, &[]);
    let scan = CodeScan::of(&image, &functions, &unwind);
    let mut planner = Planner::new(ImageCode {
        image: &image,
        ranges: image.code_ranges(),
        functions: &functions,
        unwind: &unwind,
        scan: &scan,
    });
    let mut plan = |index| {
        let (verdict, plan) = planner.plan(index);
        let start = functions.functions()[index].start;
        Planned { start, name: functions.name(index).map(str::to_owned), verdict, plan }
    };
    (0..functions.len()).map(&mut plan).collect()
}

/// The same with exits.
pub(crate) fn plan_with_exits<R>(bytes: &[u8], then: impl FnOnce(&FunctionTable, PlannedFunctions) -> R) -> R {
    let image = Image::parse(bytes).unwrap();
    let unwind = UnwindTable::parse(&image);
    let functions = FunctionTable::discover(&image, &unwind, &[]);
    let scan = CodeScan::of(&image, &functions, &unwind);
    let code =
        ImageCode { image: &image, ranges: image.code_ranges(), functions: &functions, unwind: &unwind, scan: &scan };
    then(&functions, PlannedFunctions::of(code))
}

/// A program of `tests/programs/` at the root of the repository, built by `compiler`.
pub(crate) fn build(compiler: &str, source: &str, flags: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs").join(source);
    run(Command::new(compiler).arg("-o").arg(&path).arg(source).args(flags));
    std::fs::read(path).unwrap()
}

/// A library made of this assembler text.
pub(crate) fn assemble(text: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (path, source) = (folder.path().join("library"), folder.path().join("library.s"));
    std::fs::write(&source, format!("{text}\n")).unwrap();
    run(Command::new("gcc").args(["-shared", "-nostdlib", "-o"]).arg(&path).arg(source));
    std::fs::read(path).unwrap()
}

/// A library of the system, by the name that programs ask for.
pub(crate) fn system_library(name: &str) -> Vec<u8> {
    let path = run(Command::new("gcc").arg(format!("-print-file-name={name}")));
    std::fs::read(path.trim()).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; scripts/setup installs it"));
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
