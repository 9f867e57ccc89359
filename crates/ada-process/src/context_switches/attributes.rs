//! Opens the kernel's event.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use ada_event::ThreadId;

/// `struct perf_event_attr`, as far as it is needed (version 5).
#[derive(Default)]
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

const _: () = assert!(size_of::<Attributes>() == 112);

const SOFTWARE: u32 = 1;
/// Counts nothing: only the records beside it are wanted.
const DUMMY: u64 = 9;
/// Thread, time and processor behind each record.
pub(super) const SAMPLE: u64 = 1 << 1 | 1 << 2 | 1 << 7;
const INHERIT: u64 = 1 << 1;
/// Without these only administrators may ask.
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// Records of forks and exits.
const TASK: u64 = 1 << 13;
const SAMPLE_ALL: u64 = 1 << 18;
const USE_CLOCK: u64 = 1 << 25;
const CONTEXT_SWITCH: u64 = 1 << 26;

const CLOSE_ON_EXEC: libc::c_ulong = 8;
const SET_OUTPUT: libc::c_ulong = 0x2405;

/// Whose switches an event tells.
#[derive(Clone, Copy)]
pub(super) enum Whose {
    /// Those of a thread and of all that it makes from then on.
    Thread(ThreadId),
    Everybody,
}

/// The event on a processor.
pub(super) fn open_event(whose: Whose, processor: u16) -> io::Result<OwnedFd> {
    let (thread, inherit) = match whose {
        Whose::Thread(thread) => (thread.0.cast_signed(), INHERIT),
        Whose::Everybody => (-1, 0),
    };
    let attributes = Attributes {
        kind: SOFTWARE,
        size: size_of::<Attributes>() as u32,
        config: DUMMY,
        sample_type: SAMPLE,
        flags: inherit | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR | TASK | SAMPLE_ALL | USE_CLOCK | CONTEXT_SWITCH,
        clock: libc::CLOCK_BOOTTIME,
        ..Attributes::default()
    };
    let (no_group, processor) = (-1, libc::c_int::from(processor));
    // SAFETY: the attributes live through the call, and have the size that they say.
    let event = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, thread, processor, no_group, CLOSE_ON_EXEC)
    };
    match i32::try_from(event) {
        // SAFETY: the kernel has just given it to us.
        Ok(event) if event >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(event) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Has an event's records go to the ring of another one on the same processor.
pub(super) fn redirect(event: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
    // SAFETY: both are events, and the call changes nothing else.
    match unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, to.as_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
