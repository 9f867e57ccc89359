//! Runs a seccomp filter as the kernel would, to know beforehand what it says of a system call.

/// What a filter is given to judge.
#[derive(Clone, Copy, Debug, Default)]
pub struct Judged {
    /// The system call's number.
    pub number: u32,
    /// The processor, as `AUDIT_ARCH_…`.
    pub architecture: u32,
    /// Where it is made.
    pub instruction: u64,
    /// Its arguments.
    pub arguments: [u64; 6],
}

impl Judged {
    /// The 32-bit word at an offset of the kernel's `seccomp_data`.
    fn word(&self, offset: u32) -> Option<u32> {
        let half = |word: u64| Some(if offset.is_multiple_of(8) { word as u32 } else { (word >> 32) as u32 });
        match offset {
            0 => Some(self.number),
            4 => Some(self.architecture),
            8 | 12 => half(self.instruction),
            16..64 if offset.is_multiple_of(4) => half(self.arguments[(offset as usize - 16) / 8]),
            _ => None,
        }
    }
}

/// No filter is longer.
const MOST: usize = 4096;
const SCRATCH: usize = 16;

/// What the filter returns, or `None` where the kernel would not have taken it. `fetch` gives its instructions, by number.
pub fn run(judged: &Judged, mut fetch: impl FnMut(usize) -> Option<u64>) -> Option<u32> {
    let (mut a, mut x, mut scratch) = (0_u32, 0_u32, [0_u32; SCRATCH]);
    let mut at = 0;
    while at < MOST {
        // A `sock_filter`: code, jump if true, jump if false, constant.
        let [low, high, jt, jf, k @ ..] = fetch(at)?.to_le_bytes();
        let (code, k) = (u16::from_le_bytes([low, high]), u32::from_le_bytes(k));
        let operand = if code & 8 != 0 { x } else { k };
        at += 1;
        match (code & 7, code & 0xf0) {
            (0, _) => {
                a = match code & 0xe0 {
                    0x00 => k,
                    0x20 => judged.word(k)?,
                    0x60 => *scratch.get(k as usize)?,
                    0x80 => 64,
                    _ => return None,
                }
            }
            (1, _) => {
                x = match code & 0xe0 {
                    0x00 => k,
                    0x60 => *scratch.get(k as usize)?,
                    0x80 => 64,
                    _ => return None,
                }
            }
            (2, _) => *scratch.get_mut(k as usize)? = a,
            (3, _) => *scratch.get_mut(k as usize)? = x,
            (4, operation) => {
                a = match operation {
                    0x00 => a.wrapping_add(operand),
                    0x10 => a.wrapping_sub(operand),
                    0x20 => a.wrapping_mul(operand),
                    0x30 => a.checked_div(operand).unwrap_or(0),
                    0x40 => a | operand,
                    0x50 => a & operand,
                    0x60 => a.wrapping_shl(operand),
                    0x70 => a.wrapping_shr(operand),
                    0x80 => a.wrapping_neg(),
                    0xa0 => a ^ operand,
                    _ => return None,
                }
            }
            (5, 0x00) => at = at.checked_add(k as usize)?,
            (5, condition) => {
                let holds = match condition {
                    0x10 => a == operand,
                    0x20 => a > operand,
                    0x30 => a >= operand,
                    0x40 => a & operand != 0,
                    _ => return None,
                };
                at += usize::from(if holds { jt } else { jf });
            }
            (6, _) => return Some(if code & 0x18 == 0x10 { a } else { k }),
            _ if code & 0xf8 == 0x80 => a = x,
            _ => x = a,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOW: u32 = 0x7fff_0000;
    const KILL: u32 = 0x8000_0000;

    const fn step(code: u16, jt: u8, jf: u8, k: u32) -> u64 {
        code as u64 | (jt as u64) << 16 | (jf as u64) << 24 | (k as u64) << 32
    }

    fn judge(filter: &[u64], number: u32, arguments: [u64; 6]) -> Option<u32> {
        run(&Judged { number, architecture: 7, instruction: 9, arguments }, |at| filter.get(at).copied())
    }

    #[test]
    fn a_list_of_calls_is_followed() {
        let filter = [step(0x20, 0, 0, 0), step(0x15, 1, 0, 1), step(0x06, 0, 0, KILL), step(0x06, 0, 0, ALLOW)];
        assert_eq!(judge(&filter, 1, [0; 6]), Some(ALLOW));
        assert_eq!(judge(&filter, 2, [0; 6]), Some(KILL));
    }

    #[test]
    fn arguments_are_looked_at_by_halves() {
        // The high half of the second argument, masked, in X and back, compared with a scratch word.
        let filter = [
            step(0x00, 0, 0, 3),
            step(0x02, 0, 0, 5),
            step(0x20, 0, 0, 28),
            step(0x54, 0, 0, 0xf),
            step(0x07, 0, 0, 0),
            step(0x60, 0, 0, 5),
            step(0x1d, 0, 1, 0),
            step(0x06, 0, 0, ALLOW),
            step(0x06, 0, 0, KILL),
        ];
        assert_eq!(judge(&filter, 0, [0, 0xf3 << 32, 0, 0, 0, 0]), Some(ALLOW));
        assert_eq!(judge(&filter, 0, [0, 0xf4 << 32 | 3, 0, 0, 0, 0]), Some(KILL));
    }

    #[test]
    fn what_is_no_filter_says_nothing() {
        assert_eq!(judge(&[], 0, [0; 6]), None);
        assert_eq!(judge(&[step(0x20, 0, 0, 2)], 0, [0; 6]), None);
        assert_eq!(judge(&[step(0x05, 0, 0, u32::MAX)], 0, [0; 6]), None);
    }
}
