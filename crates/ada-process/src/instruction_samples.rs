//! What threads execute: samples of their instruction pointers, as the kernel takes them for administrators.
//!
//! Others could have samples without those of the kernel at work for a thread: of these one could not say what share of its time
//! anything takes.

use std::io;

use ada_event::{ProcessId, RuntimeAddr};

use crate::perf_events::{Ring, Wanted, Whose, online_processors, open_on_processors};

/// How much work lies between two samples: a sample takes about a microsecond, so that all of them take a thousandth.
const APART_NS: u64 = 1_000_000;
/// On larger machines it is more: their samples have to be read, too.
const PROCESSORS: u64 = 8;

/// A stream of samples.
pub struct InstructionSamples {
    rings: Vec<Ring>,
}

/// What a thread executed at one moment; where the kernel was at work for it, what had asked for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionSample {
    /// The process.
    pub pid: ProcessId,
    /// The instruction.
    pub instruction: RuntimeAddr,
}

impl InstructionSamples {
    /// Takes those of the whole machine from now on.
    pub fn of_machine() -> io::Result<Self> {
        let apart = APART_NS * (online_processors().len() as u64).div_ceil(PROCESSORS).max(1);
        let rings = open_on_processors(Wanted::Instructions { apart }, Whose::Everybody)?;
        Ok(Self { rings: rings.into_iter().map(|(_, ring)| ring).collect() })
    }

    /// Gives what was sampled since the last time. Samples for which there was no room are not told.
    pub fn read(&mut self, mut give: impl FnMut(InstructionSample)) {
        for ring in &mut self.rings {
            ring.read(|kind, flags, body| {
                if let Some(sample) = parse(kind, flags, body) {
                    give(sample);
                }
            });
        }
    }
}

const SAMPLE: u32 = 9;
/// In a record's flags: who was at work.
const MODE: u16 = 7;
const USER: u16 = 2;

/// Reads a record, if it is a sample of a process.
fn parse(kind: u32, flags: u16, body: &[u8]) -> Option<InstructionSample> {
    let word = |at: usize| Some(u64::from_le_bytes(*body.get(at..)?.first_chunk()?));
    if kind != SAMPLE {
        return None;
    }
    // The instruction, process and thread, then which registers follow: none of the kernel's own threads.
    let (instruction, pid, has_registers) = (word(0)?, word(8)? as u32, word(16)? != 0);
    let instruction = match flags & MODE {
        USER => instruction,
        _ if has_registers => word(24)?,
        _ => return None,
    };
    Some(InstructionSample { pid: ProcessId(pid), instruction: RuntimeAddr(instruction) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::this_process::this_process;

    fn body(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn a_sample_says_who_executed_what() {
        let sample = |instruction| Some(InstructionSample { pid: ProcessId(7), instruction: RuntimeAddr(instruction) });
        let (of_user, of_kernel_thread) = (body(&[0x4000, 8 << 32 | 7, 2, 0x4000]), body(&[0x9000, 7, 0]));
        assert_eq!(parse(SAMPLE, USER, &of_user), sample(0x4000));
        assert_eq!(parse(SAMPLE, 1, &body(&[0x9000, 7, 2, 0x4000])), sample(0x4000));
        assert_eq!(parse(SAMPLE, 1, &of_kernel_thread), None);
        assert_eq!(parse(3, USER, &of_user), None);
        for length in 0..24 {
            assert_eq!(parse(SAMPLE, USER, &of_user[..length]), None);
        }
        assert_eq!(parse(SAMPLE, 1, &of_user[..24]), None);
    }

    #[test]
    fn work_is_sampled() {
        // Where the kernel does not tell, there is nothing to be read.
        let Ok(mut samples) = InstructionSamples::of_machine() else { return };
        let (mut own, begun) = (0, std::time::Instant::now());
        while own < 5 && begun.elapsed() < std::time::Duration::from_secs(20) {
            samples.read(|sample| own += usize::from(sample.pid == this_process()));
        }
        assert!(own >= 5, "{own}");
    }
}
