//! `priorities.tsv`: which priorities threads were seen to have that wait for locks, or have others wait.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use ada_event::{ThreadId, TraceNanos};

use super::side_file::{append_text, read_small};

/// Its name in a process's folder.
pub(super) const FILE: &str = "priorities.tsv";

/// How a thread is scheduled, as it was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeenPriority {
    /// It was looked at between these times.
    pub from: TraceNanos,
    /// The later one.
    pub to: TraceNanos,
    /// The thread.
    pub thread: ThreadId,
    /// The kernel's number of the policy: 0 is the usual one, 1 and 2 are those of real time.
    pub policy: u32,
    /// The priority among those of real time.
    pub realtime: u32,
    /// How nice it is to the others of the usual policy.
    pub nice: i32,
}

impl SeenPriority {
    /// What is greater goes first. None for policies that are not compared.
    pub fn rank(&self) -> Option<i64> {
        const USUAL: [u32; 2] = [0, 3];
        const REAL_TIME: [u32; 2] = [1, 2];
        const IDLE: u32 = 5;
        match self.policy {
            policy if REAL_TIME.contains(&policy) => Some(1000 + i64::from(self.realtime)),
            policy if USUAL.contains(&policy) => Some(100 - i64::from(self.nice)),
            IDLE => Some(0),
            _ => None,
        }
    }

    /// As people write it.
    pub fn written(&self) -> String {
        match self.policy {
            1 => format!("SCHED_FIFO {}", self.realtime),
            2 => format!("SCHED_RR {}", self.realtime),
            5 => "SCHED_IDLE".to_owned(),
            _ => format!("nice {}", self.nice),
        }
    }
}

/// Appends to the file of a process, which is begun now if need be.
pub fn append_priorities(process: &Path, seen: &[SeenPriority]) -> io::Result<()> {
    let mut text = String::new();
    for it in seen {
        let SeenPriority { from, to, thread, policy, realtime, nice } = it;
        let _ = writeln!(text, "{}\t{}\t{}\t{policy}\t{realtime}\t{nice}", from.0, to.0, thread.0);
    }
    append_text(&process.join(FILE), &text)
}

/// What was seen of a process. Nothing where there is no file, or none that can be read.
pub fn read_priorities(process: &Path) -> Vec<SeenPriority> {
    parse_priorities(&read_small(&process.join(FILE)))
}

/// The lines of a file that say something. The last one may be cut.
pub fn parse_priorities(bytes: &[u8]) -> Vec<SeenPriority> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(&[][..], |end| &bytes[..end]);
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [from, to, thread, policy, realtime, nice] = fields[..] else { return None };
        let (from, to) = (TraceNanos(from.parse().ok()?), TraceNanos(to.parse().ok()?));
        let (thread, policy) = (ThreadId(thread.parse().ok()?), policy.parse().ok()?);
        let (realtime, nice) = (realtime.parse().ok()?, nice.parse().ok()?);
        Some(SeenPriority { from, to: to.max(from), thread, policy, realtime, nice })
    };
    String::from_utf8_lossy(whole).lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_appended_is_read_and_compared() {
        let folder = tempfile::tempdir().unwrap();
        let seen = |policy, realtime, nice| SeenPriority {
            from: TraceNanos(1),
            to: TraceNanos(2),
            thread: ThreadId(7),
            policy,
            realtime,
            nice,
        };
        let all = [seen(1, 3, 0), seen(0, 0, -5), seen(0, 0, 10), seen(5, 0, 0)];
        append_priorities(folder.path(), &all[..1]).unwrap();
        append_priorities(folder.path(), &all[1..]).unwrap();
        assert_eq!(read_priorities(folder.path()), all);
        let ranks: Vec<Option<i64>> = all.iter().map(SeenPriority::rank).collect();
        assert!(ranks.is_sorted_by(|left, right| left > right), "{ranks:?}");
        assert_eq!((seen(6, 0, 0).rank(), all[0].written()), (None, "SCHED_FIFO 3".to_owned()));
        assert!(parse_priorities(b"1\t2\t3\n\xff\n1\t2\t3\t4\t5\t6").is_empty());
    }
}
