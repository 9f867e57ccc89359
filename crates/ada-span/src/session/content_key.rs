//! Which trace, and which analysis of it, a process's tables were made from.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ada_format::atf::{Process, functions_file};

use crate::analysis::ANALYSIS_VERSION;

/// The fingerprint of what a process's tables are made from: its files, their sizes, checksums and times, the manifest, the
/// function lists, the analysis's version and its options.
pub fn content_key(process: &Process, timeout_ns: u64) -> u64 {
    let mut hash = Fnv::default();
    hash.number(ANALYSIS_VERSION).number(timeout_ns);
    let mut file = |path: &Path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        hash.number(bytes.len() as u64).number(crc32fast::hash(&bytes).into());
    };
    file(&process.path.join("manifest.json"));
    file(&process.path.join("shared_memory.tsv"));
    for module in process.manifest.iter().flat_map(|manifest| &manifest.modules) {
        file(&process.path.join(functions_file(module.module_id)));
    }
    for thread in &process.threads {
        let index = thread.index();
        hash.number(thread.id().0.into()).number(index.len()).number(index.fingerprint());
        if let Some(detail) = thread.detail() {
            hash.number(detail.len()).number(thread.byte_count());
            hash.number(detail.fingerprint());
        }
    }
    // What the files hold has checksums, which are checked where it is read. That somebody has written to them since is
    // seen by their times.
    for path in process.thread_files() {
        let written = std::fs::metadata(path).map(|it| (it.mtime(), it.mtime_nsec()));
        let (seconds, nanos) = written.unwrap_or_default();
        hash.number(seconds.cast_unsigned()).number(nanos.cast_unsigned());
    }
    hash.0
}

/// The hash of Fowler, Noll and Vo, 64 bits.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn number(&mut self, number: u64) -> &mut Self {
        for byte in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self
    }
}
