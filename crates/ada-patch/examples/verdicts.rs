//! How the functions of images would be hooked, and how long it takes to decide:  verdicts FILE…  (`-v` first: with each
//! function that would not be hooked fully)

use std::collections::BTreeMap;
use std::time::Instant;

use ada_image::{FunctionTable, Image, UnwindTable};
use ada_patch::{CodeScan, ImageCode, PlannedFunctions, Verdict};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut option = |name: &str| {
        let found = arguments.iter().position(|argument| argument == name);
        found.map(|at| arguments.remove(at)).is_some()
    };
    let verbose = option("-v");
    println!("  found  share | unwind   scan   plan (ms) | pads   file: verdicts");
    for path in arguments {
        let bytes = std::fs::read(&path)?;
        let image = Image::parse(&bytes)?;
        let begun = Instant::now();
        let unwind = UnwindTable::parse(&image);
        let unwinding = begun.elapsed();
        let functions = FunctionTable::discover(&image, &unwind, &[]);
        let begun = Instant::now();
        let scan = CodeScan::of(&image, &functions, &unwind);
        let scanning = begun.elapsed();
        let code = ImageCode {
            image: &image,
            ranges: image.code_ranges(),
            functions: &functions,
            unwind: &unwind,
            scan: &scan,
        };
        let begun = Instant::now();
        let PlannedFunctions { verdicts, .. } = PlannedFunctions::of(code);
        let planning = begun.elapsed();
        let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
        verdicts.iter().for_each(|verdict| *counts.entry(*verdict).or_default() += 1);
        let cold = counts.remove(&Verdict::Skipped(ada_patch::SkipReason::ColdPart)).unwrap_or(0);
        let skipped: usize =
            counts.iter().filter(|(verdict, _)| matches!(verdict, Verdict::Skipped(_))).map(|(_, count)| count).sum();
        let found = functions.len() - cold;
        print!(
            "{found:7} {:5.2}% | {:6.1} {:6.1} {:6.1}      | {:6} {path}:",
            (found - skipped) as f64 / found.max(1) as f64 * 100.0,
            unwinding.as_secs_f64() * 1e3,
            scanning.as_secs_f64() * 1e3,
            planning.as_secs_f64() * 1e3,
            unwind.landing_pads().len(),
        );
        counts.iter().for_each(|(verdict, count)| print!(" {count} {verdict};"));
        println!(" {cold} cold parts");
        if let Some(problem) = unwind.problem() {
            println!("  {problem}");
        }
        if verbose {
            for (index, verdict) in verdicts.iter().enumerate().filter(|(_, verdict)| **verdict != Verdict::Hooked) {
                println!("{} {verdict} {}", functions.functions()[index].start, functions.name(index).unwrap_or("?"));
            }
        }
    }
    Ok(())
}
