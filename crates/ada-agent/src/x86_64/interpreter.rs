//! A few instructions, done for a thread that stands before one: those with which compilers begin and end functions, and branches
//! with what they go by.

use ada_ring::arch::{CRASH_REGISTERS, FLAGS, FRAME_POINTER, INSTRUCTION_POINTER, STACK_POINTER};
use core::arch::asm;

/// The longest of them.
const LONGEST: usize = 8;
const CARRY: u64 = 1;
const PARITY: u64 = 1 << 2;
const AUXILIARY_CARRY: u64 = 1 << 4;
const ZERO: u64 = 1 << 6;
const SIGN: u64 = 1 << 7;
const OVERFLOW: u64 = 1 << 11;
const SET_BY_ARITHMETIC: u64 = CARRY | PARITY | AUXILIARY_CARRY | ZERO | SIGN | OVERFLOW;
/// Where the kernel's signal frame has the registers, in the order of their numbers in instructions.
const NUMBERED: [usize; 16] = [13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7];

/// Adds a number to the stack pointer, or takes it away, with the flags that come of it.
macro_rules! change_stack_pointer {
    ($how:literal, $registers:expr, $number:expr, $length:expr) => {{
        let flags: u64;
        // SAFETY: arithmetic, and the flags that it leaves.
        unsafe {
            asm!(concat!($how, " {stack}, {number}"), "pushfq", "pop {flags}",
                stack = inout(reg) $registers[STACK_POINTER], number = in(reg) $number, flags = lateout(reg) flags);
        }
        set_flags($registers, flags);
        $length
    }};
}

/// Does the instruction that a thread stands before, if it is one of these, and the word that it reads or writes `is_there`. False where
/// it is not done.
///
/// # Safety
/// The registers are those of a thread that is about to go on with them, and nobody else uses the words that are there.
pub(crate) unsafe fn do_next(registers: &mut [u64; CRASH_REGISTERS], is_there: impl Fn(u64) -> bool) -> bool {
    // SAFETY: the caller's promise.
    let Some(length) = (unsafe { step(registers, is_there) }) else { return false };
    registers[INSTRUCTION_POINTER] = registers[INSTRUCTION_POINTER].wrapping_add(length);
    true
}

