//! Analyses the first process of a session into a folder of temporary files, and says how long it took.

use std::time::Instant;

use ada_format::atf::Session;
use ada_span::table::{Column, Columns};
use ada_span::{ProcessTrace, analyze, function_traits, replay_options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: analyze_session SESSION")?;
    let session = Session::open(path)?;
    let process = session.processes().first().ok_or("the session has no process")?;
    let folder = std::env::temp_dir().join(format!("analyze-session-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let events: u64 = process.threads.iter().map(|thread| thread.event_count()).sum();
    let begun = Instant::now();
    let traits = function_traits(process, &[]);
    let options = replay_options(process, &traits, 5_000_000_000);
    let tables = analyze(&ProcessTrace(process), &traits, &options, 0, &folder, &|_| ())?;
    let took = begun.elapsed().as_secs_f64();
    let bytes: u64 = std::fs::read_dir(&folder)?.filter_map(|it| it.ok()?.metadata().ok()).map(|it| it.len()).sum();
    println!("{events} events in {took:.2} s: {:.1} M/s; tables of {bytes} bytes", events as f64 / took / 1e6);
    for (what, wanted) in [("all columns", None), ("one column", Some(Column::Duration))] {
        let begun = Instant::now();
        let mut columns = Columns::new();
        let (mut rows, mut sum) = (0_u64, 0_u64);
        for block in 0..tables.meta().blocks.len() {
            tables.read(block, |column| wanted.is_none_or(|it| it == column), &mut columns)?;
            rows += columns.rows() as u64;
            sum += columns.get(Column::Duration).iter().sum::<u64>();
        }
        let took = begun.elapsed().as_secs_f64();
        println!("scan of {what}: {rows} rows, {:.1} M/s (sum {sum})", rows as f64 / took / 1e6);
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
