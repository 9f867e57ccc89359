//! The registers of a stopped thread.

use std::mem::offset_of;

use ada_event::RuntimeAddr;

/// The registers of a stopped thread.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Registers(libc::user_regs_struct);

impl Registers {
    /// Where the thread goes on.
    pub fn instruction_pointer(&self) -> RuntimeAddr {
        RuntimeAddr(self.0.rip)
    }

    /// Changes where the thread goes on.
    pub fn set_instruction_pointer(&mut self, address: RuntimeAddr) {
        self.0.rip = address.0;
    }

    /// The top of its stack.
    pub fn stack_pointer(&self) -> RuntimeAddr {
        RuntimeAddr(self.0.rsp)
    }

    /// Where the C library keeps what belongs to the thread: the FS base.
    pub fn thread_pointer(&self) -> RuntimeAddr {
        RuntimeAddr(self.0.fs_base)
    }

    /// A register that the system's ABI leaves unused: the GS base.
    pub fn spare(&self) -> u64 {
        self.0.gs_base
    }

    /// Changes the register that the system's ABI leaves unused.
    pub fn set_spare(&mut self, value: u64) {
        self.0.gs_base = value;
    }

    /// The registers that unwind tables speak of, by their numbers in DWARF; the instruction pointer comes last.
    pub fn by_dwarf_number(&self) -> [u64; 17] {
        let libc::user_regs_struct { rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, .. } = self.0;
        let libc::user_regs_struct { r8, r9, r10, r11, r12, r13, r14, r15, rip, .. } = self.0;
        [rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15, rip]
    }

    /// The same, about to make a system call with the instruction at `at`.
    pub(crate) fn for_system_call(mut self, at: RuntimeAddr, number: i64, arguments: [u64; 6]) -> Self {
        let call = &mut self.0;
        call.rip = at.0;
        call.rax = number as u64;
        // Not in a system call: the kernel must not try to restart one.
        call.orig_rax = u64::MAX;
        [call.rdi, call.rsi, call.rdx, call.r10, call.r8, call.r9] = arguments;
        self
    }

    /// The same, about to make the system calls of a table with the code at `at`.
    pub(crate) fn for_system_calls(mut self, at: RuntimeAddr, table: RuntimeAddr, count: u64) -> Self {
        let call = &mut self.0;
        call.rip = at.0;
        call.orig_rax = u64::MAX;
        (call.rbx, call.r12) = (table.0, count);
        self
    }

    /// What a system call that was just made has returned.
    /// Whether a system call is under way, which is restarted where it was interrupted.
    pub(crate) fn is_in_system_call(&self) -> bool {
        self.0.orig_rax as i64 >= 0
    }

    pub(crate) fn system_call_result(&self) -> u64 {
        self.0.rax
    }
}

/// One register, by its offset in the kernel's `struct user`.
#[derive(Clone, Copy)]
pub(crate) struct RegisterSlot(usize);

impl RegisterSlot {
    pub(crate) const INSTRUCTION_POINTER: Self = Self(offset_of!(libc::user_regs_struct, rip));
    pub(crate) const SPARE: Self = Self(offset_of!(libc::user_regs_struct, gs_base));

    pub(crate) fn offset(self) -> usize {
        self.0
    }
}
