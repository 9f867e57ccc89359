//! The files of the shared memory, open in a target.

use std::fs::File;
use std::io;

use ada_event::{ProcessId, RuntimeAddr};
use ada_process::procfs::ProcessDir;
use ada_process::{Remote, SystemCall};

use crate::error::ControlError;
use crate::install::shared_memory::SharedMemory;

/// How rings are mapped, …
const RINGS: i32 = libc::MAP_SHARED;
/// … and code: a process sees what ada writes there, until it lets calls pass by itself, in pages of its own
/// (`ada-agent/passing.rs`).
const CODE: i32 = libc::MAP_PRIVATE;

/// A file of the shared memory, open in the target for as long as this lives: closed by [`Self::close`], because a
/// descriptor that stays would be the target's to see, count and close.
pub(crate) struct OpenInTarget {
    descriptor: u64,
    /// Flags of its mappings.
    mapped: i32,
}

/// A part of a file, and where it is to be.
pub(crate) struct MappedPart {
    pub(crate) address: RuntimeAddr,
    pub(crate) length: u64,
    pub(crate) protection: i32,
    pub(crate) offset: u64,
}

impl OpenInTarget {
    /// The rings.
    pub(crate) fn rings(remote: &dyn Remote, shared: &SharedMemory) -> Result<Self, ControlError> {
        Ok(Self { descriptor: open(remote, &shared.rings_path(), libc::O_RDWR)?, mapped: RINGS })
    }

    /// The code and the orders.
    pub(crate) fn code(remote: &dyn Remote, shared: &SharedMemory) -> Result<Self, ControlError> {
        Ok(Self { descriptor: open(remote, &shared.code.path(), libc::O_RDONLY)?, mapped: CODE })
    }

    /// An empty memfd for the rings that the target makes itself: it may not be allowed to open what is ada's. `name` is the
    /// address of its name.
    pub(crate) fn new_rings(remote: &dyn Remote, name: u64) -> Result<Self, ControlError> {
        Ok(Self { descriptor: make(remote, name)?, mapped: RINGS })
    }

    /// The same for the code.
    pub(crate) fn new_code(remote: &dyn Remote, name: u64) -> Result<Self, ControlError> {
        Ok(Self { descriptor: make(remote, name)?, mapped: CODE })
    }

    /// The file, opened by ada.
    pub(crate) fn file_of(&self, pid: ProcessId) -> io::Result<File> {
        File::options().read(true).write(true).open(ProcessDir::of(pid).descriptor(self.descriptor))
    }

    /// The call that maps a part exactly at its address, where nothing is mapped.
    fn call(&self, part: &MappedPart) -> SystemCall {
        let flags = (self.mapped | libc::MAP_FIXED_NOREPLACE) as u64;
        SystemCall {
            number: libc::SYS_mmap,
            arguments: [part.address.0, part.length, part.protection as u64, flags, self.descriptor, part.offset],
        }
    }

    /// Maps parts of the file, each exactly at its address, where nothing is mapped.
    pub(crate) fn map(&self, remote: &dyn Remote, parts: &[MappedPart]) -> io::Result<()> {
        map_all_and(remote, &parts.iter().map(|part| (self, part)).collect::<Vec<_>>(), &[])
    }

    pub(crate) fn close(self, remote: &dyn Remote) -> Result<(), ControlError> {
        remote
            .system_call(libc::SYS_close, [self.descriptor, 0, 0, 0, 0, 0])
            .map(|_| ())
            .map_err(injected("closing the shared memory"))
    }
}

/// Maps parts of files, each exactly at its address, where nothing is mapped, and then makes other calls, all in one go.
pub(crate) fn map_all_and(
    remote: &dyn Remote,
    parts: &[(&OpenInTarget, &MappedPart)],
    others: &[SystemCall],
) -> io::Result<()> {
    let calls: Vec<SystemCall> =
        parts.iter().map(|(open, part)| open.call(part)).chain(others.iter().copied()).collect();
    let mut got = remote.system_calls(&calls)?.into_iter();
    let check = |((_, part), got): (&(&OpenInTarget, &MappedPart), io::Result<u64>)| {
        if got? == part.address.0 { Ok(()) } else { Err(io::Error::from(io::ErrorKind::AddrInUse)) }
    };
    parts.iter().zip(got.by_ref()).try_for_each(check)?;
    got.try_for_each(|got| got.map(drop))
}

fn make(remote: &dyn Remote, name: u64) -> Result<u64, ControlError> {
    let flags = (libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING).into();
    remote.system_call(libc::SYS_memfd_create, [name, flags, 0, 0, 0, 0]).map_err(injected("making shared memory"))
}

fn open(remote: &dyn Remote, path: &str, access: i32) -> Result<u64, ControlError> {
    let path = remote.put_path(path).map_err(injected("staging a path"))?;
    let flags = (access | libc::O_CLOEXEC) as u64;
    remote
        .system_call(libc::SYS_openat, [libc::AT_FDCWD as u64, path.0, flags, 0, 0, 0])
        .map_err(injected("opening the shared memory"))
}

/// Names what was being done in the target when it failed.
pub(crate) fn injected(doing: &'static str) -> impl FnOnce(io::Error) -> ControlError {
    move |source| ControlError::Injected { doing, source }
}
