//! The shared memory's file, open in a target.

use std::io;

use ada_event::RuntimeAddr;
use ada_process::{Remote, SystemCall};

use crate::error::ControlError;
use crate::install::shared_memory::SharedMemory;

/// The shared memory's file, open in the target for as long as this lives: closed by [`Self::close`], because a
/// descriptor that stays would be the target's to see, count and close.
pub(crate) struct OpenInTarget {
    descriptor: u64,
}

/// A part of the file, and where it is to be.
pub(crate) struct MappedPart {
    pub(crate) address: RuntimeAddr,
    pub(crate) length: u64,
    pub(crate) protection: i32,
    pub(crate) offset: u64,
}

impl OpenInTarget {
    pub(crate) fn open(remote: &dyn Remote, shared: &SharedMemory) -> Result<Self, ControlError> {
        let path = remote.put_path(&shared.path()).map_err(injected("staging a path"))?;
        let flags = (libc::O_RDWR | libc::O_CLOEXEC) as u64;
        let descriptor = remote
            .system_call(libc::SYS_openat, [libc::AT_FDCWD as u64, path.0, flags, 0, 0, 0])
            .map_err(injected("opening the shared memory"))?;
        Ok(Self { descriptor })
    }

    /// A descriptor that the target has already.
    pub(crate) fn known(descriptor: u64) -> Self {
        Self { descriptor }
    }

    /// Maps parts of the file, each exactly at its address, where nothing is mapped.
    pub(crate) fn map_all(&self, remote: &dyn Remote, parts: &[MappedPart]) -> io::Result<()> {
        self.map_all_and(remote, parts, &[])
    }

    /// The same, and then makes other calls, all in one go.
    pub(crate) fn map_all_and(
        &self,
        remote: &dyn Remote,
        parts: &[MappedPart],
        others: &[SystemCall],
    ) -> io::Result<()> {
        let flags = (libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE) as u64;
        let call = |part: &MappedPart| SystemCall {
            number: libc::SYS_mmap,
            arguments: [part.address.0, part.length, part.protection as u64, flags, self.descriptor, part.offset],
        };
        let calls: Vec<SystemCall> = parts.iter().map(call).chain(others.iter().copied()).collect();
        let mut got = remote.system_calls(&calls)?.into_iter();
        let check = |(part, got): (&MappedPart, io::Result<u64>)| {
            if got? == part.address.0 { Ok(()) } else { Err(io::Error::from(io::ErrorKind::AddrInUse)) }
        };
        parts.iter().zip(got.by_ref()).try_for_each(check)?;
        got.try_for_each(|got| got.map(drop))
    }

    /// Maps a part of the file exactly at `address`, where nothing is mapped.
    pub(crate) fn map(
        &self,
        remote: &dyn Remote,
        address: RuntimeAddr,
        length: u64,
        protection: i32,
        offset: u64,
    ) -> io::Result<()> {
        let flags = (libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE) as u64;
        let arguments = [address.0, length, protection as u64, flags, self.descriptor, offset];
        let got = remote.system_call(libc::SYS_mmap, arguments)?;
        if got == address.0 { Ok(()) } else { Err(io::Error::from(io::ErrorKind::AddrInUse)) }
    }

    pub(crate) fn close(self, remote: &dyn Remote) -> Result<(), ControlError> {
        remote
            .system_call(libc::SYS_close, [self.descriptor, 0, 0, 0, 0, 0])
            .map(|_| ())
            .map_err(injected("closing the shared memory"))
    }
}

/// Names what was being done in the target when it failed.
pub(crate) fn injected(doing: &'static str) -> impl FnOnce(io::Error) -> ControlError {
    move |source| ControlError::Injected { doing, source }
}