/// Does an instruction, and gives how far away the next one is.
///
/// # Safety
/// As [`do_next`].
unsafe fn step(registers: &mut [u64; CRASH_REGISTERS], is_there: impl Fn(u64) -> bool) -> Option<u64> {
    let [at, stack, frame] = [INSTRUCTION_POINTER, STACK_POINTER, FRAME_POINTER].map(|number| registers[number]);
    // SAFETY: the thread is about to run it, in memory that has more behind it.
    let code = unsafe { *(at as *const [u8; LONGEST]) };
    let near = |from: usize| i64::from(code[from] as i8) as u64;
    let far = |from: usize| {
        let bytes = [code[from], code[from + 1], code[from + 2], code[from + 3]];
        i64::from(i32::from_le_bytes(bytes)) as u64
    };
    // SAFETY: it is there, and the thread is about to do the same.
    let word = |address: u64| is_there(address).then(|| unsafe { (address as *const u64).read_unaligned() });
    let put = |address: u64, value: u64| {
        // SAFETY: as above.
        is_there(address).then(|| unsafe { (address as *mut u64).write_unaligned(value) })
    };
    Some(match code {
        // push rbp
        [0x55, ..] => {
            put(stack.wrapping_sub(8), frame)?;
            registers[STACK_POINTER] = stack.wrapping_sub(8);
            1
        }
        // pop rbp
        [0x5d, ..] => {
            registers[FRAME_POINTER] = word(stack)?;
            registers[STACK_POINTER] = stack.wrapping_add(8);
            1
        }
        // mov rbp, rsp
        [0x48, 0x89, 0xe5, ..] => {
            registers[FRAME_POINTER] = stack;
            3
        }
        // sub rsp, …
        [0x48, 0x83, 0xec, ..] => change_stack_pointer!("sub", registers, near(3), 4),
        [0x48, 0x81, 0xec, ..] => change_stack_pointer!("sub", registers, far(3), 7),
        // add rsp, …
        [0x48, 0x83, 0xc4, ..] => change_stack_pointer!("add", registers, near(3), 4),
        [0x48, 0x81, 0xc4, ..] => change_stack_pointer!("add", registers, far(3), 7),
        // mov [rsp+…], rbp
        [0x48, 0x89, 0x6c, 0x24, ..] => {
            put(stack.wrapping_add(near(4)), frame)?;
            5
        }
        [0x48, 0x89, 0xac, 0x24, ..] => {
            put(stack.wrapping_add(far(4)), frame)?;
            8
        }
        // mov rbp, [rsp+…]
        [0x48, 0x8b, 0x6c, 0x24, ..] => {
            registers[FRAME_POINTER] = word(stack.wrapping_add(near(4)))?;
            5
        }
        [0x48, 0x8b, 0xac, 0x24, ..] => {
            registers[FRAME_POINTER] = word(stack.wrapping_add(far(4)))?;
            8
        }
        // lea rbp, [rsp+…]
        [0x48, 0x8d, 0x6c, 0x24, ..] => {
            registers[FRAME_POINTER] = stack.wrapping_add(near(4));
            5
        }
        [0x48, 0x8d, 0xac, 0x24, ..] => {
            registers[FRAME_POINTER] = stack.wrapping_add(far(4));
            8
        }
        // test, of two registers
        [0x85, operands @ 0xc0..=0xff, ..] => test(registers, 0, operands, 2),
        [prefix @ 0x40..=0x4f, 0x85, operands @ 0xc0..=0xff, ..] => test(registers, prefix, operands, 3),
        // jmp, and branches
        [0xe9, ..] => far(1).wrapping_add(5),
        [kind @ 0x70..=0x7f, ..] => if is_taken(kind, registers[FLAGS]) { near(1) } else { 0 }.wrapping_add(2),
        [0x0f, kind @ 0x80..=0x8f, ..] => if is_taken(kind, registers[FLAGS]) { far(2) } else { 0 }.wrapping_add(6),
        _ => return None,
    })
}

fn test(registers: &mut [u64; CRASH_REGISTERS], prefix: u8, operands: u8, length: u64) -> u64 {
    let one = registers[NUMBERED[usize::from(operands >> 3 & 7 | (prefix & 4) << 1)]];
    let other = registers[NUMBERED[usize::from(operands & 7 | (prefix & 1) << 3)]];
    let flags: u64;
    // SAFETY: arithmetic, and the flags that it leaves.
    unsafe {
        if prefix & 8 == 0 {
            asm!("test {one:e}, {other:e}", "pushfq", "pop {flags}", one = in(reg) one, other = in(reg) other,
                flags = lateout(reg) flags);
        } else {
            asm!("test {one}, {other}", "pushfq", "pop {flags}", one = in(reg) one, other = in(reg) other,
                flags = lateout(reg) flags);
        }
    }
    // What it leaves undefined stays as it was.
    let kept = registers[FLAGS] & AUXILIARY_CARRY;
    set_flags(registers, flags & !AUXILIARY_CARRY | kept);
    length
}

fn set_flags(registers: &mut [u64; CRASH_REGISTERS], flags: u64) {
    registers[FLAGS] = registers[FLAGS] & !SET_BY_ARITHMETIC | flags & SET_BY_ARITHMETIC;
}

