//! Sessions for the commands to look at.

use std::fs;
use std::path::{Path, PathBuf};

use ada_testkit::atf::{LINUX, NO_DETAIL, detail, event, index, record, x86_call, x86_return};
use tempfile::TempDir;

/// A session in a folder that goes away with it.
pub(super) struct TestSession {
    folder: TempDir,
}

impl TestSession {
    /// Process 7 with thread 1, which calls a function with detail, and thread 2, which calls twice.
    pub(super) fn new() -> Self {
        let session = Self { folder: tempfile::tempdir().unwrap() };
        let function = 3 << 32 | 4;
        let call = x86_call([function, 0xa1, 0, 0, 0, 0, 0, 0, 0x40_1000, 0, 0x7fff_0000], b"\x00\x10\x40\0\0\0\0\0");
        let back = x86_return([function, 0x2a, 0, 0x40_1000, 0, 0x7fff_0008]);
        session.write(
            "thread_1/index.atf",
            &index(LINUX, 1, true, &[event(1000, function, 1, 1, 0, 0), event(1030, function, 1, 2, 0, 1)]),
        );
        session.write(
            "thread_1/detail.atf",
            &detail(LINUX, 1, &[record(3, 0, 1, 1000, &call), record(4, 1, 1, 1030, &back)]),
        );
        let events = [event(1010, 1, 2, 1, 0, NO_DETAIL), event(1020, 2, 2, 1, 1, NO_DETAIL)];
        session.write("thread_2/index.atf", &index(LINUX, 2, false, &events));
        let manifest = r#"{"threads": [{"id": 1, "has_detail": true}, {"id": 2, "has_detail": false}],
                           "time_start_ns": 1000, "time_end_ns": 1030}"#;
        session.write("manifest.json", manifest.as_bytes());
        session
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A file of the process.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path().join("pid_7").join(name)
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.file(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Leaves only the first bytes of a file.
    pub(super) fn cut(&self, name: &str, len: usize) {
        let bytes = fs::read(self.file(name)).unwrap();
        self.write(name, &bytes[..len]);
    }
}
