//! The ring that the kernel writes a processor's records into.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

const PAGE: usize = 4096;
/// Where the first page says how far the kernel has written, and we have read.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// Bytes of records: 4,096 switches. What all events of a user take is limited; with less room more is lost.
const ROOM: usize = 128 << 10;
const LEAST_ROOM: usize = 16 << 10;

const HEADER: usize = 8;
/// A record's length has 16 bits.
const LONGEST: usize = 1 << 16;

pub(crate) struct Ring {
    event: OwnedFd,
    pages: NonNull<u8>,
    room: usize,
    /// The record that is read, in one piece.
    record: Vec<u8>,
}

// SAFETY: the pages belong to the ring alone, and are read through `&mut`.
unsafe impl Send for Ring {}

impl Ring {
    pub(crate) fn map(event: OwnedFd) -> io::Result<Self> {
        let mut room = ROOM;
        loop {
            match map(&event, room) {
                Ok(pages) => return Ok(Self { event, pages, room, record: Vec::with_capacity(LONGEST) }),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied && room > LEAST_ROOM => room /= 2,
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn event(&self) -> &OwnedFd {
        &self.event
    }

    fn position(&self, at: usize) -> &AtomicU64 {
        // SAFETY: the first page is mapped as long as the ring lives, and both positions are aligned words of it that only
        // the kernel and this ring write.
        unsafe { self.pages.add(at).cast::<AtomicU64>().as_ref() }
    }

    /// Gives the kind, flags and body of each new record.
    pub(crate) fn read(&mut self, mut give: impl FnMut(u32, u16, &[u8])) {
        // Acquire pairs with the kernel's barrier before it moves the head: the records are there.
        let head = self.position(HEAD).load(Ordering::Acquire);
        // Relaxed: nobody else writes it.
        let mut tail = self.position(TAIL).load(Ordering::Relaxed);
        while head.wrapping_sub(tail) >= HEADER as u64 {
            self.copy(tail, HEADER);
            let [k0, k1, k2, k3, f0, f1, l0, l1] = *self.record.first_chunk().expect("a header was copied");
            let length = usize::from(u16::from_le_bytes([l0, l1]));
            if length < HEADER || head.wrapping_sub(tail) < length as u64 {
                break;
            }
            self.copy(tail, length);
            give(u32::from_le_bytes([k0, k1, k2, k3]), u16::from_le_bytes([f0, f1]), &self.record[HEADER..]);
            tail = tail.wrapping_add(length as u64);
        }
        // Release pairs with the kernel's look at the tail: it overwrites only what was read.
        self.position(TAIL).store(tail, Ordering::Release);
    }

    /// Copies so many bytes from a position on, around the ring's end.
    fn copy(&mut self, from: u64, length: usize) {
        self.record.clear();
        let start = (from % self.room as u64) as usize;
        let first = length.min(self.room - start);
        for (at, length) in [(start, first), (0, length - first)] {
            // SAFETY: the range is within the room behind the first page, and the kernel does not write there before the
            // tail has moved over it.
            let part = unsafe { std::slice::from_raw_parts(self.pages.add(PAGE + at).as_ptr(), length) };
            self.record.extend_from_slice(part);
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing borrows from it any more.
        unsafe { libc::munmap(self.pages.as_ptr().cast(), PAGE + self.room) };
    }
}

fn map(event: &OwnedFd, room: usize) -> io::Result<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, at an address that the kernel chooses.
    let pages =
        unsafe { libc::mmap(std::ptr::null_mut(), PAGE + room, access, libc::MAP_SHARED, event.as_raw_fd(), 0) };
    match NonNull::new(pages.cast()) {
        Some(mapped) if pages != libc::MAP_FAILED => Ok(mapped),
        _ => Err(io::Error::last_os_error()),
    }
}
