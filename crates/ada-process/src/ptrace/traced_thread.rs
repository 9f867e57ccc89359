//! Requests to the kernel about a thread that is traced: one function for each, with the types that it takes.

use std::io;
use std::mem::MaybeUninit;

use ada_event::ThreadId;

use crate::arch::{RegisterSlot, Registers};

/// A thread that the calling thread traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TracedThread {
    tid: ThreadId,
}

/// Requests whose arguments are numbers.
#[repr(u32)]
enum Command {
    Seize = libc::PTRACE_SEIZE,
    Interrupt = libc::PTRACE_INTERRUPT,
    SetOptions = libc::PTRACE_SETOPTIONS,
    Continue = libc::PTRACE_CONT,
    Step = libc::PTRACE_SINGLESTEP,
    Listen = libc::PTRACE_LISTEN,
    Detach = libc::PTRACE_DETACH,
    PokeUser = libc::PTRACE_POKEUSER,
}

/// Bytes of the kernel's signal mask.
const MASK_BYTES: usize = size_of::<u64>();

impl TracedThread {
    /// A thread that is traced already.
    pub(super) fn known(tid: ThreadId) -> Self {
        Self { tid }
    }

    /// Begins to trace a thread, without stopping it.
    pub(super) fn seize(tid: ThreadId, options: i32) -> io::Result<Self> {
        let thread = Self { tid };
        thread.command(Command::Seize, 0, options as usize)?;
        Ok(thread)
    }

    pub(super) fn tid(self) -> ThreadId {
        self.tid
    }

    /// Has it stop soon.
    pub(super) fn interrupt(self) -> io::Result<()> {
        self.command(Command::Interrupt, 0, 0)
    }

    pub(super) fn set_options(self, options: i32) -> io::Result<()> {
        self.command(Command::SetOptions, 0, options as usize)
    }

    /// Lets it run, with a signal, or 0 for none.
    pub(super) fn resume(self, signal: i32) -> io::Result<()> {
        self.command(Command::Continue, 0, signal as usize)
    }

    /// Lets it run one instruction, with a signal, or 0 for none.
    pub(super) fn step(self, signal: i32) -> io::Result<()> {
        self.command(Command::Step, 0, signal as usize)
    }

    /// Leaves it in a stop of its whole process, and hears of the end of that.
    pub(super) fn listen(self) -> io::Result<()> {
        self.command(Command::Listen, 0, 0)
    }

    /// Lets it go for good, with a signal, or 0 for none.
    pub(super) fn detach(self, signal: i32) -> io::Result<()> {
        self.command(Command::Detach, 0, signal as usize)
    }

    /// Changes one register, and so does not disturb a system call that is to be restarted.
    pub(super) fn set_register(self, slot: RegisterSlot, value: u64) -> io::Result<()> {
        self.command(Command::PokeUser, slot.offset(), value as usize)
    }

    pub(super) fn registers(self) -> io::Result<Registers> {
        let mut registers = MaybeUninit::<Registers>::uninit();
        // SAFETY: `Registers` is what the kernel writes, and lives through the call.
        checked(unsafe { libc::ptrace(libc::PTRACE_GETREGS, self.tid.to_raw(), 0, registers.as_mut_ptr()) })?;
        // SAFETY: the kernel has filled it in.
        Ok(unsafe { registers.assume_init() })
    }

    pub(super) fn set_registers(self, registers: &Registers) -> io::Result<()> {
        // SAFETY: `Registers` is what the kernel reads, and lives through the call.
        checked(unsafe { libc::ptrace(libc::PTRACE_SETREGS, self.tid.to_raw(), 0, std::ptr::from_ref(registers)) })
    }

    /// The signals that it blocks.
    pub(super) fn signal_mask(self) -> io::Result<u64> {
        let mut mask = 0_u64;
        // SAFETY: `mask` has `MASK_BYTES` bytes, and lives through the call.
        checked(unsafe { libc::ptrace(libc::PTRACE_GETSIGMASK, self.tid.to_raw(), MASK_BYTES, &raw mut mask) })?;
        Ok(mask)
    }

    pub(super) fn set_signal_mask(self, mask: u64) -> io::Result<()> {
        // SAFETY: `mask` has `MASK_BYTES` bytes, and lives through the call.
        checked(unsafe { libc::ptrace(libc::PTRACE_SETSIGMASK, self.tid.to_raw(), MASK_BYTES, &raw const mask) })
    }

    /// The signal that it has stopped for.
    pub(super) fn signal_info(self) -> io::Result<libc::siginfo_t> {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: `info` is what the kernel writes, and lives through the call.
        checked(unsafe { libc::ptrace(libc::PTRACE_GETSIGINFO, self.tid.to_raw(), 0, info.as_mut_ptr()) })?;
        // SAFETY: the kernel has filled it in.
        Ok(unsafe { info.assume_init() })
    }

    /// The seccomp filters that it is under, the newest first. The kernel shows them to privileged callers that are under none.
    pub(super) fn filters(self) -> io::Result<Vec<Vec<u64>>> {
        (0..).map_while(|number| self.filter(number).transpose()).collect()
    }

    fn filter(self, number: usize) -> io::Result<Option<Vec<u64>>> {
        const PTRACE_SECCOMP_GET_FILTER: libc::c_uint = 0x420c;
        /// The longest that there can be.
        const MOST: usize = 4096;
        let mut code = vec![0_u64; MOST];
        // SAFETY: the kernel writes no more instructions, each of 8 bytes, than a filter can have.
        let length = unsafe { libc::ptrace(PTRACE_SECCOMP_GET_FILTER, self.tid, number, code.as_mut_ptr()) };
        match checked(length) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            result => {
                result?;
                code.truncate(length as usize);
                Ok(Some(code))
            }
        }
    }

    fn command(self, command: Command, address: usize, data: usize) -> io::Result<()> {
        // SAFETY: the kernel takes the arguments of each of these for numbers, and touches no memory of this process.
        checked(unsafe { libc::ptrace(command as libc::c_uint, self.tid.to_raw(), address, data) })
    }
}

/// Has the parent of the calling process trace it.
pub(super) fn trace_me() -> io::Result<()> {
    // SAFETY: the kernel ignores the other arguments.
    checked(unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) })
}

fn checked(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
