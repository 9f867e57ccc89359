//! What fuzz targets, and some tests, call: everything that reads bytes which others have written.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use ada_event::{ModuleId, RuntimeAddr};
use ada_format::atf::Store;
use ada_patch::{AgentEntries, Arena, StubOptions};
use ada_process::maps::{LoadedFile, Mapping};
use ada_process::{Clock, this_process};
use ada_ring::{ChunkHeader, Control, DetailMode, DetailShape, OnFull, Pool, RECORDS_END};

use crate::drain::Drain;
use crate::drain::session::SessionFiles;
use crate::install::function_numbers::FunctionNumbers;
use crate::install::shared_memory::SharedMemory;
use crate::install::site_table;
use crate::plan::image_plan::ImagePlan;
use crate::plan::planned_image::PlannedImage;

/// Reads a stored plan, of which these are the lists, and lays it out.
#[cfg(fuzzing)]
pub fn stored_plan(bytes: &[u8]) {
    crate::plan::plan_cache::decode_lists(bytes, b"key").into_iter().for_each(lay_out);
}

/// What the installer makes of a plan that somebody may have forged: patches that stay within the image.
pub(crate) fn lay_out(plan: ImagePlan) {
    let (start, base) = (RuntimeAddr(0x5555_5555_0000), RuntimeAddr(0x5555_5000_0000));
    let file = LoadedFile { path: "/bin/ls".into(), start, end: start + (1 << 20) };
    let is_main = |name: Option<&str>| (name == Some("main")).then_some(ada_patch::SkipReason::Excluded);
    let image = PlannedImage::of_run(plan, file, None, |_, name, _| is_main(name));
    let (entries, options) = (AgentEntries::default(), StubOptions::default());
    let mut arena = Arena::new(base, &entries, &options, image.functions.len(), image.exits.len()).unwrap();
    for (index, patch) in &image.plans {
        let _ = arena.add(&patch.at_bias(image.bias), *index, *index as u32, None);
        let ends = patch.patched().flat_map(|range| [range.start, range.end]);
        assert!(ends.into_iter().all(|at| (start..=start + (1 << 20)).contains(&at.at_bias(image.bias))));
    }
    for (exit, _) in &image.exits {
        let _ = arena.add_exit(&exit.at_bias(image.bias), exit.function);
        let ends = exit.patched().flat_map(|range| [range.start, range.end]);
        assert!(ends.into_iter().all(|at| (start..=start + (1 << 20)).contains(&at.at_bias(image.bias))));
    }
}

/// Looks for tables of hooks in memory that ends with these bytes.
pub fn site_tables(bytes: &[u8]) {
    const PAGE: usize = 4096;
    const AT: RuntimeAddr = RuntimeAddr(0x5555_0000_0000);
    let mut memory = vec![0; bytes.len().next_multiple_of(PAGE) - bytes.len()];
    memory.extend_from_slice(bytes);
    let end = AT + memory.len() as u64;
    let path = "/memfd:ada (deleted)".to_owned();
    let mapping = Mapping { start: AT, end, executable: true, read_only: false, file_offset: 0x7000, inode: 7, path };
    let read = |address: RuntimeAddr, to: &mut [u8]| {
        let from = address.0.checked_sub(AT.0).ok_or(io::ErrorKind::InvalidInput)? as usize;
        let end = from.checked_add(to.len()).ok_or(io::ErrorKind::InvalidInput)?;
        to.copy_from_slice(memory.get(from..end).ok_or(io::ErrorKind::InvalidInput)?);
        Ok(())
    };
    let found = site_table::find([mapping].iter(), read);
    let sites: usize = found.iter().map(|(_, sites)| sites.len()).sum();
    assert!(sites <= memory.len(), "more sites than bytes");
}

/// Drains rings in which a target writes whatever it likes, also between two rounds. Each step is twelve bytes: what is
/// done, of which chunk, where, and a value. The session goes into `folder`.
pub fn hostile_rings(bytes: &[u8], folder: &Path) {
    let Some((&[first, vectors], steps)) = bytes.split_first_chunk() else { return };
    let detail = [DetailMode::Off, DetailMode::Windows, DetailMode::All][usize::from(first) % 3];
    let store = if first & 0x80 == 0 { Store::Packed } else { Store::Raw };
    let shape = DetailShape { window: usize::from(first >> 2 & 3) * 64, vectors: vectors & 1 != 0 };
    let shared = SharedMemory::new(4, OnFull::Wait, detail).expect("memory for rings");
    let pool = shared.pool();
    let mut numbers = FunctionNumbers::default();
    numbers.add(ModuleId(1), 0, 300);
    let mut drain = Drain::new(pool, Clock::in_nanoseconds(0), Arc::new(RwLock::new(numbers)), shape);
    let mut files = SessionFiles::create(folder, this_process(), store).expect("a session's folder");
    for step in steps.as_chunks::<12>().0 {
        let at = usize::from(u16::from_le_bytes([step[2], step[3]]));
        let value = u64::from_le_bytes(std::array::from_fn(|byte| step[4 + byte]));
        if step[0] % 8 == 0 {
            drain.round(&mut files, false);
        } else {
            change(&pool, step[0] % 8, usize::from(step[1] % 8), at, value);
        }
    }
    drain.round(&mut files, true);
    drain.flush(&mut files);
    drain.finish_windows(&files);
}

fn change(pool: &Pool, what: u8, chunk: usize, at: usize, value: u64) {
    let record = |at: usize| pool.records(chunk).wrapping_add(at * 8 % RECORDS_END).cast::<AtomicU64>();
    let word = |start: *const u8, bytes: usize| start.wrapping_add(at * 4 % (bytes & !3)).cast::<AtomicU32>();
    let header: *const ChunkHeader = pool.header(chunk);
    let control: *const Control = pool.control();
    // SAFETY: all of these lie within the pool's memory, which is shared, and made for eight chunks and more.
    unsafe {
        match what {
            1 => (*record(at)).store(value, Ordering::Relaxed),
            2 => (*word(header.cast(), size_of::<ChunkHeader>())).store(value as u32, Ordering::Relaxed),
            3 => pool.control().chunks[chunk].store(value as u32 % 6, Ordering::Relaxed),
            // What stands first, before tables that fill the rest.
            4 => (*word(control.cast(), 128)).store(value as u32, Ordering::Relaxed),
            5 => (*word(control.cast(), size_of::<Control>())).store(value as u32, Ordering::Relaxed),
            // A whole row of records, so that chunks come to their end.
            6 => (0..RECORDS_END / 16).skip(at).for_each(|number| {
                (*record(number * 2 + 1)).store(value ^ number as u64, Ordering::Relaxed);
                (*record(number * 2)).store(value >> 8 | 1, Ordering::Relaxed);
            }),
            // A thread that nobody has.
            _ => {
                (*header).pid.store(this_process().0, Ordering::Relaxed);
                (*header).tid.store(at as u32, Ordering::Relaxed);
                (*header).lane.store(value as u32 % 4, Ordering::Relaxed);
                pool.control().chunks[chunk].store(2 + (value >> 8) as u32 % 2, Ordering::Relaxed);
            }
        }
    }
}
