//! The files of the shared memory, open in a target.

use std::fs::File;
use std::io;
use std::ops::Range;

use ada_event::{ProcessId, RuntimeAddr};
use ada_process::procfs::ProcessDir;
use ada_process::{Remote, SystemCall, hand_over};

use crate::error::ControlError;
use crate::install::code_memory::path_of;
use crate::install::rings::UserRings;
use crate::install::shared_memory::SharedMemory;

/// A file of the shared memory that a target can map parts of.
pub(crate) enum OpenInTarget {
    /// Open for as long as this lives: closed by [`Self::close`], because a descriptor that stays would be the target's to see,
    /// count and close.
    Descriptor(u64),
    /// The code, by way of the orders, which begin the same file and are mapped here. A mapping that is shared can be mapped once
    /// more without a descriptor.
    Orders(RuntimeAddr),
}

/// A part of a file, and where it is to be.
pub(crate) struct MappedPart {
    pub(crate) address: RuntimeAddr,
    pub(crate) length: u64,
    pub(crate) protection: i32,
    pub(crate) offset: u64,
}

impl OpenInTarget {
    /// A user's rings, for a process of that user's.
    pub(crate) fn rings(remote: &dyn Remote, rings: &UserRings) -> Result<Self, ControlError> {
        open(remote, &path_of(rings.file()), libc::O_RDWR).map(Self::Descriptor)
    }

    /// The code and the orders.
    pub(crate) fn code(remote: &dyn Remote, shared: &SharedMemory) -> Result<Self, ControlError> {
        open(remote, &shared.code.path(), libc::O_RDONLY).map(Self::Descriptor)
    }

    /// A file for a process that cannot open it: another user's, or one with another root.
    pub(crate) fn given(remote: &dyn Remote, pid: ProcessId, file: &File) -> Result<Self, ControlError> {
        hand_over(remote, pid, file).map(Self::Descriptor).map_err(injected("giving it shared memory"))
    }

    /// An empty memfd that the target makes itself: it may not be allowed to open what is ada's. `name` is the address of its name.
    pub(crate) fn new(remote: &dyn Remote, name: u64) -> Result<Self, ControlError> {
        let flags = (libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING).into();
        remote
            .system_call(libc::SYS_memfd_create, [name, flags, 0, 0, 0, 0])
            .map(Self::Descriptor)
            .map_err(injected("making shared memory"))
    }

    /// The file, opened by ada.
    pub(crate) fn file_of(&self, pid: ProcessId) -> io::Result<File> {
        match self {
            Self::Descriptor(number) => {
                File::options().read(true).write(true).open(ProcessDir::of(pid).descriptor(*number))
            }
            Self::Orders(_) => Err(io::Error::from(io::ErrorKind::Unsupported)),
        }
    }

    /// Maps parts of the file, each exactly at its address, where nothing is mapped.
    pub(crate) fn map(&self, remote: &dyn Remote, parts: &[MappedPart]) -> io::Result<()> {
        match self {
            Self::Descriptor(_) => map_all_and(remote, &parts.iter().map(|part| (self, part)).collect::<Vec<_>>(), &[]),
            Self::Orders(orders) => parts.iter().try_for_each(|part| map_once_more(remote, *orders, part)),
        }
    }

    /// Maps a part of a file that is written to, in place of what is there.
    pub(crate) fn map_over(&self, remote: &dyn Remote, address: RuntimeAddr, part: &Range<u64>) -> io::Result<()> {
        let Self::Descriptor(descriptor) = self else { return Err(io::Error::from(io::ErrorKind::Unsupported)) };
        let protection = (libc::PROT_READ | libc::PROT_WRITE) as u64;
        let flags = (libc::MAP_SHARED | libc::MAP_FIXED) as u64;
        let length = part.end - part.start;
        remote.system_call(libc::SYS_mmap, [address.0, length, protection, flags, *descriptor, part.start]).map(drop)
    }

    fn call(&self, part: &MappedPart) -> io::Result<SystemCall> {
        let Self::Descriptor(descriptor) = self else { return Err(io::Error::from(io::ErrorKind::Unsupported)) };
        // A process sees what ada writes to its code, until it lets calls pass by itself, in pages of its own
        // (`ada-agent/passing.rs`).
        let is_code = part.protection & libc::PROT_EXEC != 0;
        let kind = if is_code { libc::MAP_PRIVATE } else { libc::MAP_SHARED };
        let flags = (kind | libc::MAP_FIXED_NOREPLACE) as u64;
        Ok(SystemCall {
            number: libc::SYS_mmap,
            arguments: [part.address.0, part.length, part.protection as u64, flags, *descriptor, part.offset],
        })
    }

    pub(crate) fn close(self, remote: &dyn Remote) -> Result<(), ControlError> {
        let Self::Descriptor(descriptor) = self else { return Ok(()) };
        remote
            .system_call(libc::SYS_close, [descriptor, 0, 0, 0, 0, 0])
            .map(|_| ())
            .map_err(injected("closing the shared memory"))
    }
}

/// Maps parts of files that have descriptors, each exactly at its address, where nothing is mapped, and then makes other calls, all in
/// one go.
pub(crate) fn map_all_and(
    remote: &dyn Remote,
    parts: &[(&OpenInTarget, &MappedPart)],
    others: &[SystemCall],
) -> io::Result<()> {
    let mut calls = parts.iter().map(|(open, part)| open.call(part)).collect::<io::Result<Vec<SystemCall>>>()?;
    calls.extend(others);
    let mut got = remote.system_calls(&calls)?.into_iter();
    let check = |((_, part), got): (&(&OpenInTarget, &MappedPart), io::Result<u64>)| is_at(part, got?);
    parts.iter().zip(got.by_ref()).try_for_each(check)?;
    got.try_for_each(|got| got.map(drop))
}

/// Maps a part of the file whose first bytes are mapped here, without a descriptor: whoever has a shared mapping may have it twice, and the
/// second may be longer. Nothing is written, so that all of it takes no memory.
fn map_once_more(remote: &dyn Remote, first: RuntimeAddr, part: &MappedPart) -> io::Result<()> {
    let MappedPart { address, length, protection, offset } = *part;
    let reserve = |at: RuntimeAddr, length: u64, further: i32| {
        let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | further) as u64;
        remote.system_call(libc::SYS_mmap, [at.0, length, libc::PROT_NONE as u64, flags, u64::MAX, 0])
    };
    let map = |from: u64, length: u64, to: u64| {
        let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as u64;
        remote.system_call(libc::SYS_mremap, [from, 0, length, flags, to, 0])
    };
    is_at(part, reserve(address, length, libc::MAP_FIXED_NOREPLACE)?)?;
    let all = offset + length;
    let mapped = reserve(RuntimeAddr(0), all, 0).and_then(|from_start| {
        let mapped = map(first.0, all, from_start).and_then(|_| map(from_start + offset, length, address.0));
        remote.system_call(libc::SYS_munmap, [from_start, all, 0, 0, 0, 0]).and(mapped)
    });
    let protect = [address.0, length, protection as u64, 0, 0, 0];
    let ready = mapped.and_then(|_| remote.system_call(libc::SYS_mprotect, protect));
    if ready.is_err() {
        remote.system_call(libc::SYS_munmap, [address.0, length, 0, 0, 0, 0])?;
    }
    ready.map(drop)
}

fn is_at(part: &MappedPart, mapped: u64) -> io::Result<()> {
    if mapped == part.address.0 { Ok(()) } else { Err(io::Error::from(io::ErrorKind::AddrInUse)) }
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
