//! What fuzz targets, and some tests, call: everything that reads bytes which others have written.

mod hostile_rings;

use std::io;

use ada_event::RuntimeAddr;
use ada_patch::{AgentEntries, Arena, StubOptions};
use ada_process::maps::{LoadedFile, Mapping};

pub use self::hostile_rings::hostile_rings;
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
