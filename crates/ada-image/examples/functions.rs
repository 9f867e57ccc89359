//! Lists what is found in images, and how long that takes:  functions FILE…  (`-v` first: with each function)

use std::time::{Duration, Instant};

use ada_image::{FunctionTable, Image, Sources, UnwindTable, demangle};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let verbose = arguments.first().is_some_and(|argument| argument == "-v");
    if verbose {
        arguments.remove(0);
    }
    println!(
        "functions symtab dynsym mini unwind-only named  fdes   rows | headers  unwind  functions   hash (best ms)"
    );
    for path in arguments {
        let bytes = std::fs::read(&path)?;
        let (image, headers) = best(|| Image::parse(&bytes));
        let image = image?;
        let (unwind, unwinding) = best(|| UnwindTable::parse(&image));
        let (table, discovery) = best(|| FunctionTable::discover(&image, &unwind, &[]));
        let (hash, hashing) = best(|| table.hash());
        let count = |wanted: fn(Sources) -> bool| table.functions().iter().filter(|f| wanted(f.sources)).count();
        println!(
            "{:9} {:6} {:6} {:4} {:11} {:5} {:5} {:6} | {:7.2} {:7.2} {:10.2} {:6.2}  {path} {hash:016x}",
            table.len(),
            count(|sources| sources.contains(Sources::SYMTAB)),
            count(|sources| sources.contains(Sources::DYNSYM)),
            count(|sources| sources.contains(Sources::MINI_DEBUG)),
            count(|sources| !sources.has_symbol()),
            (0..table.len()).filter(|&index| table.name(index).is_some()).count(),
            unwind.fdes().len(),
            unwind.row_count(),
            millis(headers),
            millis(unwinding),
            millis(discovery),
            millis(hashing),
        );
        for problem in [image.problem(), unwind.problem(), table.problem()].into_iter().flatten() {
            println!("  {problem}");
        }
        if verbose {
            for (index, function) in table.functions().iter().enumerate() {
                let names: Vec<_> = table.names(index).map(demangle).collect();
                println!("{:#x} {} {} {}", function.start.0, function.size, function.sources, names.join(" = "));
            }
        }
    }
    Ok(())
}

/// The result, and the shortest of five runs.
fn best<T>(mut run: impl FnMut() -> T) -> (T, Duration) {
    let mut shortest = Duration::MAX;
    for _ in 0..4 {
        let start = Instant::now();
        std::hint::black_box(run());
        shortest = shortest.min(start.elapsed());
    }
    let start = Instant::now();
    let result = run();
    (result, shortest.min(start.elapsed()))
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