/// Whether a branch of a kind, which is in the low four bits, goes elsewhere.
fn is_taken(kind: u8, flags: u64) -> bool {
    let has = |flag: u64| flags & flag != 0;
    let is_less = has(SIGN) != has(OVERFLOW);
    let holds = match kind >> 1 & 7 {
        0 => has(OVERFLOW),
        1 => has(CARRY),
        2 => has(ZERO),
        3 => has(CARRY) || has(ZERO),
        4 => has(SIGN),
        5 => has(PARITY),
        6 => is_less,
        _ => is_less || has(ZERO),
    };
    holds != (kind & 1 != 0)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    /// Does so many instructions of some code on a stack of 64 words, whose top is word 32.
    fn done(code: &[u8], count: usize) -> (Vec<u64>, [u64; CRASH_REGISTERS]) {
        let code: Vec<u8> = code.iter().copied().chain([0xcc; LONGEST]).collect();
        let mut stack: Vec<u64> = (100..164).collect();
        let (start, top) = (code.as_ptr() as u64, &raw mut stack[32] as u64);
        let mut registers = [0; CRASH_REGISTERS];
        (registers[INSTRUCTION_POINTER], registers[STACK_POINTER], registers[FRAME_POINTER]) = (start, top, 7);
        for _ in 0..count {
            // SAFETY: the code and the stack above.
            assert!(unsafe { do_next(&mut registers, |_| true) });
        }
        // SAFETY: as above; an `int3` is none of these.
        assert!(!unsafe { do_next(&mut registers, |_| true) });
        registers[INSTRUCTION_POINTER] -= start;
        (stack, registers)
    }

    #[test]
    fn a_frame_is_made_and_given_back() {
        // sub rsp, 0x18; mov [rsp+0x10], rbp; lea rbp, [rsp+0x10]
        let begins = [0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x6c, 0x24, 0x10, 0x48, 0x8d, 0x6c, 0x24, 0x10];
        let (stack, registers) = done(&begins, 3);
        let top = registers[STACK_POINTER];
        assert_eq!((stack[31], registers[FRAME_POINTER], registers[INSTRUCTION_POINTER]), (7, top + 16, 14));
        // mov rbp, [rsp+0x10]; add rsp, 0x18
        let ends = [0x48, 0x8b, 0x6c, 0x24, 0x10, 0x48, 0x83, 0xc4, 0x18];
        let (stack, registers) = done(&ends, 2);
        let bottom = stack.as_ptr() as u64;
        assert_eq!((registers[FRAME_POINTER], registers[STACK_POINTER] - bottom), (134, 8 * 35));
    }

    #[test]
    fn the_same_with_numbers_of_four_bytes_and_by_push_and_pop() {
        // sub rsp, 0x80; mov [rsp+0x78], rbp; lea rbp, [rsp+0x78]
        let begins = [
            0x48, 0x81, 0xec, 0x80, 0, 0, 0, 0x48, 0x89, 0xac, 0x24, 0x78, 0, 0, 0, 0x48, 0x8d, 0xac, 0x24, 0x78, 0, 0,
            0,
        ];
        let (stack, registers) = done(&begins, 3);
        let bottom = stack.as_ptr() as u64;
        assert_eq!((stack[31], registers[STACK_POINTER] - bottom, registers[INSTRUCTION_POINTER]), (7, 8 * 16, 23));
        assert_eq!(registers[FRAME_POINTER] - bottom, 8 * 31);
        // mov rbp, [rsp-8]; add rsp, 0x80
        let ends = [0x48, 0x8b, 0xac, 0x24, 0xf8, 0xff, 0xff, 0xff, 0x48, 0x81, 0xc4, 0x80, 0, 0, 0];
        let (stack, registers) = done(&ends, 2);
        assert_eq!((registers[FRAME_POINTER], registers[STACK_POINTER] - stack.as_ptr() as u64), (131, 8 * 48));
        // push rbp; mov rbp, rsp; pop rbp
        let (stack, registers) = done(&[0x55, 0x48, 0x89, 0xe5, 0x5d], 3);
        assert_eq!((stack[31], registers[FRAME_POINTER], registers[INSTRUCTION_POINTER]), (7, 7, 5));
        assert_eq!(registers[STACK_POINTER] - stack.as_ptr() as u64, 8 * 32);
    }

    #[test]
    fn nothing_is_done_where_the_stack_is_not_there() {
        // push rbp; mov [rsp+0x10], rbp; pop rbp
        for code in [&[0x55_u8][..], &[0x48, 0x89, 0x6c, 0x24, 0x10], &[0x5d]] {
            let code: Vec<u8> = code.iter().copied().chain([0xcc; LONGEST]).collect();
            let mut registers = [0; CRASH_REGISTERS];
            registers[INSTRUCTION_POINTER] = code.as_ptr() as u64;
            let before = registers;
            // SAFETY: the code above; no memory is used.
            assert!(!unsafe { do_next(&mut registers, |_| false) });
            assert_eq!(registers, before);
        }
    }

    #[test]
    fn flags_are_those_of_the_arithmetic_and_jumps_lead_on() {
        let (_, registers) = done(&[0x48, 0x83, 0xec, 0x08], 1);
        assert_eq!(registers[FLAGS] & 0xc1, 0, "neither zero, nor below it, nor borrowed");
        let (_, registers) = done(&[0xe9, 1, 0, 0, 0, 0x90, 0x55], 2);
        assert_eq!(registers[INSTRUCTION_POINTER], 7);
    }

    #[test]
    fn branches_go_where_the_processor_would() {
        /// What the processor says of two numbers.
        macro_rules! taken {
            ($condition:literal, $flags:expr) => {{
                let taken: u8;
                // SAFETY: sets flags that arithmetic sets.
                unsafe {
                    asm!("push {flags}", "popfq", concat!("set", $condition, " {taken}"), flags = in(reg) $flags,
                        taken = out(reg_byte) taken);
                }
                taken != 0
            }};
        }
        for bits in 0..64_u64 {
            let flag = |number: u64, flag: u64| (bits >> number & 1) * flag;
            let flags = 2 + flag(0, CARRY) + flag(1, PARITY) + flag(2, ZERO) + flag(3, SIGN) + flag(4, OVERFLOW);
            let expected = [
                taken!("o", flags),
                taken!("no", flags),
                taken!("b", flags),
                taken!("ae", flags),
                taken!("e", flags),
                taken!("ne", flags),
                taken!("be", flags),
                taken!("a", flags),
                taken!("s", flags),
                taken!("ns", flags),
                taken!("p", flags),
                taken!("np", flags),
                taken!("l", flags),
                taken!("ge", flags),
                taken!("le", flags),
                taken!("g", flags),
            ];
            assert_eq!((0x70..0x80).map(|kind| is_taken(kind, flags)).collect::<Vec<_>>(), expected, "{flags:x}");
        }
    }

    #[test]
    fn what_a_branch_goes_by_is_tested_in_the_registers_that_are_named() {
        // test ecx, ecx; je …
        let code = [0x85, 0xc9, 0x74, 0x02];
        let of = |value: u64, code: &[u8]| {
            let code: Vec<u8> = code.iter().copied().chain([0xcc; LONGEST]).collect();
            let mut registers = [u64::MAX; CRASH_REGISTERS];
            (registers[INSTRUCTION_POINTER], registers[14], registers[3]) = (code.as_ptr() as u64, value, value);
            // SAFETY: the code above.
            unsafe {
                assert!(do_next(&mut registers, |_| true) && do_next(&mut registers, |_| true));
            }
            registers[INSTRUCTION_POINTER] - code.as_ptr() as u64
        };
        assert_eq!((of(0, &code), of(1, &code), of(1 << 32, &code)), (6, 4, 6));
        // test r11, r11; jne …, with four bytes
        let code = [0x4d, 0x85, 0xdb, 0x0f, 0x85, 0x10, 0, 0, 0];
        assert_eq!((of(0, &code), of(1, &code), of(1 << 32, &code)), (9, 25, 25));
    }
}
