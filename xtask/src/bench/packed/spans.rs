//! How long the tables of spans take, from a raw session and from the same one packed.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::dense::{SHORT, dense_python, sync};
use super::{Recorded, Subject, record};
use crate::bench::Bench;
use crate::bench::child;
use crate::bench::statistics::Spread;

/// Seconds on the wall, and each round's packed part by its raw one: what slows the machine down slows both.
pub(super) struct Spans {
    pub(super) raw: Spread,
    pub(super) packed: Spread,
    pub(super) packed_by_raw: Spread,
}

/// Whether the session's files are in memory when they are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Files {
    Known,
    OnDisk,
}

/// The same session in both forms.
struct BothForms {
    raw: Recorded,
    packed: Recorded,
}

/// Measures with the files in memory, and with the files on the disk only.
pub(super) fn measure(bench: &Bench) -> anyhow::Result<[Spans; 2]> {
    eprintln!("xtask:   spans");
    let forms = BothForms::record(bench)?;
    sync(bench)?;
    Ok([
        forms.measure(bench, Files::Known, bench.rounds(25, 1))?,
        forms.measure(bench, Files::OnDisk, bench.rounds(7, 1))?,
    ])
}

impl Spans {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "raw_s": self.raw.to_json(),
            "packed_s": self.packed.to_json(),
            "packed_by_raw": self.packed_by_raw.to_json(),
        })
    }
}

impl BothForms {
    fn record(bench: &Bench) -> anyhow::Result<Self> {
        let raw = record(bench, &Subject::Command(dense_python(SHORT)), &["--detail", "off"])?;
        let packed = Recorded(raw.path().with_extension("packed"));
        let mut copy = Command::new("cp");
        child::run(copy.arg("-a").arg(raw.path()).arg(packed.path()), &bench.scratch, false)?.succeeded("cp")?;
        let mut ada = Command::new(bench.ada.path());
        child::run(ada.arg("pack").arg(packed.path()), &bench.scratch, false)?.succeeded("ada pack")?;
        Ok(Self { raw, packed })
    }

    fn measure(&self, bench: &Bench, files: Files, rounds: usize) -> anyhow::Result<Spans> {
        let (mut raw, mut packed) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            raw.push(seconds(bench, self.raw.path(), files)?);
            packed.push(seconds(bench, self.packed.path(), files)?);
        }
        let ratios: Vec<f64> = packed.iter().zip(&raw).map(|(packed, raw)| packed / raw).collect();
        let spread = |values: Vec<f64>| Spread::of(values).context("no round was measured");
        Ok(Spans { raw: spread(raw)?, packed: spread(packed)?, packed_by_raw: spread(ratios)? })
    }
}

/// Makes the tables anew.
fn seconds(bench: &Bench, session: &Path, files: Files) -> anyhow::Result<f64> {
    for process in children(session)? {
        let derived = process.join("derived");
        if derived.exists() {
            fs::remove_dir_all(derived)?;
        }
    }
    // Tables of the round before may still be on their way to the disk.
    sync(bench)?;
    if files == Files::OnDisk {
        thread_files(session)?.iter().try_for_each(|file| forget(file))?;
    }
    let mut ada = Command::new(bench.ada.path());
    let finished = child::run(ada.arg("threads").arg(session), &bench.scratch, false)?.succeeded("ada threads")?;
    Ok(finished.wall.as_secs_f64())
}

fn children(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let folders = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    Ok(folders.collect::<std::io::Result<Vec<PathBuf>>>()?.into_iter().filter(|path| path.is_dir()).collect())
}

fn thread_files(session: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for process in children(session)? {
        for thread in children(&process)? {
            for entry in fs::read_dir(thread)? {
                files.push(entry?.path());
            }
        }
    }
    Ok(files)
}

/// Lets the operating system forget what it knows of a file that is on the disk.
#[allow(unsafe_code)]
fn forget(path: &Path) -> anyhow::Result<()> {
    let file = File::open(path)?;
    // SAFETY: the descriptor is open for as long as the call takes, and the call touches no memory of this process.
    let refused = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    ensure!(refused == 0, "{}: {}", path.display(), std::io::Error::from_raw_os_error(refused));
    Ok(())
}
