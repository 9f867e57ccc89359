//! Opens the kernel's event.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use ada_event::ThreadId;

use crate::arch::SAMPLED_INSTRUCTION_POINTER;

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
/// Goes on while the processor works.
const CPU_CLOCK: u64 = 0;
/// Thread, time and processor behind each record.
const BEHIND_SWITCHES: u64 = 1 << 1 | 1 << 2 | 1 << 7;
/// The instruction, the thread, and registers of the program where the kernel was at work for it.
const IN_SAMPLES: u64 = 1 | 1 << 1 | 1 << 12;
const INHERIT: u64 = 1 << 1;
/// Without these only administrators may ask.
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const EXCLUDE_IDLE: u64 = 1 << 7;
/// Records of forks and exits.
const TASK: u64 = 1 << 13;
const SAMPLE_ALL: u64 = 1 << 18;
const USE_CLOCK: u64 = 1 << 25;
const CONTEXT_SWITCH: u64 = 1 << 26;

const CLOSE_ON_EXEC: libc::c_ulong = 8;
const SET_OUTPUT: libc::c_ulong = 0x2405;

/// What is wanted.
#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    /// When threads run, are made and end.
    Switches,
    /// What threads execute, so many nanoseconds of work apart.
    Instructions { apart: u64 },
}

/// Whose events they are.
#[derive(Clone, Copy)]
pub(crate) enum Whose {
    /// Those of a thread and of all that it makes from then on.
    Thread(ThreadId),
    Everybody,
}

/// The event on a processor.
pub(crate) fn open_event(wanted: Wanted, whose: Whose, processor: u16) -> io::Result<OwnedFd> {
    let (thread, inherit) = match whose {
        Whose::Thread(thread) => (thread.0.cast_signed(), INHERIT),
        Whose::Everybody => (-1, 0),
    };
    let common = Attributes {
        kind: SOFTWARE,
        size: size_of::<Attributes>() as u32,
        flags: inherit | EXCLUDE_HYPERVISOR,
        ..Attributes::default()
    };
    let attributes = match wanted {
        Wanted::Switches => Attributes {
            config: DUMMY,
            sample_type: BEHIND_SWITCHES,
            flags: common.flags | EXCLUDE_KERNEL | TASK | SAMPLE_ALL | USE_CLOCK | CONTEXT_SWITCH,
            clock: libc::CLOCK_BOOTTIME,
            ..common
        },
        Wanted::Instructions { apart } => Attributes {
            config: CPU_CLOCK,
            sample_period: apart,
            sample_type: IN_SAMPLES,
            sample_regs_user: SAMPLED_INSTRUCTION_POINTER,
            flags: common.flags | EXCLUDE_IDLE,
            ..common
        },
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
pub(crate) fn redirect(event: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
    // SAFETY: both are events, and the call changes nothing else.
    match unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, to.as_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
